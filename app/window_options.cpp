#include "app/window_options.h"

#include <cstdio>

#include <fmt/format.h>

#include "app/interrupt.h"
#include "gpu/core/error.h"
#include "ui/software_drawing.h"

namespace warpscope::app {

ui::WindowOptions window_options(const WindowArguments& arguments) {
  ui::WindowOptions window;
  if (!arguments.size.empty()) {
    char end = 0;
    if (std::sscanf(arguments.size.c_str(), "%dx%d%c", &window.width, &window.height, &end) != 2 ||
        window.width < 320 || window.height < 240 || window.width > 16384 || window.height > 16384) {
      throw core::BadInput(fmt::format("--window-size '{}' is not of the form 1600x1000", arguments.size));
    }
  }
  ui::limit_drawing_threads();
  if (arguments.draw != "gpu" && arguments.draw != "cpu" && arguments.draw != "cuda") {
    throw core::BadInput(fmt::format("--draw '{}' is not possible; valid: gpu, cpu, cuda", arguments.draw));
  }
  if (arguments.draw != "gpu") ui::draw_by_cpu();
  window.painted = arguments.draw == "cuda";
  window.screenshot_file = arguments.screenshot;
  window.exit_after_steps = arguments.exit_after_steps;
  window.leave = &catch_interrupts();
  return window;
}

}  // namespace warpscope::app
