#include "app/waiting_threads.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace warpscope::app {
namespace {

constexpr const char* kSpins = "3000";

}  // namespace

void let_waiting_threads_sleep(char** argv) {
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread yet
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (setenv("GOMP_SPINCOUNT", kSpins, 0) != 0) return;
  // NOLINTEND(concurrency-mt-unsafe)
  std::error_code failed;
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe", failed);  // lists of processes show its name
  if (!failed) execv(program.c_str(), argv);  // comes back only if it failed; then they spin for longer
}

}  // namespace warpscope::app
