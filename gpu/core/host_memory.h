#pragma once
// The memory of the machine.

#include <cstdint>

namespace warpscope::core {

/// How many bytes a program can still take without driving others out: the system's own estimate, which counts
/// what it would give up of its caches, and no more than what is left under the limit of a container (cgroup v2).
/// 0 if neither can be told.
std::int64_t free_host_memory();

/// Gives the system what was freed but is still kept by the C library for later, of which a job that takes much on
/// threads of its own leaves hundreds of MB. Takes some milliseconds; does nothing where the library has no such call.
void return_freed_memory();

}  // namespace warpscope::core
