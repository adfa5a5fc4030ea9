#pragma once
// How long this process has had to wait for a core.

namespace warpscope::profiling {

/// Seconds that the threads of this process were ready to run and did not, all together, since they began; 0 where the
/// system does not tell. Source: Linux, Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat.
double waited_seconds();

}  // namespace warpscope::profiling
