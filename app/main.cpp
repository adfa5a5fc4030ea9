// warpscope: the command line.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>
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

/// The command that was typed, or one within it.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* found = &app;
  while (!found->get_subcommands().empty()) found = found->get_subcommands().front();
  return *found;
}

/// The part of an argument that may be the name of an option: "--batch" of "--batch=4".
std::string name_in(const std::string& argument) {
  return argument.substr(0, argument.find('='));
}

/// True if the argument behind `argument` is its value.
bool takes_next(const CLI::App& command, const std::string& argument) {
  const CLI::Option* const option = command.get_option_no_throw(argument);
  return argument.starts_with('-') && option != nullptr && option->get_items_expected_max() > 0;
}

/// "; the nearest valid one is --batch" for "--batsh"; "" where none is near.
std::string nearest_option(const CLI::App& command, const std::string& argument) {
  const std::string name = name_in(argument);
  if (!name.starts_with("--")) return "";
  const auto plain = [](std::string text) {
    std::ranges::replace(text, '_', '-');
    return files::lower_case(text);
  };
  std::string nearest;
  int least = static_cast<int>(name.size() - 2) / 3 + 1;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& known : option->get_lnames()) {
      const bool begins = known.size() > 2 && plain(name).starts_with("--" + known + "-");
      const int distance = begins ? 1 : files::edit_distance(plain(name), "--" + known);
      if (distance >= least) continue;
      least = distance;
      nearest = known;
    }
  }
  return nearest.empty() ? "" : fmt::format("; the nearest valid one is --{}", nearest);
}

/// What of the command line nothing takes, in the order in which it was typed.
std::string unexpected(const CLI::App& app, const std::vector<std::string>& typed) {
  const CLI::App& command = innermost(app);
  std::vector<std::string> left = app.remaining(true);
  std::string told =
      left.size() > 1 ? "these arguments were not expected:" : "this argument was not expected:";
  std::string nearest;
  const auto tell = [&](const std::string& argument) {
    told += " " + files::sayable(argument);
    if (nearest.empty()) nearest = nearest_option(command, argument);
  };
  for (std::size_t i = 0; i < typed.size(); ++i) {
    if (takes_next(command, typed[i])) {
      ++i;
    } else if (const auto found = std::ranges::find(left, typed[i]); found != left.end()) {
      left.erase(found);
      tell(typed[i]);
    }
  }
  std::ranges::for_each(left, tell);  // as it was typed it was longer
  return told + nearest;
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

/// For what CLI11 cannot read as the value of a flag, which it does not name; "" where none has such a value.
std::string flag_error(const CLI::App& app, const std::vector<std::string>& typed) {
  for (const std::string& argument : typed) {
    const std::string name = name_in(argument);
    const CLI::Option* const flag = innermost(app).get_option_no_throw(name);
    if (name == argument || flag == nullptr || flag->get_items_expected_max() > 0) continue;
    const std::string value = argument.substr(name.size() + 1);
    if (value != "true" && value != "false")
      return fmt::format("{} takes no value but true or false, not '{}'", name, files::sayable(value));
  }
  return "";
}

/// An empty value is what a script's variable has that was never set: it must not count as none given. It only
/// takes away what the settings of a file or a run hold.
void refuse_empty_values(const CLI::App& command) {
  const auto given = [&](const char* name) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    return option != nullptr && option->count() > 0 && !option->results().front().empty();
  };
  if (given("--config") || given("--resume")) return;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() == 0 || option->count() == 0) continue;
    if (std::ranges::none_of(option->results(), &std::string::empty)) continue;
    throw core::BadInput(fmt::format("{} is empty; give it a value, or leave it out",
                                     option->get_name(option->get_positional())));
  }
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
  } catch (const CLI::ConversionError& error) {
    const std::string flag = flag_error(app, {argv + 1, argv + argc});
    throw core::BadInput(flag.empty() ? usage_error(app, error, {argv + 1, argv + argc}) : flag);
  } catch (const CLI::ParseError& error) {
    throw core::BadInput(usage_error(app, error, {argv + 1, argv + argc}));
  } catch (const std::logic_error& error) {  // of std::stoll, which CLI11 lets through
    const std::string flag = flag_error(app, {argv + 1, argv + argc});
    throw core::BadInput(flag.empty() ? error.what() : flag);
  }
  refuse_empty_values(innermost(app));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const CLI::App& command = *app.get_subcommand(static_cast<int>(i));
    if (!command) continue;
    refuse_options_before(app, command);
    try {
      return runs[i]();
    } catch (const std::bad_alloc& error) {
      throw core::OutOfMemory(core::sentence_of(error, app::commands()[i].less));
    }
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
