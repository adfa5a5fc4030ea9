// The commands that open a window: without one, and warpscope view.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "app/commands.h"
#include "app/options.h"
#include "app/ranks.h"
#include "app/user_kernels.h"
#include "app/window_arguments.h"

namespace warpscope::app {
namespace {

void add_window_options(CLI::App& app, WindowArguments& a) {
  app.add_option("--screenshot", a.screenshot, "Save a PNG of the window before leaving")->type_name("FILE");
  app.add_option("--exit-after-steps", a.exit_after_steps, "Leave the window after N steps")
      ->type_name("N")
      ->check(refuse_negative);
  app.add_option("--window-size", a.size, "Size of the window in pixels")->type_name("WxH");
  app.add_option("--draw", a.draw,
                 "Who draws the window: gpu (OpenGL), cpu, or auto: cpu on a virtual display, else gpu")
      ->type_name("auto|gpu|cpu")
      ->capture_default_str();
}

}  // namespace

Run window(CLI::App& app) {
  struct Arguments {
    TrainingArguments training;
    RankArguments ranks;
    KernelArguments kernels;
    WindowArguments window;
  };
  const auto a = std::make_shared<Arguments>();
  add_training_options(app, a->training);
  add_rank_options(app, a->ranks);
  add_kernel_options(app, a->kernels);
  add_window_options(app, a->window);
  return [a] {
    training::TrainerOptions options = training_options(a->training);
    refuse_with_ranks(a->kernels, a->ranks);
    const OtherRanks others(a->ranks, options);
    if (others.exit_code()) return *others.exit_code();
    use_kernels(a->kernels, options, Refused::is_told);
    const TrainingArguments& training = a->training;
    a->window.bare = training.given.empty() && training.config.empty() && training.resume.empty();
    return open_window(std::move(options), a->window);
  };
}

Run view(CLI::App& app) {
  struct Arguments {
    std::string run;
    WindowArguments window;
  };
  const auto a = std::make_shared<Arguments>();
  app.add_option("run", a->run, "Folder of the run, or its name in the folder runs")
      ->type_name("RUN")
      ->required();
  add_window_options(app, a->window);
  return [a] { return view_run(a->run, a->window); };
}

}  // namespace warpscope::app
