#pragma once
// The trainer's thread: its state machine and its policy (when to step, time, test, show, publish).

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gpu/training/engine.h"
#include "gpu/training/ladder.h"
#include "gpu/training/run_recorder.h"
#include "gpu/training/trainer.h"

namespace warpscope::training {

class Trainer::Worker {
 public:
  explicit Worker(TrainerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void send(Command command);
  std::shared_ptr<const Snapshot> snapshot() const;
  std::shared_ptr<Feed> subscribe();
  std::shared_ptr<ImageExchange> images() const;
  bool wait(double seconds);

 private:
  using Clock = std::chrono::steady_clock;

  // The thread.
  void run();
  void prepare();
  void plan_steps();
  void start_recorder(const std::string& directory);
  nlohmann::json configuration() const;
  void loop();
  void advance();
  void finish();
  void fail(const std::string& why, bool by_input);

  // Commands, each at a step boundary.
  bool wait_for_command(std::chrono::milliseconds timeout);
  void handle_commands();
  void handle(const Command& command);
  void attempt(const std::function<void()>& change);
  void pause();
  void handle_select(const plan::Selection& selection);
  void handle_batch(int batch);
  void handle_learning_rate(float learning_rate);
  void handle_reset();
  void handle_determinism();
  void note_choice();
  void save(const std::string& file);

  // Results.
  void collect(bool flush);
  void drain();
  void note_step(const StepResult& step);
  void note_test(const TestResult& test);
  void show_images_if_due();
  bool limit_reached() const;
  bool test_due() const;
  bool timing_due();

  // Publishing.
  void set_state(TrainerState state);
  void notice(const std::string& text);
  void log(LogLevel level, const std::string& text);
  void mark(const std::string& text);
  void emit(FeedItem item);
  void publish(bool force);

  TrainerOptions options_;
  std::shared_ptr<core::Device> device_;
  std::shared_ptr<const data::DataSet> data_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RunRecorder> recorder_;

  Snapshot view_;  ///< what the next snapshot will say; the thread's own
  std::vector<FeedItem> unsent_;
  std::deque<double> recent_speeds_;
  Ladder ladder_;
  std::uint64_t steps_to_run_ = 0;  ///< of StepOnce while paused
  std::uint64_t last_test_step_ = 0;
  double last_step_seconds_ = 0;
  bool diverged_ = false;
  Clock::time_point last_publish_{};
  Clock::time_point last_memory_{};
  Clock::time_point last_flush_{};
  Clock::time_point last_timing_{};
  Clock::time_point last_ladder_{};
  Clock::time_point next_images_{};
  static constexpr std::uint64_t kNeverShown = ~std::uint64_t{0};
  std::uint64_t shown_step_ = kNeverShown;

  mutable std::mutex mutex_;  ///< of everything below
  std::condition_variable_any wake_;
  std::condition_variable ended_;
  std::vector<Command> commands_;
  std::shared_ptr<const Snapshot> published_ = std::make_shared<Snapshot>();
  std::shared_ptr<ImageExchange> exchange_;
  std::vector<std::weak_ptr<Feed>> feeds_;
  std::vector<FeedItem>
      history_;  ///< emitted before the first step, for subscribers that come a moment later
  bool stop_ = false;

  std::thread thread_;
};

}  // namespace warpscope::training
