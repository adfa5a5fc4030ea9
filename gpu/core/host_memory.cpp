#include "gpu/core/host_memory.h"

#include <algorithm>
#include <fstream>
#include <new>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <sys/resource.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace warpscope::core {
namespace {

namespace fs = std::filesystem;
using Bytes = std::optional<std::int64_t>;

/// The number behind `name`, in whatever unit; nothing where there is none ("unlimited").
Bytes number_of(const fs::path& file, std::string_view name) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream rest(line.substr(name.size()));
    std::int64_t number = 0;
    if (rest >> number) return number;
    return std::nullopt;
  }
  return std::nullopt;
}

/// The first number in a file; nothing where there is no such file or no limit, which reads "max".
Bytes number_in(const fs::path& file) {
  return number_of(file, "");
}

/// Takes what is left of `limit`, if it is less.
void bound(HostMemory& memory, Bytes limit, Bytes used, const std::string& what) {
  if (!limit || !used) return;
  const std::int64_t left = std::max<std::int64_t>(*limit - *used, 0);
  if (memory.free && left >= *memory.free) return;
  memory = {left, what};
}

void bound_by_process(HostMemory& memory, const fs::path& process) {
  struct Limit {
    std::string_view name, used, words, option;
  };
  constexpr std::int64_t kKib = 1024;
  for (const Limit& row : {Limit{"Max address space", "VmSize:", "the address space", "-v"},
                           Limit{"Max data size", "VmData:", "the data", "-d"}}) {
    const Bytes limit = number_of(process / "limits", row.name);
    const Bytes used = limit ? number_of(process / "status", row.used) : std::nullopt;
    if (!used) continue;
    bound(memory, limit, *used * kKib,
          fmt::format("the limit of {} of {} (ulimit {})", row.words,
                      memory_text(static_cast<double>(*limit)), row.option));
  }
}

/// How a version of control groups calls what it tells.
struct GroupFiles {
  const char *limit, *used, *dropped;
  const char*
      above;  ///< in memory.stat, the least limit of the group and of all above it; nullptr: it is not told
};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ",
                               "hierarchical_memory_limit "};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file ", nullptr};

void bound_by_group(HostMemory& memory, const fs::path& folder, const GroupFiles& names,
                    const std::string& group) {
  const Bytes limit = number_in(folder / names.limit);
  Bytes used = limit ? number_in(folder / names.used) : std::nullopt;
  if (!used) return;
  // The group's pages of files count as used, though the system drops those that nobody needs before it refuses.
  *used -= number_of(folder / "memory.stat", names.dropped).value_or(0);
  bound(memory, limit, used,
        fmt::format("the limit of the control group {} of {} ({})", group,
                    memory_text(static_cast<double>(*limit)), names.limit));
  if (names.above == nullptr) return;
  // What others use of a group above is not known where that group cannot be seen, as from inside a container.
  const Bytes above = number_of(folder / "memory.stat", names.above);
  if (!above || *above >= *limit) return;
  bound(memory, above, used,
        fmt::format("the limit of a control group above {} of {} (hierarchical_memory_limit)", group,
                    memory_text(static_cast<double>(*above))));
}

/// By the group at `path` below `mount` and by all above it. In a container the path may be one of the host's, of which
/// nothing is to be seen but the end of the way up.
void bound_by_groups(HostMemory& memory, const fs::path& mount, const std::string& path,
                     const GroupFiles& names) {
  fs::path group = path;
  if (path.find("..") != std::string::npos || !path.starts_with('/')) group = "/";
  for (;; group = group.parent_path()) {
    bound_by_group(memory, mount / group.relative_path(), names, group.string());
    if (group == group.parent_path()) return;
  }
}

/// For lines as "4:cpu,memory:/user" (version 1) and "0::/user" (version 2).
void bound_by_control_groups(HostMemory& memory, const MemoryFiles& files) {
  std::ifstream stream(files.processes / "self" / "cgroup");
  std::error_code error;
  const fs::path both = files.control_groups / "unified";
  const fs::path unified = fs::is_directory(both, error) ? both : files.control_groups;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      path = line.substr(second + 1);
    if (controllers.empty()) bound_by_groups(memory, unified, path, kVersion2);
    if (("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    bound_by_groups(memory, files.control_groups / "memory", path, kVersion1);
  }
}

std::string under_limit() {
  const std::string limit = host_memory().limit;
  return limit.empty() ? "" : fmt::format(" under {}", limit);
}

}  // namespace

std::string memory_text(double bytes) {
  constexpr double kMib = 1 << 20, kGib = 1 << 30;
  return bytes < 10 * kGib ? fmt::format("{:.1f} MiB", bytes / kMib)
                           : fmt::format("{:.1f} GiB", bytes / kGib);
}

std::string HostMemory::text() const {
  return fmt::format("{} of memory free{}{}", memory_text(static_cast<double>(free.value_or(0))),
                     limit.empty() ? "" : " under ", limit);
}

HostMemory host_memory(const MemoryFiles& files) {
  HostMemory memory;
  if (const Bytes kib = number_of(files.processes / "meminfo", "MemAvailable:")) memory.free = *kib * 1024;
  bound_by_process(memory, files.processes / "self");
  bound_by_control_groups(memory, files);
  return memory;
}

void require_process_memory(std::int64_t bytes) {
  const auto is_limited = [](auto resource) {
    rlimit limit{};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  };
  if (!is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA)) return;
  HostMemory memory;
  bound_by_process(memory, MemoryFiles().processes / "self");
  if (memory.free && *memory.free < bytes) throw std::bad_alloc();
}

std::string sentence_of(const std::exception& error, std::string_view less) {
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  const bool thread = system != nullptr && system->code() == std::errc::resource_unavailable_try_again;
  if (!thread && dynamic_cast<const std::bad_alloc*>(&error) == nullptr) return error.what();
  try {
    if (thread)
      return fmt::format("a thread could not be started{}; raise the limit, or that of processes (ulimit -u)",
                         under_limit());
    return fmt::format("there is too little memory{}; {}{}give it more", under_limit(), less,
                       less.empty() ? "" : ", or ");
  } catch (const std::bad_alloc&) {
    return "out of memory";  // as short as a text is that needs none
  }
}

std::string need_sentence(std::string_view what, double bytes) {
  return fmt::format("{} needs {}, and there is too little memory{}", what, memory_text(bytes),
                     under_limit());
}

void return_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace warpscope::core
