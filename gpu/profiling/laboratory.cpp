#include "gpu/profiling/laboratory.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/plan/presets.h"
#include "gpu/plan/selection.h"
#include "gpu/profiling/step_bench.h"

namespace warpscope::profiling {
namespace {

constexpr int kBaselineBatch = 2;
constexpr double kStepSeconds = 0.2;  // for each choice, before the best is held against the present one

std::vector<BenchCase> all_cases(const models::Model& model, int batch,
                                 const std::vector<core::Precision>& precisions,
                                 const core::DeviceInfo& device) {
  std::vector<BenchCase> cases;
  for (const core::Precision precision : precisions) {
    for (const BenchCase& what : cases_of(model, batch, precision, device)) {
      const bool known = std::any_of(cases.begin(), cases.end(), [&](const BenchCase& other) {
        return other.op == what.op && other.shape == what.shape;
      });
      if (!known) cases.push_back(what);
    }
  }
  return cases;
}

}  // namespace

/// The thread of one job after the other, and the state that it publishes.
class Laboratory::Worker {
 public:
  ~Worker() {
    cancel();
    if (thread_.joinable()) thread_.join();
  }

  /// False if a job is running.
  bool start(Job job, std::function<void(Worker&)> work, const std::function<void(LaboratoryState&)>& clear) {
    const std::lock_guard lock(starting_);
    if (state()->running != Job::none) return false;
    if (thread_.joinable()) thread_.join();
    cancelled_ = disturbed_ = false;
    change([&](LaboratoryState& state) {
      state.running = job;
      state.done = state.total = 0;
      state.text.clear();
      state.failure.clear();
      state.cancelled = false;
      clear(state);
    });
    thread_ = std::thread([this, work = std::move(work)] { run(work); });
    return true;
  }

  void cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }
  void disturb() { disturbed_ = true; }
  bool disturbed() const { return disturbed_; }

  std::shared_ptr<const LaboratoryState> state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  /// Publishes a changed copy.
  void change(const std::function<void(LaboratoryState&)>& body) {
    auto changed = std::make_shared<LaboratoryState>(*state());
    body(*changed);
    const std::lock_guard lock(mutex_);
    state_ = std::move(changed);
  }
  /// What bench() and verify() call between two parts.
  bool progress(int done, int total, const std::string& text) {
    change([&](LaboratoryState& state) {
      state.done = done;
      state.total = total;
      state.text = text;
    });
    return !cancelled();
  }

  /// Publishes what whole steps say in a precision; nothing if it is cancelled, or the device cannot train in it.
  void advise(const std::shared_ptr<core::Device>& device, const models::Model& model, const StepSetup& setup,
              const plan::Selection& present, core::Precision precision, const std::vector<BenchRow>& rows) {
    const core::DeviceInfo& info = device->info();
    const auto possible = plan::training_precisions(info);
    if (std::find(possible.begin(), possible.end(), precision) == possible.end()) return;
    StepOptions options;
    options.precisions = {precision};
    options.seconds = kStepSeconds;
    options.energy = false;
    const auto now = plan::with_precision(present, precision, info);
    const auto steps = bench_steps(
        device, model, setup, rows, options,
        [&](int done, int total, const std::string& text) { return progress(done, total, text); });
    if (cancelled() || !progress(0, 1, fmt::format("whole steps in turns, {}", core::to_string(precision))))
      return;
    auto advice = profiling::advise(device, model, setup, now, steps, {}, [&] { return !cancelled(); });
    if (!advice) return;
    if (disturbed()) advice->contest.outcome = Outcome::disturbed;
    if (advice->faster()) plan::name_selection(advice->best, "fastest here, " + time_of_day(*advice));
    change([&](LaboratoryState& state) { state.advice.push_back(*advice); });
  }

 private:
  void run(const std::function<void(Worker&)>& work) {
    std::string failure;
    try {
      work(*this);
    } catch (const std::exception& error) {
      failure = core::sentence_of(error);
    }
    core::return_freed_memory();
    change([&](LaboratoryState& state) {
      state.running = Job::none;
      state.text.clear();
      state.failure = failure;
      state.cancelled = cancelled();
      if (failure.empty() && !state.cancelled) state.done = state.total;
    });
  }

  mutable std::mutex mutex_;  // of state_
  std::shared_ptr<const LaboratoryState> state_ = std::make_shared<LaboratoryState>();
  std::mutex starting_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> disturbed_{false};
  std::thread thread_;
};

Laboratory::Laboratory() : worker_(std::make_unique<Worker>()) {}
Laboratory::~Laboratory() = default;

bool Laboratory::start_bench(const std::string& device_id, const models::Model& model, const StepSetup& setup,
                             const plan::Selection& present, const BenchOptions& options) {
  const auto work = [=](Worker& worker) {
    const auto device = core::open_device(device_id);
    auto precisions = options.precisions;
    if (precisions.empty()) {
      const auto all = core::selectable_precisions();
      precisions.assign(all.begin(), all.end());
    }
    if (!worker.progress(0, 0, "the peaks of " + device->info().name)) return;
    const Peaks peaks = measure_peaks(device);
    worker.change([&](LaboratoryState& state) { state.peaks = peaks; });
    const auto progress = [&](int done, int total, const std::string& text) {
      return worker.progress(done, total, text);
    };
    const auto rows = bench(device, all_cases(model, setup.batch, precisions, device->info()), peaks, options,
                            progress, [&](const std::vector<BenchRow>& more) {
                              worker.change([&](LaboratoryState& state) {
                                state.bench.insert(state.bench.end(), more.begin(), more.end());
                              });
                            });
    for (const core::Precision precision : precisions) {
      if (!worker.cancelled()) worker.advise(device, model, setup, present, precision, rows);
    }
  };
  return worker_->start(Job::bench, work, [&](LaboratoryState& state) {
    state.bench.clear();
    state.advice.clear();
    state.bench_batch = setup.batch;
  });
}

bool Laboratory::start_verify(const std::string& device_id, const verify::VerifyOptions& options) {
  const auto work = [=](Worker& worker) {
    const auto progress = [&](int done, int total, const std::string& text) {
      return worker.progress(done, total, text);
    };
    verify::verify(core::open_device(device_id), options, progress, [&](const verify::VerifyRow& row) {
      worker.change([&](LaboratoryState& state) { state.verify.push_back(row); });
    });
  };
  return worker_->start(Job::verify, work, [](LaboratoryState& state) { state.verify.clear(); });
}

bool Laboratory::start_baseline(const models::Model& model, StepSetup setup) {
  setup.batch = kBaselineBatch;
  const auto work = [=](Worker& worker) {
    if (!worker.progress(0, 1, "a training step with loops on the CPU")) return;
    const auto cpu = core::open_device("cpu");
    StepCase what{"loops", plan::Selection{core::Precision::fp32, {}}, ""};
    plan::apply(what.selection, "all=loops", cpu->info());
    const StepRow row = time_steps(cpu, model, setup, what, {}, [&] { return !worker.cancelled(); });
    if (!row.skipped.empty()) throw core::Error(row.skipped);
    if (worker.cancelled()) return;
    worker.change([&](LaboratoryState& state) { state.baseline_images_per_second = row.images_per_second; });
  };
  return worker_->start(Job::baseline, work, [](LaboratoryState&) {});
}

void Laboratory::cancel() {
  worker_->cancel();
}

void Laboratory::disturb() {
  worker_->disturb();
}

std::shared_ptr<const LaboratoryState> Laboratory::state() const {
  return worker_->state();
}

}  // namespace warpscope::profiling
