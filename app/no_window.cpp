// What needs the window's code, in a build without it.

#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/png.h"
#include "app/window_arguments.h"
#include "gpu/core/error.h"
#include "gpu/files/streams.h"

namespace warpscope::app {

int open_window(training::TrainerOptions options, const WindowArguments& arguments) {
  files::print("This build has no window: training headless (as warpscope train does).\n");
  if (!arguments.screenshot.empty()) throw core::BadInput("--screenshot needs a build with the window");
  if (options.steps == 0) options.steps = arguments.exit_after_steps;
  return train_headless(std::move(options));
}

int view_run(const std::string& /*run*/, const WindowArguments& /*arguments*/) {
  throw core::BadInput(
      "this build has no window; warpscope runs and warpscope export tell of runs without one");
}

std::string png_of(const runs::Plot& /*plot*/) {
  throw core::BadInput("png needs a build with the window (WARPSCOPE_WINDOW=ON); svg works in this one");
}

}  // namespace warpscope::app
