#pragma once
// The list of runs as text.

#include <ctime>
#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"
#include "gpu/runs/summary.h"
#include "ui/panels/runs/run_loader.h"

namespace warpscope::ui {

/// When a run started, in local time, as short as can be: "14:03" today, "Mon 14:03" within six days, "01-31
/// 14:03" this year, else "2025-01-31". "-" if nothing tells.
std::string started_text(double started, std::time_t now);

/// The running training in the form of the list. `folder` is what its run folder tells, nullptr without one:
/// when the run started, and what was changed since.
runs::RunSummary summary_of(const training::Snapshot& snapshot, const runs::RunSummary* folder);

/// A run's name where the time at which it began stands beside it: "mlp_digits" of one that a window has named by that
/// time, "2026-11-29_13-38-23_mlp_digits".
std::string row_name(const std::string& name);

/// Where a branch leaves the present training, and what was changed in it there: "from step 1,204: batch: 64 -> 32".
std::string root_text(const training::LeftTraining& branch);

/// A row of the table of settings: a key and what each run has, as runs::shown_value() says.
struct SettingRow {
  std::string key;
  std::vector<std::string> values;
  std::vector<bool> differs;  ///< from the first run, the present one
};
std::vector<SettingRow> setting_rows(const RunSettings& settings);

}  // namespace warpscope::ui
