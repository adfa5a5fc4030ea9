// warpscope: the command line.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/ranks.h"
#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/streams.h"
#include "gpu/files/text.h"
#include "gpu/remote/lasting_training.h"
#include "gpu/user_kernels/board.h"
#include "gpu/user_kernels/trial.h"

namespace {

using namespace warpscope;

/// What of the command line nothing takes, in the order in which it was typed.
std::string unexpected(const CLI::App& app, const std::vector<std::string>& typed) {
  std::vector<std::string> left = app.remaining(true);
  std::string told =
      left.size() > 1 ? "these arguments were not expected:" : "this argument was not expected:";
  for (const std::string& argument : typed) {
    const auto found = std::ranges::find(left, argument);
    if (found == left.end()) continue;
    left.erase(found);
    told += " " + files::sayable(argument);
  }
  for (const std::string& part : left) told += " " + files::sayable(part);  // as it was typed it was longer
  return told;
}

/// What CLI11 says of a bad command line, as one sentence that names the command's own help.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error,
                        const std::vector<std::string>& typed) {
  const bool surplus = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  std::string what = surplus ? unexpected(app, typed) : error.what();
  for (char& c : what) c = c == '\n' ? ' ' : c;
  // CLI11's messages about missing and surplus values, reworded.
  what = std::regex_replace(what, std::regex(": At Most 1 required but received (\\d+)"),
                            " stands there $1 times; give it once");
  what = std::regex_replace(what, std::regex(": At least (\\d+) required but received (\\d+)"),
                            " takes $1 values or more, not $2");
  what = std::regex_replace(what, std::regex(": 1 required \\S+ missing"), " needs a value");
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
  if (argc > 1 && std::string_view(argv[1]) == user_kernels::kTrialCommand)
    user_kernels::run_trial(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == remote::kGoOnCommand) return remote::go_on_training();
  if (const std::optional<int> code = app::run_as_rank(argc > 1 ? argv[1] : "")) return *code;
  CLI::App app{"Warpscope: watch a network train, kernel by kernel.\nWithout a command it opens the window.",
               "warpscope"};
  app.set_version_flag("--version", "warpscope " WARPSCOPE_VERSION);
  app.require_subcommand(0, 1);

  const app::Run window = app::window(app);
  std::vector<app::Run> runs;
  for (const app::Command& command : app::commands()) {
    runs.push_back(command.add(*app.add_subcommand(command.name, command.summary)));
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    std::ostringstream told;
    const int code = app.exit(success, told, told);
    files::put(told.str());
    return code;
  } catch (const CLI::ParseError& error) {
    throw core::BadInput(usage_error(app, error, {argv + 1, argv + argc}));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const CLI::App& command = *app.get_subcommand(static_cast<int>(i));
    if (!command) continue;
    refuse_options_before(app, command);
    return runs[i]();
  }
  return window();
}

}  // namespace

int main(int argc, char** argv) {
  namespace files = warpscope::files;
  files::hold_streams();
  int code = 1;
  try {
    code = run(argc, argv);
  } catch (const warpscope::core::BadInput& error) {
    files::warn(error.what());
    code = 2;
  } catch (const std::exception& error) {
    files::warn(warpscope::core::sentence_of(error));
  }
  const std::string lost = files::output_failure();
  if (lost.empty()) return code;
  files::warn(lost);
  return code == 0 ? 1 : code;
}
