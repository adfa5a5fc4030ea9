#include "ui/frame/software_drawing.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

namespace warpscope::ui {

int drawing_threads(unsigned cores) {
  return cores == 1 ? 1 : static_cast<int>(std::clamp(cores / 2, 2u, 4u));
}

// NOLINTBEGIN(concurrency-mt-unsafe): there is one thread yet
void limit_drawing_threads() {
  setenv("LP_NUM_THREADS", std::to_string(drawing_threads(std::thread::hardware_concurrency())).c_str(), 0);
}

void draw_by_cpu() {
  setenv("__GLX_VENDOR_LIBRARY_NAME", "mesa", 1);
  setenv("LIBGL_ALWAYS_SOFTWARE", "1", 1);
}
// NOLINTEND(concurrency-mt-unsafe)

}  // namespace warpscope::ui
