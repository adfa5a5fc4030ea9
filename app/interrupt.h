#pragma once
// Ctrl-C, SIGTERM, a terminal that closes and a limit of processor time ask a command to end in good order.

#include <atomic>
#include <stop_token>
#include <thread>

namespace warpscope::app {

/// From now on SIGINT, SIGTERM, SIGXCPU and, unless it is ignored, SIGHUP set the flag that is returned instead of
/// ending
/// the process.
const std::atomic<bool>& catch_interrupts();

/// Asks work to stop once the process was interrupted, however rarely the work tells how far it is.
class InterruptStop {
 public:
  InterruptStop();
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread watcher_;
};

}  // namespace warpscope::app
