// What needs the window's code: the window itself, and plots as pixels.

#include "ui/window.h"

#include <fmt/format.h>

#include "app/commands.h"
#include "app/png.h"
#include "app/window_options.h"
#include "gpu/core/error.h"
#include "gpu/files/streams.h"
#include "ui/plot/page.h"

namespace warpscope::app {

int window(training::TrainerOptions options, const WindowArguments& arguments) {
  ui::WindowOptions window = window_options(arguments);
  window.training = options;
  try {
    return ui::run_window(window);
  } catch (const ui::NoDisplay&) {
    files::print("There is no display: training headless (as warpscope train does).\n");
    if (!arguments.screenshot.empty()) throw core::BadInput("--screenshot needs a display");
    if (options.steps == 0) options.steps = arguments.exit_after_steps;
    return train(std::move(options));
  }
}

std::string png_of(const runs::Plot& plot) {
  return ui::plot::encode_png(ui::plot::draw_page(plot));
}

}  // namespace warpscope::app
