// What needs the window's code: the window itself, and plots as pixels.

#include "ui/frame/window.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/options.h"
#include "app/png.h"
#include "app/run_folders.h"
#include "app/start_services.h"
#include "app/window_options.h"
#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/files/streams.h"
#include "gpu/models/model.h"
#include "gpu/runs/checkpoint.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_folder.h"
#include "gpu/runs/run_reader.h"
#include "gpu/runs/unsaved.h"
#include "gpu/runs/user_runs.h"
#include "gpu/training/carried_kernels.h"
#include "ui/plot/page.h"

namespace warpscope::app {

namespace {

/// One of the folders of this user; "" if there is none.
std::filesystem::path if_there(std::filesystem::path (*folder)()) {
  try {
    return folder();
  } catch (const core::Error&) {
    return {};
  }
}

/// What goes on with the training in `folder`. Makes all checks by which that may be refused, and holds the folder,
/// which others might take or delete meanwhile.
training::TrainerOptions open_unsaved(const std::filesystem::path& folder, const data::Stopped& stopped) {
  auto run = std::make_shared<training::RunFolder>(training::RunFolder::reopen(folder));
  training::TrainerOptions options = training_options({.given = {}, .config = {}, .resume = folder.string()});
  options.resumed = std::move(run);
  check(options);
  core::open_device(options.device);
  const models::Model& model = options.model;
  const training::OrderState order = training::to_go_on_from(folder, model).checkpoint->order;
  read_data(options, &order, stopped);
  return options;
}

}  // namespace

int open_window(training::TrainerOptions options, const WindowArguments& arguments) {
  ui::WindowOptions window = window_options(arguments);
  const std::filesystem::path unsaved = if_there(runs::unsaved_folder);
  const std::filesystem::path recorded = if_there(runs::user_runs_folder);
  for (const std::filesystem::path& each : {recorded, std::filesystem::path(kRunsFolder)})
    runs::empty_deleted(each);
  window.open_unsaved = open_unsaved;
  window.start = start_services();
  window.kernels = kernel_services(options.live_kernels.includes);
  window.start_page = arguments.bare;
  const std::string first_device = options.devices.empty() ? "" : options.devices.front();  // of --gpus
  try {
    while (true) {
      options.unsaved_dir = unsaved.string();
      options.record_dir = recorded.string();
      window.training = options;
      if (arguments.exit_after_steps == 0) window.unsaved = runs::unsaved_trainings(unsaved);
      std::erase_if(window.unsaved, [&](const auto& each) {
        return each.folder == options.resume_dir || runs::is_being_written(each.folder);
      });
      const auto others = std::erase_if(window.unsaved, [](const auto& each) { return each.other_format; });
      constexpr const char* kOthers =
          "trainings of another format are kept in {}: {}; only the Warpscope that wrote them goes on with "
          "them";
      window.notice = others > 0 ? fmt::format(kOthers, unsaved.string(), others) : "";
      std::optional<ui::NextTraining> go_on;
      const int code = ui::run_window(window, go_on);
      if (!go_on || *window.leave) return code;
      const bool has_ranks = options.rank_supply.start && go_on->options.device == "auto";
      const std::string& resumed = go_on->options.resume_dir;
      window.ranks = !has_ranks ? 1 : resumed.empty() ? go_on->ranks : runs::ranks_of(resumed);
      if (has_ranks && !first_device.empty()) go_on->options.device = first_device;
      training::carry_on(options, go_on->kernels.get());
      training::RankSupply supply = std::move(options.rank_supply);
      const ops::Variants variants = options.variants;
      std::vector<runs::KernelFile> kernels = std::move(options.kernels);
      user_kernels::LiveKernels live_kernels = std::move(options.live_kernels);
      options = std::move(go_on->options);
      options.rank_supply = std::move(supply);
      options.variants = variants;
      options.kernels = std::move(kernels);
      options.live_kernels = std::move(live_kernels);
      window.start_page = false;
    }
  } catch (const ui::NoDisplay&) {
    files::print("There is no display: training headless (as warpscope train does).\n");
    if (!arguments.screenshot.empty()) throw core::BadInput("--screenshot needs a display");
    if (options.steps == 0) options.steps = arguments.exit_after_steps;
    options.record_dir.clear();
    return train_headless(std::move(options));
  }
}

std::string png_of(const runs::Plot& plot) {
  return ui::plot::encode_png(ui::plot::draw_page(plot));
}

}  // namespace warpscope::app
