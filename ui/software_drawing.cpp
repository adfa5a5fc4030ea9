#include "ui/software_drawing.h"

#include <cstdlib>

namespace warpscope::ui {

void draw_by_cpu() {
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread yet
  setenv("__GLX_VENDOR_LIBRARY_NAME", "mesa", 0);
  setenv("LIBGL_ALWAYS_SOFTWARE", "1", 0);
  setenv("LP_NUM_THREADS", "2", 0);
  // NOLINTEND(concurrency-mt-unsafe)
}

}  // namespace warpscope::ui
