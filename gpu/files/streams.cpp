#include "gpu/files/streams.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "gpu/files/utf8.h"

namespace warpscope::files {
namespace {

/// What became of standard output.
struct Output {
  bool closed = false;  ///< when the program began
  std::atomic<bool> used = false;
  std::atomic<bool> needed = true;
  std::atomic<int> error = 0;  ///< the first
};

Output& output() {
  static Output state;
  return state;
}

/// Returns 0 or the error number.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ::ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Whoever shares the stream has made it one that does not wait.
      pollfd waited{descriptor, POLLOUT, 0};
      if (::poll(&waited, 1, -1) < 0 && errno != EINTR) return errno;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

void hold_streams() {
  std::array<bool, 3> closed{};
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    closed[static_cast<std::size_t>(descriptor)] = true;
    // The system gives the lowest number that is free. Without /dev the root folder holds it as well.
    if (::open("/dev/null", O_RDWR) < 0) static_cast<void>(::open("/", O_RDONLY));
  }
  output().closed = closed[STDOUT_FILENO];
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void put(std::string_view text) {
  Output& out = output();
  out.used = true;
  if (out.closed) return;
  int none = 0;
  if (const int error = write_all(STDOUT_FILENO, text); error != 0)
    out.error.compare_exchange_strong(none, error);
}

void put_file(std::string_view text) {
  put(::isatty(STDOUT_FILENO) == 1 ? escaped(text, Keep::lines) : std::string(text));
}

void put_aside(std::string_view text) {
  static_cast<void>(write_all(STDERR_FILENO, text));
}

void warn(std::string_view sentence) {
  put_aside("warpscope: " + sayable(sentence) + "\n");
}

void answer_is_in_files() {
  output().needed = false;
}

std::string output_failure() {
  const Output& out = output();
  if (out.closed && out.used && out.needed) return "cannot write to standard output: it is closed";
  if (out.error == 0) return "";
  return std::string("cannot write to standard output: ") + std::strerror(out.error);
}

}  // namespace warpscope::files
