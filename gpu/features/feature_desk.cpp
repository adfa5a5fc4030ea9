#include "gpu/features/feature_desk.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace warpscope::features {

/// The thread, the job that waits for it, and the state that it publishes.
class FeatureDesk::Worker {
 public:
  /// Works on the trial of the job's device; `job` tells change() whose news it is.
  using Work = std::function<void(FeatureTrial& trial, std::uint64_t job, const classifiers::Watch& watch)>;

  explicit Worker(OpenDevice open)
      : open_(std::move(open)), thread_([this](const std::stop_token& end) { run(end); }) {}
  ~Worker() {
    cancel();
    thread_.request_stop();
  }

  void start(DeskWork kind, std::string device, Work work) {
    const std::lock_guard lock(mutex_);
    current_.request_stop();
    current_ = std::stop_source();
    auto changed = std::make_shared<DeskState>(*state_);
    changed->work = changed->last = kind;
    ++changed->job;
    changed->part = 0;
    changed->phase = "waiting";
    changed->since = std::chrono::steady_clock::now();
    changed->failure.clear();
    changed->cancelled = false;
    next_ = Job{changed->job, std::move(device), std::move(work), current_.get_token()};
    state_ = std::move(changed);
    news_.notify_all();
  }

  void cancel() {
    const std::lock_guard lock(mutex_);
    current_.request_stop();
  }

  std::shared_ptr<const DeskState> state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }

  /// Publishes a changed copy, unless another job has taken the place of `job`.
  void change(std::uint64_t job, const std::function<void(DeskState&)>& body) {
    const std::lock_guard lock(mutex_);
    if (state_->job != job) return;
    auto changed = std::make_shared<DeskState>(*state_);
    body(*changed);
    state_ = std::move(changed);
  }

 private:
  struct Job {
    std::uint64_t number = 0;
    std::string device;
    Work work;
    std::stop_token stop;
  };

  void run(const std::stop_token& end) {
    while (const auto job = take(end)) {
      std::string failure;
      bool cancelled = false;
      try {
        work(*job);
      } catch (const classifiers::Cancelled&) {
        cancelled = true;
      } catch (const std::bad_alloc&) {
        failure = "the host has too little memory for these features; choose a smaller layer or pool it";
        if (trial_) trial_->forget();
      } catch (const std::exception& error) {
        failure = error.what();
      }
      change(job->number, [&](DeskState& state) {
        state.work = DeskWork::none;
        state.phase.clear();
        state.failure = failure;
        state.cancelled = cancelled;
      });
    }
  }

  std::optional<Job> take(const std::stop_token& end) {
    std::unique_lock lock(mutex_);
    if (!news_.wait(lock, end, [this] { return next_.has_value(); })) return std::nullopt;
    return std::exchange(next_, std::nullopt);
  }

  void work(const Job& job) {
    if (job.stop.stop_requested()) throw classifiers::Cancelled();
    if (!trial_ || device_ != job.device) {
      trial_.reset();
      const auto device = open_(job.device);
      device->make_current();
      trial_ = std::make_unique<FeatureTrial>(device);
      device_ = job.device;
    }
    const auto progress = [&](double part, std::string_view phase) {
      change(job.number, [&](DeskState& state) {
        state.part = part;
        state.phase = phase;
      });
    };
    job.work(*trial_, job.number, {progress, job.stop});
  }

  const OpenDevice open_;
  mutable std::mutex mutex_;  // of the four below
  std::condition_variable_any news_;
  std::shared_ptr<const DeskState> state_ = std::make_shared<DeskState>();
  std::optional<Job> next_;
  std::stop_source current_;
  // The thread's own.
  std::string device_;
  std::unique_ptr<FeatureTrial> trial_;
  std::jthread thread_;
};

FeatureDesk::FeatureDesk() : FeatureDesk([](const std::string& id) { return core::open_device(id); }) {}
FeatureDesk::FeatureDesk(OpenDevice open) : worker_(std::make_unique<Worker>(std::move(open))) {}
FeatureDesk::~FeatureDesk() = default;

void FeatureDesk::start_trial(TrialRequest request) {
  const std::string device = request.subject.device;
  worker_->start(DeskWork::trial, device,
                 [worker = worker_.get(), request = std::move(request)](
                     FeatureTrial& trial, std::uint64_t job, const classifiers::Watch& watch) {
                   const auto result = std::make_shared<const TrialResult>(trial.judge(request, watch));
                   worker->change(job, [&](DeskState& state) {
                     auto tries = std::make_shared<std::vector<TrialFigures>>(*state.tries);
                     tries->push_back(*result);
                     state.tries = std::move(tries);
                     state.result = result;
                   });
                 });
}

void FeatureDesk::start_search(GridRequest request) {
  const std::string device = request.trial.subject.device;
  worker_->start(DeskWork::search, device,
                 [worker = worker_.get(), request = std::move(request)](
                     FeatureTrial& trial, std::uint64_t job, const classifiers::Watch& watch) {
                   const auto found = [&](const GridResult& grid) {
                     worker->change(job, [&](DeskState& state) {
                       state.grid = std::make_shared<const GridResult>(grid);
                     });
                   };
                   trial.search(request, found, watch);
                 });
}

void FeatureDesk::cancel() {
  worker_->cancel();
}

std::shared_ptr<const DeskState> FeatureDesk::state() const {
  return worker_->state();
}

}  // namespace warpscope::features
