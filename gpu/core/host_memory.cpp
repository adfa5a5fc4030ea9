#include "gpu/core/host_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace warpscope::core {
namespace {

/// Of /proc/meminfo, which counts in KiB.
std::optional<std::int64_t> estimate_of_system() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::string unit;
  for (std::int64_t kib = 0; file >> name >> kib; std::getline(file, unit)) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  return std::nullopt;
}

/// Nothing where there is no such file or no limit, which reads "max".
std::optional<std::int64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

}  // namespace

std::int64_t free_host_memory() {
  const std::optional<std::int64_t> system = estimate_of_system();
  const std::optional<std::int64_t> limit = number_in("/sys/fs/cgroup/memory.max");
  const std::optional<std::int64_t> used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return system.value_or(0);
  const std::int64_t left = std::max<std::int64_t>(*limit - *used, 0);
  return system ? std::min(*system, left) : left;
}

void return_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace warpscope::core
