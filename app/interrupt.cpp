#include "app/interrupt.h"

#include <chrono>
#include <csignal>

namespace warpscope::app {
namespace {

std::atomic<bool> interrupted{false};

/// The first is obeyed at the next step boundary; who cannot wait for that sends a second, which ends the process.
void on_signal(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

/// For those that nobody sends in impatience: a terminal that closes sends one itself and has the shell send another,
/// and
/// the limit of processor time (its soft one) is told every second.
void on_notice(int /*signal*/) {
  interrupted = true;
}

/// What is ignored stays so, as under nohup.
void catch_notice(int signal) {
  if (std::signal(signal, on_notice) == SIG_IGN) std::signal(signal, SIG_IGN);
}

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  catch_notice(SIGHUP);
  catch_notice(SIGXCPU);
  return interrupted;
}

InterruptStop::InterruptStop()
    : watcher_([source = source_, &flag = catch_interrupts()](const std::stop_token& ends) mutable {
        while (!ends.stop_requested() && !flag) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (flag) source.request_stop();
      }) {}

}  // namespace warpscope::app
