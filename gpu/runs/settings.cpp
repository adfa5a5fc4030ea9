#include "gpu/runs/settings.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/utf8.h"

namespace warpscope::runs {
namespace {

using nlohmann::json;
using Values = std::map<std::string, json>;

void flatten(const json& value, const std::string& key, Values& values) {
  if (!value.is_object() || value.empty()) {
    values.emplace(key, value);
    return;
  }
  for (const auto& [name, member] : value.items()) flatten(member, fmt::format("{}.{}", key, name), values);
}

/// The settings of an object of run.json by their dotted keys.
Values values_in(const json& head, const char* object) {
  Values values;
  const auto found = head.find(object);
  if (found == head.end() || !found->is_object()) return values;
  for (const auto& [name, value] : found->items()) flatten(value, name, values);
  return values;
}

/// A setting of one run.
struct History {
  std::optional<json> last;
  std::optional<json> first;  ///< if it was another one

  bool operator==(const History&) const = default;
};

/// What "current" does not tell is as it was at first. What only it tells was not known at first: a later
/// version, which went on with the run, has more settings.
std::map<std::string, History> histories_of(const json& head) {
  std::map<std::string, History> histories;
  for (auto& [key, value] : values_in(head, "configuration")) histories[key].last = std::move(value);
  for (auto& [key, value] : values_in(head, "current")) {
    History& history = histories[key];
    if (history.last == value) continue;
    history.first = std::exchange(history.last, std::move(value));
  }
  return histories;
}

std::optional<std::string> text_of(const std::optional<json>& value) {
  return value ? std::optional(setting_text(*value)) : std::nullopt;
}

std::string shown(const std::string& value, const std::optional<std::string>& at_first) {
  return at_first ? fmt::format("{} (at first {})", value, *at_first) : value;
}

}  // namespace

std::string setting_text(const json& value) {
  if (value.is_string()) return files::escaped(value.get_ref<const std::string&>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    const auto single = static_cast<float>(number);
    return static_cast<double>(single) == number ? fmt::format("{}", single) : fmt::format("{}", number);
  }
  return files::escaped(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::vector<Setting> settings_of(const json& head) {
  std::vector<Setting> settings;
  for (const auto& [key, history] : histories_of(head)) {
    settings.push_back({files::escaped(key), setting_text(*history.last), text_of(history.first)});
  }
  return settings;
}

std::string shown_value(const Setting& setting) {
  return shown(setting.value, setting.at_first);
}

std::string shown_value(const SettingDifference& difference, std::size_t run) {
  return shown(difference.values[run].value_or("-"), difference.at_first[run]);
}

std::vector<SettingDifference> settings_that_differ(const std::vector<Run>& runs) {
  std::map<std::string, std::vector<History>> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (auto& [key, history] : histories_of(runs[i].head)) {
      auto& histories = all[key];
      histories.resize(runs.size());
      histories[i] = std::move(history);
    }
  }
  std::vector<SettingDifference> differences;
  for (const auto& entry : all) {
    const std::vector<History>& histories = entry.second;
    if (std::all_of(histories.begin(), histories.end(),
                    [&](const History& history) { return history == histories.front(); }))
      continue;
    SettingDifference difference{files::escaped(entry.first), {}, {}};
    for (const History& history : histories) {
      difference.values.push_back(text_of(history.last));
      difference.at_first.push_back(text_of(history.first));
    }
    differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace warpscope::runs
