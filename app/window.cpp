// What needs the window's code: the window itself, and plots as pixels.

#include "ui/window.h"

#include <filesystem>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/options.h"
#include "app/png.h"
#include "app/window_options.h"
#include "gpu/core/error.h"
#include "gpu/files/streams.h"
#include "gpu/runs/unsaved.h"
#include "ui/plot/page.h"

namespace warpscope::app {

namespace {

/// Where trainings are kept that nobody records; "" if the user has no folder.
std::filesystem::path folder_of_unsaved() {
  try {
    return runs::unsaved_folder();
  } catch (const core::Error&) {
    return {};
  }
}

}  // namespace

int window(training::TrainerOptions options, const WindowArguments& arguments) {
  ui::WindowOptions window = window_options(arguments);
  const std::filesystem::path unsaved = folder_of_unsaved();
  try {
    while (true) {
      options.unsaved_dir = unsaved.string();
      window.training = options;
      if (arguments.exit_after_steps == 0) window.unsaved = runs::unsaved_trainings(unsaved);
      std::filesystem::path go_on;
      const int code = ui::run_window(window, go_on);
      if (go_on.empty()) return code;
      options = training_options({.given = {}, .config = {}, .resume = go_on.string()});
    }
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
