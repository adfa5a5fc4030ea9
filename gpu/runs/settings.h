#pragma once
// The settings of runs, and where they differ.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/runs/run_reader.h"

namespace warpscope::runs {

/// A setting of one run by its dotted key, as the run had it last ("current" in run.json, where it tells), as
/// setting_text() writes it.
struct Setting {
  std::string key;
  std::string value;
  std::optional<std::string> at_first;  ///< if it was changed during the run: the value before
};

/// A setting by its dotted key ("selection.conv2d.forward", "learning_rate") with a value for each run;
/// nothing for a run that does not have it. Values are those that the run had last, as setting_text() writes
/// them.
struct SettingDifference {
  std::string key;
  std::vector<std::optional<std::string>> values;
  /// For each run, if it was changed during the run: the value before.
  std::vector<std::optional<std::string>> at_first;

  bool operator==(const SettingDifference&) const = default;
};

/// What a table shows of a run: "0.01", "0.01 (at first 0.005)" if it was changed during the run, "-" if the
/// run has none.
std::string shown_value(const Setting& setting);
std::string shown_value(const SettingDifference& difference, std::size_t run);

/// A value in words: text as it is, numbers with the fewest digits that mean the same (to a float, where the
/// value is one: 0.004999999888241291 is "0.005"), "yes" and "no", lists and the rest as JSON.
std::string setting_text(const nlohmann::json& value);

/// All settings of a run.json, in the order of their keys.
std::vector<Setting> settings_of(const nlohmann::json& head);

/// Those that are not the same in all of `runs`, in the order of their keys: as the runs had them last
/// ("current" in run.json, where it tells), or at first, if some changed them on the way. Numbers are
/// compared as numbers.
std::vector<SettingDifference> settings_that_differ(const std::vector<Run>& runs);

}  // namespace warpscope::runs
