#include "app/window_options.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "app/interrupt.h"
#include "gpu/core/error.h"
#include "ui/paint/x11_presenter.h"
#include "ui/software_drawing.h"

namespace warpscope::app {
namespace {

/// Throws core::BadInput.
bool paints_on_cpu(const std::string& draw) {
  if (draw == "gpu") return false;
  if (draw == "cpu") return true;
  if (draw == "auto") return ui::paint::X11Presenter::server_is_virtual();
  throw core::BadInput(fmt::format("--draw '{}' is not possible; valid: auto, gpu, cpu", draw));
}

}  // namespace

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
  window.paint_on_cpu = paints_on_cpu(arguments.draw);
  // OpenGL still makes the textures, and draws if painting fails: on the CPU, so that it leaves the GPU
  // alone.
  if (window.paint_on_cpu) ui::draw_by_cpu();
  window.screenshot_file = arguments.screenshot;
  window.exit_after_steps = arguments.exit_after_steps;
  window.leave = &catch_interrupts();
  return window;
}

}  // namespace warpscope::app
