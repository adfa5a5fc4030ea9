#include "app/interrupt.h"

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

}  // namespace warpscope::app
