#include "gpu/runs/settings.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "gpu/runs/text.h"

namespace warpscope::runs {
namespace {

using nlohmann::json;
using Settings = std::vector<std::pair<std::string, json>>;
using Course = std::pair<json, json>;  ///< a setting when the run started, and now or at its end

void flatten(const json& value, const std::string& key, Settings& settings) {
  if (!value.is_object() || value.empty()) {
    settings.emplace_back(key, value);
    return;
  }
  for (const auto& [name, member] : value.items()) flatten(member, fmt::format("{}.{}", key, name), settings);
}

Settings settings_in(const json& head, const char* object) {
  Settings settings;
  const auto configuration = head.find(object);
  if (configuration == head.end() || !configuration->is_object()) return settings;
  for (const auto& [name, value] : configuration->items()) flatten(value, name, settings);
  // Keys with dots in them come where they belong.
  std::sort(settings.begin(), settings.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return settings;
}

}  // namespace

std::string setting_text(const json& value) {
  if (value.is_string()) return printable(value.get_ref<const std::string&>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    const auto single = static_cast<float>(number);
    return static_cast<double>(single) == number ? fmt::format("{}", single) : fmt::format("{}", number);
  }
  return printable(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

static std::string course_text(const Course& course) {
  const std::string last = setting_text(course.second);
  return course.first == course.second ? last : fmt::format("{} -> {}", setting_text(course.first), last);
}

Settings settings_of(const json& head) {
  return settings_in(head, "configuration");
}

std::vector<SettingDifference> settings_that_differ(const std::vector<Run>& runs) {
  std::map<std::string, std::vector<std::optional<Course>>> all;
  const auto values_of = [&](const std::string& key) -> auto& {
    auto& values = all[key];
    values.resize(runs.size());
    return values;
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (auto& [key, value] : settings_of(runs[i].head)) values_of(key)[i] = Course{value, value};
    for (auto& [key, value] : settings_in(runs[i].head, "current")) {
      auto& course = values_of(key)[i];
      course = Course{course ? course->first : value, value};
    }
  }
  std::vector<SettingDifference> differences;
  for (const auto& entry : all) {
    const std::vector<std::optional<Course>>& values = entry.second;
    if (std::all_of(values.begin(), values.end(), [&](const auto& value) { return value == values.front(); }))
      continue;
    SettingDifference difference{printable(entry.first), {}};
    for (const auto& value : values) {
      difference.values.push_back(value ? std::optional(course_text(*value)) : std::nullopt);
    }
    differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace warpscope::runs
