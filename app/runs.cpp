// warpscope runs: the runs in a folder with their key figures, and the settings in which some of them differ.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/run_folders.h"
#include "app/table.h"
#include "gpu/charts/numbers.h"
#include "gpu/core/error.h"
#include "gpu/export/export.h"
#include "gpu/files/format.h"
#include "gpu/files/streams.h"
#include "gpu/files/text.h"
#include "gpu/runs/figure_table.h"
#include "gpu/runs/settings.h"
#include "gpu/runs/summary.h"
#include "gpu/runs/user_runs.h"

namespace warpscope::app {
namespace {

struct RunsArguments {
  std::string folder;             ///< "" for the default one and the user's, which need not exist
  std::string sort = "time";      ///< or test_loss, speed
  std::vector<std::string> diff;  ///< runs whose settings are compared instead; folders, or names in `folder`
  std::string json;               ///< file, "-" for standard output instead of the table, "" for none
};

namespace fs = std::filesystem;
using runs::RunSummary;

constexpr const char* kNothing = "-";
constexpr std::size_t kMostOfName = 40;  // characters; --json has them all

runs::RunOrder order_named(const std::string& name) {
  if (name == "time") return runs::RunOrder::time;
  if (name == "test_loss") return runs::RunOrder::test_loss;
  if (name == "speed") return runs::RunOrder::speed;
  throw core::BadInput(fmt::format("--sort: there is no order '{}'; valid: time, test_loss, speed", name));
}

/// In the user's time zone.
std::string when(double seconds) {
  if (!std::isfinite(seconds)) return kNothing;
  const auto rounded = static_cast<std::time_t>(seconds);
  std::tm time{};
  std::array<char, 32> text{};
  if (::localtime_r(&rounded, &time) == nullptr) return kNothing;
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &time);
  return text.data();
}

std::string number(double value, const char* format) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : kNothing;
}

/// A figure of a run, as its kind is written.
std::string figure_text(const RunSummary& run, const training::Figure& figure) {
  const double value = figure.of(run);
  if (!std::isfinite(value)) return kNothing;
  const std::string_view name = figure.name;
  if (name.ends_with("accuracy")) return fmt::format("{:.2f} %", 100 * value);
  if (name.ends_with("PSNR")) return fmt::format("{:.2f} dB", value);
  if (name.ends_with("images/s")) return charts::with_thousands(value, value < 100 ? 1 : 0);
  return charts::compact_number(value);
}

std::string text_or_nothing(const std::string& text) {
  return text.empty() ? kNothing : text;
}

Tone tone_of(const RunSummary& run) {
  if (run.status == "failed") return Tone::bad;
  return run.status == "interrupted" || run.status == "refused" ? Tone::dim : Tone::plain;
}

/// The four settings as they were last; with `stars`, those that were changed during the run have one and the
/// others a space in its place, so that numbers stay one below the other.
std::vector<std::string> setting_cells(const RunSummary& run, bool stars) {
  const RunSummary::AtFirst& first = run.at_first;
  const auto marked = [stars](const std::string& text, bool changed) {
    return text + (changed ? "*" : stars ? " " : "");
  };
  return {marked(text_or_nothing(run.precision), !first.precision.empty()),
          marked(text_or_nothing(run.optimizer), !first.optimizer.empty()),
          // As the float that it is, so that 0.005 is not printed as 0.00499999989.
          marked(number(run.learning_rate, "{:.6g}"), std::isfinite(first.learning_rate)),
          marked(number(run.batch, "{:.0f}"), std::isfinite(first.batch))};
}

bool has_changed(const RunSummary& run) {
  const std::vector<std::string> cells = setting_cells(run, false);
  return std::ranges::any_of(cells, [](const std::string& text) { return text.ends_with('*'); });
}

/// What stands beside steps and epochs: losses and accuracies that a run of the list has, and the speed.
std::vector<const training::Figure*> shown_figures(const std::vector<RunSummary>& list) {
  std::vector<const training::Figure*> shown;
  for (const training::Figure& figure : training::run_figures()) {
    const std::string_view name = figure.name;
    if (name == "epochs" || name == "time") continue;
    const bool always = name == "mean train loss" || name == "test loss" || name == "median images/s";
    const bool loss_or_accuracy = name.ends_with("loss") || name.ends_with("accuracy");
    if (always || (loss_or_accuracy && std::ranges::any_of(list, [&](const RunSummary& run) {
                     return std::isfinite(figure.of(run));
                   }))) {
      shown.push_back(&figure);
    }
  }
  return shown;
}

