#include "gpu/profiling/waiting.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace warpscope::profiling {

double waited_seconds() {
  double nanoseconds = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator thread("/proc/self/task", error), end; !error && thread != end;
       thread.increment(error)) {
    std::ifstream file(thread->path() / "schedstat");  // a thread that has just ended has none
    double ran = 0;
    double waited = 0;
    if (file >> ran >> waited) nanoseconds += waited;
  }
  return 1e-9 * nanoseconds;
}

}  // namespace warpscope::profiling
