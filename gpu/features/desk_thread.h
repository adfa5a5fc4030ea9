#pragma once
// The thread of a desk: jobs one after the other, of which the newest counts, and the state that they publish.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "gpu/classifiers/features.h"
#include "gpu/core/device.h"
#include "gpu/core/host_memory.h"

namespace warpscope::features {

/// How far a desk is with its job.
struct DeskProgress {
  static constexpr const char* kTooLittleMemory =
      "the host has too little memory for these features; choose a smaller layer or pool it";

  std::uint64_t job = 0;                        ///< counts the jobs
  double part = 0;                              ///< of the job, from 0 to 1
  std::string phase;                            ///< what is done now
  std::chrono::steady_clock::time_point since;  ///< when the job was asked for
  std::string failure;                          ///< of the last job, in one sentence; "" if it ended well
  bool cancelled = false;                       ///< the last job was
};

/// Opens the device of a job, in the desk's thread.
using OpenDevice = std::function<std::shared_ptr<core::Device>(const std::string& id)>;

/// `State` is a DeskProgress that makes itself, by rest(), one with nothing under way. `Bench` is made of a device, in
/// the thread, and serves the jobs on that device; forget() frees what it keeps.
template <class State, class Bench>
class DeskThread {
 public:
  using Change = std::function<void(State&)>;
  /// `job` tells change() whose news it is.
  using Work = std::function<void(Bench& bench, std::uint64_t job, const classifiers::Watch& watch)>;

  explicit DeskThread(OpenDevice open = core::open_device)
      : open_(std::move(open)), thread_([this](const std::stop_token& end) { run(end); }) {}
  /// Cancels and waits.
  ~DeskThread() {
    cancel();
    thread_.request_stop();
  }
  DeskThread(const DeskThread&) = delete;
  DeskThread& operator=(const DeskThread&) = delete;

  /// Cancels what is under way and takes its place. `begin` changes the state at once.
  void start(std::string device, const Change& begin, Work work) {
    const std::lock_guard lock(mutex_);
    current_.request_stop();
    current_ = std::stop_source();
    auto changed = std::make_shared<State>(*state_);
    ++changed->job;
    changed->part = 0;
    changed->phase = "waiting";
    changed->since = std::chrono::steady_clock::now();
    changed->failure.clear();
    changed->cancelled = false;
    begin(*changed);
    next_ = Job{changed->job, std::move(device), std::move(work), current_.get_token()};
    state_ = std::move(changed);
    news_.notify_all();
  }

  void cancel() {
    const std::lock_guard lock(mutex_);
    current_.request_stop();
  }

  /// Never waits for work, never nullptr.
  std::shared_ptr<const State> state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }

  /// Publishes a changed copy, unless another job has taken the place of `job`.
  void change(std::uint64_t job, const Change& body) {
    const std::lock_guard lock(mutex_);
    if (state_->job != job) return;
    auto changed = std::make_shared<State>(*state_);
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
    while (auto job = take(end)) {
      std::string failure;
      bool cancelled = false;
      try {
        work(*job);
      } catch (const classifiers::Cancelled&) {
        cancelled = true;
      } catch (const std::bad_alloc&) {
        failure = State::kTooLittleMemory;
        if (bench_) bench_->forget();
      } catch (const std::exception& error) {
        failure = core::sentence_of(error);
      }
      change(job->number, [&](State& state) {
        state.phase.clear();
        state.failure = failure;
        state.cancelled = cancelled;
        state.rest();
      });
      job.reset();
      core::return_freed_memory();
    }
  }

  std::optional<Job> take(const std::stop_token& end) {
    std::unique_lock lock(mutex_);
    if (!news_.wait(lock, end, [this] { return next_.has_value(); })) return std::nullopt;
    return std::exchange(next_, std::nullopt);
  }

  void work(const Job& job) {
    if (job.stop.stop_requested()) throw classifiers::Cancelled();
    if (!bench_ || device_ != job.device) {
      bench_.reset();
      const auto device = open_(job.device);
      device->make_current();
      bench_ = std::make_unique<Bench>(device);
      device_ = job.device;
    }
    const auto progress = [&](double part, std::string_view phase) {
      change(job.number, [&](State& state) {
        state.part = part;
        state.phase = phase;
      });
    };
    job.work(*bench_, job.number, {progress, job.stop});
  }

  const OpenDevice open_;
  mutable std::mutex mutex_;  // of the four below
  std::condition_variable_any news_;
  std::shared_ptr<const State> state_ = std::make_shared<State>();
  std::optional<Job> next_;
  std::stop_source current_;
  // The thread's own.
  std::string device_;
  std::unique_ptr<Bench> bench_;
  std::jthread thread_;
};

}  // namespace warpscope::features
