#include "gpu/jobs/laboratory.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/plan/presets.h"
#include "gpu/plan/selection.h"
#include "gpu/profiling/step_bench.h"

namespace warpscope::jobs {
namespace {

using training::TrainerState;

constexpr auto kBaselineWait = std::chrono::milliseconds(5);
constexpr std::uint64_t kMostUnderWay = 1000;  ///< steps, between a pause that is sent and one that is taken
constexpr int kBaselineBatch = 2;
constexpr double kStepSeconds = 0.2;  // for each choice, before the best is held against the present one

std::vector<profiling::BenchCase> all_cases(const models::Model& model, int batch,
                                            const std::vector<core::Precision>& precisions,
                                            const core::DeviceInfo& device) {
  std::vector<profiling::BenchCase> cases;
  for (const core::Precision precision : precisions) {
    for (const profiling::BenchCase& what : profiling::cases_of(model, batch, precision, device)) {
      const bool known = std::any_of(cases.begin(), cases.end(), [&](const profiling::BenchCase& other) {
        return other.op == what.op && other.shape == what.shape;
      });
      if (!known) cases.push_back(what);
    }
  }
  return cases;
}

/// For as long as it lives, a training that can be steered from here is told that something else is measured; it pauses
/// if the job needs the device for itself.
class Quiet {
 public:
  Quiet(training::Source* training, bool alone, const std::stop_token& stop)
      : training_(training != nullptr && training->snapshot()->can.steer ? training : nullptr) {
    if (training_ == nullptr) return;
    training_->send(training::SetDisturbed{true});
    while (alone && !stop.stop_requested() && (is(TrainerState::running) || is(TrainerState::preparing))) {
      const std::uint64_t step = training_->snapshot()->step;
      if (!paused_ && is(TrainerState::running)) {
        paused_ = true;
        asked_at_ = step;
        training_->send(training::Pause{});
      }
      if (paused_ && step > asked_at_ + kMostUnderWay) return;  // somebody has resumed it
      std::this_thread::sleep_for(kBaselineWait);
    }
  }
  ~Quiet() {
    if (training_ == nullptr) return;
    training_->send(training::SetDisturbed{false});
    if (!paused_) return;
    training_->send(training::Resume{});  // comes after a pause that has not been taken yet
    // The job behind this one must not take it for a training that stands still.
    for (int i = 0; i < 200 && is(TrainerState::paused); ++i) std::this_thread::sleep_for(kBaselineWait);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  bool is(TrainerState state) const { return training_->snapshot()->state == state; }

  training::Source* const training_;
  bool paused_ = false;
  std::uint64_t asked_at_ = 0;  ///< step at which the pause was sent
};

}  // namespace

void LaboratoryState::rest() {
  running = Job::none;
  waits = false;
  text.clear();
  if (failure.empty() && !cancelled) done = total;
}

struct Laboratory::Bench {
  explicit Bench(std::shared_ptr<core::Device> opened) : device(std::move(opened)) {}
  static void forget() {}

  std::shared_ptr<core::Device> device;
};

/// What a job tells while it runs.
class Laboratory::News {
 public:
  News(Worker& worker, std::uint64_t job, const classifiers::Watch& watch, const training::Source* training,
       Bench& bench)
      : device(bench.device), worker_(worker), job_(job), stop_(watch.stop), training_(training) {}

  void change(const std::function<void(LaboratoryState&)>& body) { worker_.change(job_, body); }
  bool cancelled() const { return stop_.stop_requested(); }
  /// What bench() and verify() call between two parts.
  bool progress(int done, int total, const std::string& text) {
    disturbed_ =
        disturbed_ || (training_ != nullptr && training_->snapshot()->state == TrainerState::running);
    change([&](LaboratoryState& state) {
      state.done = done;
      state.total = total;
      state.text = text;
      if (state.running == Job::bench) state.bench_disturbed = disturbed_;
    });
    return !cancelled();
  }
  void advise(const StepScene& scene, core::Precision precision,
              const std::vector<profiling::BenchRow>& rows);

  const std::shared_ptr<core::Device> device;

