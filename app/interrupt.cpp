#include "app/interrupt.h"

#include <chrono>
#include <csignal>

namespace warpscope::app {
namespace {

std::atomic<bool> interrupted{false};

void on_signal(int) {
  interrupted = true;
}

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  return interrupted;
}

InterruptStop::InterruptStop()
    : watcher_([source = source_, &flag = catch_interrupts()](const std::stop_token& ends) mutable {
        while (!ends.stop_requested() && !flag) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (flag) source.request_stop();
      }) {}

}  // namespace warpscope::app
