// warpscope: the command line.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/options.h"
#include "gpu/core/error.h"

namespace {

using namespace warpscope;

/// What CLI11 says of a bad command line, as one sentence that names the command's own help.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string what = error.what();
  for (char& c : what) c = c == '\n' ? ' ' : c;
  std::string command = "warpscope";
  for (const CLI::App* used : app.get_subcommands()) command += " " + used->get_name();
  return fmt::format("{}; {} --help lists what is valid", what, command);
}

/// Options before a command would set the window's, which the command does not read.
void refuse_options_before(const CLI::App& app, const CLI::App& command) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    throw core::BadInput(fmt::format("{} stands before the command; write it after: warpscope {} {} ...",
                                     option->get_name(), command.get_name(), option->get_name()));
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Warpscope: watch a network train, kernel by kernel.\nWithout a command it opens the window.",
               "warpscope"};
  app.set_version_flag("--version", "warpscope " WARPSCOPE_VERSION);
  app.require_subcommand(0, 1);

  app::TrainingArguments window_arguments;
  app::WindowArguments window;
  app::add_training_options(app, window_arguments);
  app.add_option("--screenshot", window.screenshot, "Save a PNG of the window before leaving")
      ->type_name("FILE");
  app.add_option("--exit-after-steps", window.exit_after_steps, "Leave the window after N steps")
      ->type_name("N")
      ->check(app::refuse_negative);
  app.add_option("--window-size", window.size, "Size of the window in pixels")->type_name("WxH");

  app::TrainingArguments train_arguments;
  CLI::App* const train = app.add_subcommand("train", "Train without a window");
  app::add_training_options(*train, train_arguments);

  std::string data_set = "cifar10";
  std::string directory;
  CLI::App* const fetch = app.add_subcommand("fetch", "Download a data set");
  fetch->add_option("name", data_set, "Data set: cifar10")->capture_default_str();
  fetch->add_option("--data", directory, "Folder to unpack it into (default: the user's cache folder)");

  CLI::App* const devices = app.add_subcommand("devices", "List devices and the variants each can run");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw core::BadInput(usage_error(app, error));
  }
  for (const CLI::App* command : app.get_subcommands()) refuse_options_before(app, *command);
  if (*train) return app::train(app::training_options(train_arguments));
  if (*fetch) return app::fetch(data_set, directory);
  if (*devices) return app::devices();
  return app::window(app::training_options(window_arguments), window);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const warpscope::core::BadInput& error) {
    fmt::print(stderr, "warpscope: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "warpscope: {}\n", error.what());
    return 1;
  }
}
