#include "ui/panels/runs/run_rows.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "ui/text/numbers.h"

namespace warpscope::ui {

std::string started_text(double started, std::time_t now) {
  if (!std::isfinite(started) || std::abs(started) > 1e11) return "-";
  constexpr double kDay = 86400;
  const auto at = static_cast<std::time_t>(started);
  std::tm then{}, today{};
  if (::localtime_r(&at, &then) == nullptr || ::localtime_r(&now, &today) == nullptr) return "-";
  if (then.tm_year == today.tm_year && then.tm_yday == today.tm_yday) return fmt::format("{:%H:%M}", then);
  const double age = std::difftime(now, at);
  if (age >= 0 && age < 6 * kDay) return fmt::format("{:%a %H:%M}", then);
  if (then.tm_year == today.tm_year) return fmt::format("{:%m-%d %H:%M}", then);
  return fmt::format("{:%Y-%m-%d}", then);
}

runs::RunSummary summary_of(const training::Snapshot& snapshot, const runs::RunSummary* folder) {
  runs::RunSummary run;
  const auto number = [](auto value, bool there) {
    return there ? static_cast<double>(value) : runs::RunSummary::kNone;
  };
  run.name = snapshot.run_dir.empty() ? "this training"
                                      : std::filesystem::path(snapshot.run_dir).filename().string();
  run.folder = snapshot.run_dir;
  run.started = number(snapshot.started, snapshot.started > 0);
  if (folder != nullptr) {
    run.started = folder->started;  // one that was resumed began before this process
    run.at_first = folder->at_first;
  }
  run.model = snapshot.model;
  run.data = snapshot.data_name;
  run.device = snapshot.device.name;
  run.precision = core::to_string(snapshot.selection.precision);
  run.optimizer = ops::to_string(snapshot.settings->optimizer.rule);
  run.learning_rate = number(snapshot.settings->optimizer.learning_rate, snapshot.settings->batch > 0);
  run.batch = number(snapshot.settings->batch, snapshot.settings->batch > 0);
  static_cast<training::RunFigures&>(run) = snapshot.figures;
  if (run.steps == 0) run.epochs = run.seconds = runs::RunSummary::kNone;
  run.status = training::to_string(snapshot.state);
  return run;
}

std::string row_name(const std::string& name) {
  constexpr std::string_view kStamp = "0000-00-00_00-00-00_";  // runs::name_of_user_run()
  if (name.size() <= kStamp.size()) return name;
  const auto is_of_stamp = [](char of_stamp, char letter) {
    return of_stamp == '0' ? letter >= '0' && letter <= '9' : letter == of_stamp;
  };
  const bool stamped = std::equal(kStamp.begin(), kStamp.end(), name.begin(), is_of_stamp);
  return stamped ? name.substr(kStamp.size()) : name;
}

std::string root_text(const training::LeftTraining& branch) {
  if (!branch.from) return "from first weights of its own";
  const std::string step = with_thousands(*branch.from);
  if (!branch.changed.empty()) return fmt::format("from step {}: {}", step, branch.changed);
  return *branch.from == branch.step ? "where the present training goes on from" : "from step " + step;
}

std::vector<SettingRow> setting_rows(const RunSettings& settings) {
  std::vector<SettingRow> rows;
  for (const runs::SettingDifference& difference : settings.differences) {
    SettingRow row;
    row.key = difference.key;
    for (std::size_t run = 0; run < difference.values.size(); ++run) {
      row.values.push_back(runs::shown_value(difference, run));
      row.differs.push_back(row.values.back() != row.values.front());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace warpscope::ui
