#pragma once
// The settings of runs, and where they differ.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/runs/run_reader.h"

namespace warpscope::runs {

/// A setting by its dotted key ("selection.conv2d.forward", "learning_rate") with a value for each run; nothing for a
/// run that does not have it. Values are as setting_text() writes them.
struct SettingDifference {
  std::string key;
  std::vector<std::optional<std::string>> values;
};

/// A value in words: text as it is, numbers with the fewest digits that mean the same (to a float, where the value is
/// one: 0.004999999888241291 is "0.005"), "yes" and "no", lists and the rest as JSON.
std::string setting_text(const nlohmann::json& value);

/// The settings of "configuration" in run.json, in the order of their keys.
std::vector<std::pair<std::string, nlohmann::json>> settings_of(const nlohmann::json& head);

/// Those that are not the same in all of `runs`, in the order of their keys. Numbers are compared as numbers. A setting that
/// was changed during the run ("current" in run.json) reads "adam -> sgd".
std::vector<SettingDifference> settings_that_differ(const std::vector<Run>& runs);

}  // namespace warpscope::runs
