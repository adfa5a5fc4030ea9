#include "app/window_options.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "app/interrupt.h"
#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "ui/frame/software_drawing.h"
#include "ui/paint/x11_presenter.h"

namespace warpscope::app {
namespace {

/// Reads "1600x1000"; false if it is of another form or no size of a window.
bool read_size(std::string_view text, int& width, int& height) {
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) return false;
  const auto read = [](std::string_view digits, int least, int& value) {
    value = files::number_in<int>(digits).value_or(0);
    return value >= least && value <= 16384;
  };
  return read(text.substr(0, cross), 320, width) && read(text.substr(cross + 1), 240, height);
}

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
    if (!read_size(arguments.size, window.width, window.height)) {
      throw core::BadInput(fmt::format("--window-size '{}' is not of the form 1600x1000", arguments.size));
    }
  }
  ui::limit_drawing_threads();
  window.paint_on_cpu = paints_on_cpu(arguments.draw);
  // OpenGL still makes the textures, and draws if painting fails: on the CPU, so that it takes nothing
  // from the GPU.
  if (window.paint_on_cpu) ui::draw_by_cpu();
  window.screenshot_file = arguments.screenshot;
  window.exit_after_steps = arguments.exit_after_steps;
  window.leave = &catch_interrupts();
  return window;
}

}  // namespace warpscope::app
