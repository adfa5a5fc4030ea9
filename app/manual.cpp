#include "app/manual.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace warpscope::app {
namespace {

/// `text` as roff prints it: hyphens are minus signs, which can be copied, and no line begins with a request.
std::string printed(std::string_view text) {
  std::string roff;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (roff.empty() || roff.back() == '\n')) roff += "\\&";
    roff += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return roff;
}

/// "--shuffle,--no-shuffle" or "--batch N", as the help says it but for marks of flags that unset.
std::string name_of(const CLI::Option& option) {
  constexpr std::string_view kUnsets = "{false}";
  const CLI::Formatter help;
  std::string name = help.make_option_name(&option, option.get_positional());
  for (std::size_t at = 0; (at = name.find(kUnsets)) != std::string::npos;) name.erase(at, kUnsets.size());
  return name;
}

std::string entry(const CLI::Option& option) {
  const CLI::Formatter help;
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", printed(name_of(option)),
                     printed(help.make_option_opts(&option)), printed(option.get_description()));
}

/// `app` has an option that is called and means the same.
bool has(const CLI::App& app, const CLI::Option& option) {
  const CLI::Option* const other = app.get_option_no_throw(option.get_name());
  return other != nullptr && other->get_description() == option.get_description();
}

std::string options_of(const CLI::App& app) {
  std::string text;
  for (const std::string& group : app.get_groups()) {
    if (group.empty()) continue;
    text += fmt::format(".SS {}\n", printed(group));
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() == group) text += entry(*option);
    }
  }
  return text;
}

/// Where the manual says what options of a command do that the window has too: those of a training, or those called
/// `names`.
std::string elsewhere(const std::vector<std::string>& names) {
  constexpr std::size_t kFew = 8;
  if (names.empty()) return "";
  if (names.size() > kFew) return "\nIt takes the settings of a training, which are listed under OPTIONS.";
  return fmt::format("\nIt takes {} as well, which are listed under OPTIONS.",
                     printed(fmt::format("{}", fmt::join(names, ", "))));
}

std::string command_text(const CLI::App& app, const CLI::App& command) {
  std::string own;
  std::vector<std::string> shared;
  for (const CLI::Option* option : command.get_options()) {
    if (option == command.get_help_ptr() || option->get_group().empty()) continue;
    if (has(app, *option)) {
      shared.push_back(option->get_name());
    } else {
      own += entry(*option);
    }
  }
  return fmt::format(".SS warpscope {}\n{}.{}\n{}", printed(command.get_name()),
                     printed(command.get_description()), elsewhere(shared), own);
}

constexpr std::string_view kEnd =
    ".SH EXIT STATUS\n"
    "0; 1 if the run failed; 2 for bad input, where nothing was changed. Ctrl\\-C finishes the step, saves "
    "and exits "
    "with 0.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBWARPSCOPE_DATA\\fR\nFolder in which data sets are looked for.\n"
    ".TP\n\\fBXDG_CACHE_HOME\\fR, \\fBXDG_CONFIG_HOME\\fR, \\fBXDG_DATA_HOME\\fR\n"
    "Where downloads, the window's settings and trainings that nobody recorded are kept.\n"
    ".TP\n\\fBLD_LIBRARY_PATH\\fR\n"
    "Folders of cuBLASLt, cuDNN and NCCL, which are opened when a variant needs them. \\fBwarpscope "
    "devices\\fR says "
    "which\nvariants cannot run for want of them; all others need only the driver.\n";

}  // namespace

std::string manual(const CLI::App& app) {
  std::string text = fmt::format(
      ".TH WARPSCOPE 1 \"\" \"Warpscope {0}\" \"User Commands\"\n.SH NAME\nwarpscope \\- watch a network "
      "train, kernel by "
      "kernel\n.SH SYNOPSIS\n.B warpscope\n[\\fIOPTION\\fR]...\n.br\n.B warpscope\n\\fICOMMAND\\fR "
      "[\\fIOPTION\\fR]...\n"
      ".SH DESCRIPTION\n{1}\n.SH COMMANDS\n",
      WARPSCOPE_VERSION, printed(app.get_description()));
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) text += command_text(app, *command);
  return text + ".SH OPTIONS\n" + options_of(app) + std::string(kEnd);
}

}  // namespace warpscope::app
