#pragma once
// The memory of the machine.

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace warpscope::core {

/// Where the system tells of its memory and of limits.
struct MemoryFiles {
  std::filesystem::path processes = "/proc";
  std::filesystem::path control_groups = "/sys/fs/cgroup";
};

struct HostMemory {
  std::optional<std::int64_t> free;  ///< bytes; nothing if it cannot be told
  /// What leaves no more free, if not the machine itself: "the limit of the address space of 293.0 MiB (ulimit -v)".
  std::string limit;

  /// "52.1 MiB of memory free", with the limit.
  std::string text() const;
};

/// How much a program can still take without driving others out: the system's own estimate, which counts what it would
/// give up of its caches, and no more than what is left under the limits of the process (address space, data) and of
/// its control group and each one above it (cgroup v2 and v1), as containers have.
HostMemory host_memory(const MemoryFiles& files = {});

/// "146.5 MiB"; from 10 GiB on "23.1 GiB".
std::string memory_text(double bytes);

/// Throws std::bad_alloc if less than `bytes` are left under the limits of the process: for libraries that take memory
/// and do not look whether they got it.
void require_process_memory(std::int64_t bytes);

/// What takes less memory where a network is trained.
inline constexpr std::string_view kLessToTrain = "take a smaller network, batch or data set";

/// What an exception says, as a sentence: for one of the standard library that only says that memory or threads ran
/// out, with the limit and `less`, what takes less memory (may be "").
std::string sentence_of(const std::exception& error, std::string_view less = kLessToTrain);

/// For what is known to need so many bytes where they ran out: "a picture needs 2.4 MiB, and there is too little memory
/// under the limit of ...".
std::string need_sentence(std::string_view what, double bytes);

/// Gives the system what was freed but is still kept by the C library for later, of which a job that takes much on
/// threads of its own leaves hundreds of MB. Takes some milliseconds; does nothing where the library has no such call.
void return_freed_memory();

}  // namespace warpscope::core
