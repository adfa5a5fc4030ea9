#pragma once
// What the disk holds at any moment of some work, since a process may be killed at any of its system calls.

#include <csignal>
#include <exception>
#include <functional>
#include <stdexcept>

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace warpscope::tests {

/// Does the work in a process of its own, which is stopped before and after each system call: look() is called then.
/// False if this process may not stop another; throws std::runtime_error if the work has failed.
inline bool look_at_each_state(const std::function<void()>& work, const std::function<void()>& look) {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    try {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
      ::raise(SIGSTOP);
      work();
      ::_exit(0);
    } catch (const std::exception&) {
      ::_exit(1);
    }
  }
  constexpr int kSystemCall = SIGTRAP | 0x80;
  int status = 0;
  bool alive = ::waitpid(child, &status, 0) == child && WIFSTOPPED(status);
  if (!alive) return false;
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  for (int signal = 0; alive;) {
    alive = ::ptrace(PTRACE_SYSCALL, child, nullptr, signal) == 0 && ::waitpid(child, &status, 0) == child &&
            WIFSTOPPED(status);
    if (!alive) break;
    signal = WSTOPSIG(status) == kSystemCall ? 0 : WSTOPSIG(status);
    if (signal == 0) look();
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("the work has failed");
  return true;
}

}  // namespace warpscope::tests
