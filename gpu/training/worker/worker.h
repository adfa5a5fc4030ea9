#pragma once
// The trainer's thread: it takes commands between two steps, and turns to each owner of the training in its time.

#include <exception>
#include <optional>
#include <thread>

#include "gpu/core/device_lost.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {

class Trainer::Worker {
 public:
  explicit Worker(TrainerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Inbox& inbox() { return training_.inbox; }
  Publishing& publishing() { return training_.publishing; }
  const std::shared_ptr<ImageHistory>& history() const { return training_.history; }

 private:
  void run();
  void loop();
  bool turn();
  std::optional<core::DeviceLost> device_loss(const std::exception& error);

  // Commands, each at a step boundary. These return false if it was refused.
  void handle_commands();
  bool handle_surely(const Command& command);
  bool handle(const Command& command);

  TrainingContext training_;
  std::thread thread_;
};

}  // namespace warpscope::training
