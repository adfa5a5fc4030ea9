#pragma once
// The commands that wait for the trainer's thread, in the order in which they were sent.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "gpu/messages/commands.h"

namespace warpscope::training {

/// Any thread may call these.
class Inbox {
 public:
  void send(NumberedCommand command) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(command));
    }
    wake_.notify_all();
  }
  /// Who reads must end.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
  }
  bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  /// Until there is a command, or `timeout` has passed, or it was stopped; false if it was.
  bool wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (timeout.count() > 0) wake_.wait_for(lock, timeout, [this] { return stopped_ || !waiting_.empty(); });
    return !stopped_;
  }
  std::optional<NumberedCommand> take() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    NumberedCommand first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }
  template <class Kind>
  bool holds() const {
    const std::lock_guard lock(mutex_);
    return std::any_of(waiting_.begin(), waiting_.end(), [](const NumberedCommand& each) {
      return std::holds_alternative<Kind>(each.command);
    });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<NumberedCommand> waiting_;
  bool stopped_ = false;
};

}  // namespace warpscope::training
