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

// Who paints. What OpenGL there still is (it makes textures, and draws if painting fails) then is Mesa's, and leaves the GPU alone.
ui::Painting painting(const std::string& draw) {
  using ui::Painting;
  if (draw == "gpu") return Painting::none;
  if (draw == "auto" && !ui::paint::X11Presenter::server_is_virtual()) return Painting::none;
  if (draw != "auto" && draw != "cpu" && draw != "cuda") {
    throw core::BadInput(fmt::format("--draw '{}' is not possible; valid: auto, gpu, cpu, cuda", draw));
  }
  ui::draw_by_cpu();
  return draw == "cuda" ? Painting::by_cuda : Painting::by_cpu;
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
  window.painting = painting(arguments.draw);
  window.screenshot_file = arguments.screenshot;
  window.exit_after_steps = arguments.exit_after_steps;
  window.leave = &catch_interrupts();
  return window;
}

}  // namespace warpscope::app
