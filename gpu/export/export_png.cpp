// PNG of an SVG, by the program rsvg-convert: linking its library would load Pango, Cairo and a hundred megabytes with
// every start of Warpscope, for what one command does now and then.

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/export/export_svg.h"
#include "gpu/runs/text.h"

namespace warpscope::runs {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";

/// A file in memory: as input and output of another program it needs no pipe that may fill up.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("warpscope-picture", MFD_CLOEXEC)) {
    if (descriptor_ < 0)
      throw core::Error(fmt::format("cannot make a file in memory: {}", std::strerror(errno)));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }
  int get() const { return descriptor_; }

  void write(const std::string& text) const {
    std::size_t done = 0;
    while (done < text.size()) {
      const ::ssize_t written = ::write(descriptor_, text.data() + done, text.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw core::Error(fmt::format("cannot write to memory: {}", std::strerror(errno)));
      done += static_cast<std::size_t>(written);
    }
    ::lseek(descriptor_, 0, SEEK_SET);
  }

  std::string content() const {
    std::string text;
    std::array<char, 65536> block{};
    while (true) {
      const ::ssize_t got =
          ::pread(descriptor_, block.data(), block.size(), static_cast<::off_t>(text.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return text;
      text.append(block.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  int descriptor_;
};

/// Runs `arguments` with the three as standard input, output and error. Returns the exit code; 127 if there is no such
/// program.
int run_program(const std::vector<std::string>& arguments, const MemoryFile& in, const MemoryFile& out,
                const MemoryFile& error) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, error.get(), STDERR_FILENO);
  ::pid_t child = 0;
  const int failed = ::posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return 127;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string png_of_svg(const std::string& svg, double scale) {
  const MemoryFile in;
  const MemoryFile out;
  const MemoryFile error;
  in.write(svg);
  const int code =
      run_program({"rsvg-convert", "--format=png", fmt::format("--zoom={}", scale)}, in, out, error);
  if (code == 127) {
    throw core::Error(
        "cannot make a PNG: there is no rsvg-convert on the PATH; install the package librsvg2-bin, or "
        "export svg");
  }
  std::string png = out.content();
  if (code != 0 || !png.starts_with(kSignature)) {
    throw core::Error(
        fmt::format("cannot make a PNG: rsvg-convert ended with code {}: {}; export svg instead", code,
                    printable(error.content())));
  }
  return png;
}

}  // namespace warpscope::runs
