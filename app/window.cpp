// What needs the window's code: the window itself, and plots as pixels.

#include "ui/frame/window.h"

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/options.h"
#include "app/png.h"
#include "app/window_options.h"
#include "gpu/core/error.h"
#include "gpu/data/known_data.h"
#include "gpu/data/locate.h"
#include "gpu/data/requirements.h"
#include "gpu/files/streams.h"
#include "gpu/models/model.h"
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

/// Throws what a window on the training in `folder` would begin with.
void check_unsaved(const std::filesystem::path& folder) {
  const training::TrainerOptions options =
      training_options({.given = {}, .config = {}, .resume = folder.string()});
  const models::Model& model = options.model;
  const data::Requirements wanted{
      {model.height, model.width, model.channels}, model.classes, model.name, model.alphabet};
  try {
    data::locate(options.data, wanted);
  } catch (const core::BadInput&) {
    for (const std::string& guess : options.known_data.second_guesses) {
      try {
        data::locate(guess, wanted);
        return;
      } catch (const core::BadInput&) {
      }
    }
    throw;
  }
}

}  // namespace

int open_window(training::TrainerOptions options, const WindowArguments& arguments) {
  ui::WindowOptions window = window_options(arguments);
  const std::filesystem::path unsaved = folder_of_unsaved();
  window.check_unsaved = check_unsaved;
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
    return train_headless(std::move(options));
  }
}

std::string png_of(const runs::Plot& plot) {
  return ui::plot::encode_png(ui::plot::draw_page(plot));
}

}  // namespace warpscope::app
