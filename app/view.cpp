// warpscope view: the window on a run that another process trains or has trained.

#include <filesystem>
#include <memory>
#include <string>

#include "app/run_folders.h"
#include "app/start_services.h"
#include "app/window_options.h"
#include "gpu/core/error.h"
#include "gpu/runs/head_snapshot.h"
#include "gpu/training/viewed_run.h"

namespace warpscope::app {
namespace {

/// The network of the run; without layers if this version does not know it.
models::Model model_of(const std::filesystem::path& folder) {
  runs::RunFollower run(folder);
  run.poll(0);
  try {
    return runs::model_in(run.run().head);
  } catch (const core::BadInput&) {
    models::Model unknown;
    unknown.name = runs::snapshot_of(run.run().head).model;
    return unknown;
  }
}

}  // namespace

int view_run(const std::string& run, const WindowArguments& arguments) {
  const std::filesystem::path folder = find_run(run, kRunsFolder);
  ui::WindowOptions window = window_options(arguments);
  window.training.model = model_of(folder);
  window.source = std::make_shared<training::ViewedRun>(folder);
  window.start.view = start_services().view;
  try {
    return ui::run_window(window);
  } catch (const ui::NoDisplay&) {
    throw core::BadInput(
        "there is no display to open a window on; warpscope runs and warpscope export tell of runs without "
        "one");
  }
}

}  // namespace warpscope::app