 private:
  Worker& worker_;
  const std::uint64_t job_;
  const std::stop_token stop_;
  const training::Source* const training_;  ///< that must stand still while the job runs
  bool disturbed_ = false;
};

/// Publishes what whole steps say in a precision; nothing if it is cancelled, or the device cannot train in it.
void Laboratory::News::advise(const StepScene& scene, core::Precision precision,
                              const std::vector<profiling::BenchRow>& rows) {
  const core::DeviceInfo& info = device->info();
  const auto possible = plan::training_precisions(info);
  if (std::find(possible.begin(), possible.end(), precision) == possible.end()) return;
  profiling::StepOptions options;
  options.precisions = {precision};
  options.seconds = kStepSeconds;
  options.energy = false;
  const auto now = plan::with_precision(scene.present, precision, info);
  const auto steps = profiling::bench_steps(
      device, scene.model, scene.setup, rows, options,
      [&](int done, int total, const std::string& text) { return progress(done, total, text); });
  if (cancelled() || !progress(0, 1, fmt::format("whole steps in turns, {}", core::to_string(precision))))
    return;
  auto advice =
      profiling::advise(device, scene.model, scene.setup, now, steps, {}, [&] { return progress(0, 1, ""); });
  if (!advice) return;
  if (disturbed_) advice->contest.outcome = profiling::Outcome::disturbed;
  if (advice->faster()) plan::name_selection(advice->best, "fastest here, " + time_of_day(*advice));
  change([&](LaboratoryState& state) { state.advice.push_back(*advice); });
}

Laboratory::Laboratory(training::Source* training, std::shared_ptr<training::SharedDevices> shared)
    : training_(training),
      shared_(shared ? std::move(shared) : std::make_shared<training::SharedDevices>()),
      worker_(std::make_unique<Worker>([](const std::string& id) { return core::open_device(id); })) {}
Laboratory::~Laboratory() = default;

void Laboratory::start(Job job, const std::string& device, bool alone, std::function<void(News&)> work,
                       const std::function<void(LaboratoryState&)>& clear) {
  const auto begin = [&](LaboratoryState& state) {
    state.running = state.last = job;
    state.alone = state.waits = alone;
    state.done = state.total = 0;
    state.text.clear();
    clear(state);
  };
  worker_->start(device, begin,
                 [worker = worker_.get(), training = training_, alone, work = std::move(work)](
                     Bench& bench, std::uint64_t number, const classifiers::Watch& watch) {
                   const Quiet quiet(training, alone, watch.stop);
                   worker->change(number, [](LaboratoryState& state) { state.waits = false; });
                   News news(*worker, number, watch, alone ? training : nullptr, bench);
                   if (!news.cancelled()) work(news);
                   if (news.cancelled()) throw classifiers::Cancelled();
                 });
}

void Laboratory::start_bench(const std::string& device, const StepScene& scene,
                             const profiling::BenchOptions& options) {
  const auto work = [=, shared = shared_](News& news) {
    auto precisions = options.precisions;
    if (precisions.empty()) {
      const auto all = core::selectable_precisions();
      precisions.assign(all.begin(), all.end());
    }
    const core::DeviceInfo& info = news.device->info();
    if (!news.progress(0, 0, "the peaks of " + info.name)) return;
    const profiling::Peaks peaks = shared->peaks(info, [&] { return profiling::measure_peaks(news.device); });
    news.change([&](LaboratoryState& state) { state.peaks = peaks; });
    const auto progress = [&](int done, int total, const std::string& text) {
      return news.progress(done, total, text);
    };
    const auto rows =
        profiling::bench(news.device, all_cases(scene.model, scene.setup.batch, precisions, info), peaks,
                         options, progress, [&](const std::vector<profiling::BenchRow>& more) {
                           news.change([&](LaboratoryState& state) {
                             state.bench.insert(state.bench.end(), more.begin(), more.end());
                           });
                         });
    for (const core::Precision precision : precisions) {
      if (!news.cancelled()) news.advise(scene, precision, rows);
    }
  };
  start(Job::bench, device, true, work, [&](LaboratoryState& state) {
    state.bench.clear();
    state.advice.clear();
    state.bench_batch = scene.setup.batch;
    state.bench_disturbed = false;
  });
}

void Laboratory::start_verify(const std::string& device, const verify::VerifyOptions& options) {
  const auto work = [=](News& news) {
    const auto progress = [&](int done, int total, const std::string& text) {
      return news.progress(done, total, text);
    };
    verify::verify(news.device, options, progress, [&](const verify::VerifyRow& row) {
      news.change([&](LaboratoryState& state) { state.verify.push_back(row); });
    });
  };
  start(Job::verify, device, false, work, [](LaboratoryState& state) { state.verify.clear(); });
}

void Laboratory::start_baseline(StepScene scene) {
  scene.setup.batch = kBaselineBatch;
  const bool on_cpu = training_ != nullptr && training_->snapshot()->device.kind == core::DeviceKind::cpu;
  const auto work = [scene = std::move(scene)](News& news) {
    if (!news.progress(0, 1, "a training step with loops on the CPU")) return;
    profiling::StepCase what{"loops", plan::Selection{core::Precision::fp32, {}}, ""};
    plan::apply(what.selection, "all=loops", news.device->info());
    const profiling::StepRow row = profiling::time_steps(news.device, scene.model, scene.setup, what, {},
                                                         [&] { return !news.cancelled(); });
    if (!row.skipped.empty()) throw core::Error(row.skipped);
    if (news.cancelled()) return;
    news.change([&](LaboratoryState& state) { state.baseline_images_per_second = row.images_per_second; });
  };
  start(Job::baseline, "cpu", on_cpu, work, [](LaboratoryState&) {});
}

void Laboratory::cancel() {
  worker_->cancel();
}

std::shared_ptr<const LaboratoryState> Laboratory::state() const {
  return worker_->state();
}

}  // namespace warpscope::jobs
