#pragma once
// The memory of the machine.

#include <cstdint>

namespace warpscope::core {

/// How many bytes a program can still take without driving others out: the system's own estimate, which counts
/// what it would give up of its caches, and no more than what is left under the limit of a container (cgroup v2).
/// 0 if neither can be told.
std::int64_t free_host_memory();

}  // namespace warpscope::core
