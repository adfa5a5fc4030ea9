// warpscope without a command: the window.

#include "ui/window.h"

#include <cstdio>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "gpu/core/error.h"

namespace warpscope::app {

int window(training::TrainerOptions options, const WindowArguments& arguments) {
  ui::WindowOptions window;
  if (!arguments.size.empty()) {
    char end = 0;
    if (std::sscanf(arguments.size.c_str(), "%dx%d%c", &window.width, &window.height, &end) != 2 ||
        window.width < 320 || window.height < 240 || window.width > 16384 || window.height > 16384) {
      throw core::BadInput(fmt::format("--window-size '{}' is not of the form 1600x1000", arguments.size));
    }
  }
  if (!ui::display_available()) {
    fmt::print("There is no display: training headless (as warpscope train does).\n");
    if (!arguments.screenshot.empty()) throw core::BadInput("--screenshot needs a display");
    if (options.steps == 0) options.steps = arguments.exit_after_steps;
    return train(std::move(options));
  }
  window.training = std::move(options);
  window.screenshot_file = arguments.screenshot;
  window.exit_after_steps = arguments.exit_after_steps;
  window.leave = &catch_interrupts();
  return ui::run_window(window);
}

}  // namespace warpscope::app
