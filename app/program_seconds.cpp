#include "app/program_seconds.h"

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace warpscope::app {
namespace {

/// When the process began, in seconds since the machine did; negative if that is not known. Source: proc(5), field 22
/// of /proc/self/stat; the name in field 2 may hold anything but a ')'.
double read_beginning() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return -1;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int n = 3; n < 22; ++n) fields >> field;
  double ticks = -1;
  fields >> ticks;
  return fields ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : -1;
}

}  // namespace

double program_seconds() {
  static const double beginning = read_beginning();
  timespec now{};
  if (beginning < 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - beginning;
}

}  // namespace warpscope::app