std::string table_of(const std::vector<RunSummary>& list) {
  const bool stars = std::ranges::any_of(list, has_changed);
  const std::vector<const training::Figure*> figures = shown_figures(list);
  std::vector<Column> columns{{"run", Align::left, kMostOfName},
                              {"started", Align::left},
                              {"model", Align::left},
                              {"data", Align::left},
                              {"device", Align::left},
                              {"precision", Align::left},
                              {"optimizer", Align::left},
                              {"rate"},
                              {"batch"},
                              {"steps"},
                              {"epochs"}};
  for (const training::Figure* const figure : figures) columns.push_back({figure->name});
  columns.push_back({"status", Align::left});
  Table table(columns);
  for (const RunSummary& run : list) {
    std::vector<std::string> cells{run.name, when(run.started), text_or_nothing(run.model),
                                   text_or_nothing(run.data), text_or_nothing(run.device)};
    for (std::string& cell : setting_cells(run, stars)) cells.push_back(std::move(cell));
    cells.insert(cells.end(), {charts::with_thousands(run.steps), number(run.epochs, "{:.2f}")});
    for (const training::Figure* const figure : figures) cells.push_back(figure_text(run, *figure));
    cells.push_back(run.status);
    table.add(std::move(cells), tone_of(run));
  }
  return table.text() + (stars ? "* changed during the run; --json - says what it was at first\n" : "");
}

std::string difference_table(const std::vector<runs::Run>& list,
                             const std::vector<runs::SettingDifference>& differences) {
  std::vector<Column> columns{{"setting", Align::left}};
  for (const runs::Run& run : list) columns.push_back({runs::run_name(run.folder), Align::left});
  Table table(columns);
  for (const runs::SettingDifference& difference : differences) {
    std::vector<std::string> cells{difference.key};
    for (std::size_t run = 0; run < list.size(); ++run) cells.push_back(runs::shown_value(difference, run));
    table.add(std::move(cells));
  }
  return table.text();
}

/// An array, with null for nothing.
nlohmann::json json_of(const std::vector<std::optional<std::string>>& values) {
  nlohmann::json array = nlohmann::json::array();
  for (const auto& value : values) array.push_back(value ? nlohmann::json(*value) : nlohmann::json(nullptr));
  return array;
}

int show_differences(const RunsArguments& arguments, const fs::path& folder) {
  const std::vector<runs::Run> list = read_runs(arguments.diff, folder);
  const std::vector<runs::SettingDifference> differences = runs::settings_that_differ(list);
  if (arguments.json != "-") {
    files::put(differences.empty() ? "all settings are the same\n" : difference_table(list, differences));
  }
  nlohmann::json report{{files::kFormat, files::kRunListFormat.number},
                        {"runs", nlohmann::json::array()},
                        {"settings", nlohmann::json::object()},
                        {"at_first", nlohmann::json::object()}};
  for (const runs::Run& run : list) report["runs"].push_back(runs::run_name(run.folder));
  for (const runs::SettingDifference& difference : differences) {
    report["settings"][difference.key] = json_of(difference.values);
    const auto& first = difference.at_first;
    if (std::ranges::any_of(first, [](const auto& value) { return value.has_value(); })) {
      report["at_first"][difference.key] = json_of(first);
    }
  }
  write_output(arguments.json, runs::json_text(report));
  return 0;
}

/// Those that windows have recorded by themselves; none where that folder cannot be read.
std::vector<RunSummary> user_runs() {
  try {
    const fs::path folder = runs::user_runs_folder();
    std::error_code error;
    return fs::exists(folder, error) ? runs::list_runs(folder) : std::vector<RunSummary>();
  } catch (const core::Error& error) {
    files::warn(error.what());
    return {};
  }
}

int show(const RunsArguments& arguments) {
  const runs::RunOrder order = order_named(arguments.sort);
  check_output_file("--json", arguments.json);
  const fs::path folder = arguments.folder.empty() ? kRunsFolder : arguments.folder;
  if (!arguments.diff.empty()) return show_differences(arguments, folder);

  std::vector<RunSummary> list;
  std::error_code error;
  // Without any training yet there is no folder, which is no error.
  if (!arguments.folder.empty() || fs::exists(folder, error)) list = runs::list_runs(folder);
  if (arguments.folder.empty()) {
    for (RunSummary& run : user_runs()) list.push_back(std::move(run));
  }
  runs::sort_runs(list, order);
  for (const RunSummary& run : list) print_notes(run.notes);
  if (arguments.json != "-") {
    files::put(list.empty() ? fmt::format("there are no runs in {}\n", files::sayable(folder.string()))
                            : table_of(list));
  }
  nlohmann::json report = nlohmann::json::array();
  for (const RunSummary& run : list) report.push_back(runs::json_of(run));
  write_output(arguments.json, runs::json_text({{files::kFormat, files::kRunListFormat.number},
                                                {"runs", std::move(report)}}));
  return 0;
}

}  // namespace

Run runs(CLI::App& app) {
  const auto a = std::make_shared<RunsArguments>();
  app.add_option("folder", a->folder, "Folder that holds runs (default: runs, and the user's)")
      ->type_name("FOLDER");
  app.add_option("--sort", a->sort, "time, test_loss or speed")->capture_default_str();
  app.add_option("--diff", a->diff, "Show the settings in which these runs differ")
      ->type_name("RUN")
      ->expected(2, kMostRuns);
  app.add_option("--json", a->json, "Write the result as JSON; - for standard output")->type_name("FILE");
  return [a] { return show(*a); };
}

}  // namespace warpscope::app
