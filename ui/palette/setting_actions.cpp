#include "ui/palette/setting_actions.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/settings/numbers.h"
#include "gpu/settings/setting.h"
#include "ui/settings/setting_spec.h"

namespace warpscope::ui {
namespace {

using training::Setting;
using training::TrainerState;
using training::TrainingSettings;

// The part of the settings that commands can change, as it is now.
TrainingSettings settings_now(const ActionScene& scene) {
  TrainingSettings fields;
  fields.optimizer = scene.optimizer;
  fields.augment = scene.snapshot.augment;
  fields.schedule = scene.snapshot.schedule;
  fields.spikes.threshold = scene.snapshot.spike_threshold;
  fields.batch = scene.snapshot.batch;
  fields.precision = scene.selection.precision;
  fields.select = plan::selection_text(scene.selection);
  return fields;
}

// The command that makes `before` `after`; nothing if no command can, or nothing differs. Throws core::BadInput.
std::optional<training::Command> command_for(const ActionScene& scene, const TrainingSettings& before,
                                             const TrainingSettings& after) {
  const core::DeviceInfo& device = scene.snapshot.device;
  if (!(before.optimizer == after.optimizer)) {
    const bool other_rule = before.optimizer.rule != after.optimizer.rule;
    return training::SetOptimizer{other_rule ? with_rule(before.optimizer, after.optimizer.rule)
                                             : after.optimizer};
  }
  if (!(before.augment == after.augment)) return training::SetAugment{after.augment};
  if (!(before.schedule == after.schedule)) {
    check(after.schedule);
    return training::SetSchedule{after.schedule};
  }
  if (!(before.spikes == after.spikes)) return training::SetSpikeThreshold{after.spikes.threshold};
  if (before.batch != after.batch) return training::SetBatch{after.batch};
  if (before.precision != after.precision) {
    plan::check_precision(device, *after.precision);
    return training::Select{plan::with_precision(scene.selection, *after.precision, device)};
  }
  if (before.select == after.select) return std::nullopt;
  plan::Selection selection = scene.selection;
  plan::apply(selection, after.select, device);
  return training::Select{selection};
}

// Which of the table's rows commands can change while a training runs.
bool changes_in_run(const Setting& setting) {
  const std::string_view table = setting.table, name = setting.name;
  return table == "optimizer" || table == "augment" || table == "schedule" || name == "precision" ||
         name == "select" || name == "zscore";
}

bool belongs_to_rule(const Setting& setting, const training::OptimizerSettings& optimizer) {
  if (setting.field.number == nullptr) return true;
  const auto numbers = training::numbers_of(optimizer.rule, optimizer.per_sample);
  return std::find(numbers.begin(), numbers.end(), &setting) != numbers.end();
}

// "learning rate", "optimizer": keys such as "name" and "text" say nothing without their table.
std::string shown_name(const Setting& setting) {
  if (setting.field.kind != training::Kind::text) return label_of(setting);
  std::string name = setting.name;
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks), last = text.find_last_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

// How many characters of `query` name the setting, with the blank or sign behind the name; 0 if it does not.
std::size_t named_length(const std::string& query, const Setting& setting) {
  std::size_t longest = 0;
  for (const std::string& name : {shown_name(setting), option_of(setting), std::string(setting.name)}) {
    const bool ends = query.size() > name.size() && query.find_first_of(" =", name.size()) == name.size();
    if (ends && query.starts_with(lower(name))) longest = std::max(longest, name.size() + 1);
  }
  return longest;
}

// Sentences of the window's own fields for numbers, of the command line for the others.
std::string value_refusal(const Setting& setting, const std::string& text, training::Value& value) {
  if (setting.field.kind == training::Kind::integer || setting.field.kind == training::Kind::real) {
    const ValueSpec spec = spec_of(setting);
    const auto number = read_field(text, spec.zero_text);
    if (!number || !is_valid(spec.limits, *number)) {
      return fmt::format("{} must be {}", spec.label, range_text(spec.limits, number.value_or(0)));
    }
    if (spec.limits.integer) {
      value = static_cast<std::int64_t>(*number);
    } else {
      value = *number;
    }
  }
  if (setting.field.kind == training::Kind::boolean) {
    if (lower(text) == "on" || lower(text) == "true") value = true;
    if (lower(text) == "off" || lower(text) == "false") value = false;
  }
  const std::string objection = check_value(setting, value);
  return objection.empty() ? "" : shown_name(setting) + objection;
}

std::string value_text(const Setting& setting, const TrainingSettings& fields) {
  const auto value = setting.field.get(fields);
  if (!value) return "";
  if (const auto* const on = std::get_if<bool>(&*value)) return *on ? "on" : "off";
  const auto* const number = std::get_if<double>(&*value);
  const std::string text = number != nullptr ? fmt::format("{:g}", *number) : training::to_string(*value);
  const bool off = *setting.zero != '\0' && number != nullptr && *number == 0;
  return off ? setting.zero : text;
}

// Sets the field and finds the command, or the refusal.
void complete(Action& action, const ActionScene& scene, const Setting& setting, const std::string& text) {
  if (!changes_in_run(setting)) {
    action.why_not = fmt::format("\"{}\" can only be set when a training starts.", shown_name(setting));
    return;
  }
  if (!belongs_to_rule(setting, scene.optimizer)) {
    action.why_not =
        fmt::format("The optimizer {} has no {}.", ops::to_string(scene.optimizer.rule), shown_name(setting));
    return;
  }
  training::Value value = parse_value(setting, text);
  action.why_not = as_sentence(value_refusal(setting, text, value));
  if (!action.why_not.empty()) return;
  const TrainingSettings before = settings_now(scene);
  TrainingSettings after = before;
  std::optional<training::Command> command;
  action.why_not = refusal_of([&] {
    setting.field.set(after, value);
    command = command_for(scene, before, after);
  });
  if (!action.why_not.empty()) return;
  action.note = command ? fmt::format("now {}", value_text(setting, before)) : "now";
  if (setting.field.kind == training::Kind::text && std::string_view(setting.name) == "select")
    action.note.clear();
  action.run = [send = scene.send, command] {
    if (command) send(*command);
  };
}

}  // namespace

std::string why_no_setting(const ActionScene& scene) {
  if (!scene.why_no_steering.empty()) return scene.why_no_steering;
  switch (scene.snapshot.state) {
    case TrainerState::preparing:
      return "The training is still being prepared.";
    case TrainerState::finished:
      return "The training has ended; Reset starts it again.";
    case TrainerState::failed:
      return "The training has failed.";
    default:
      return {};
  }
}

std::string refusal_of(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const core::BadInput& error) {
    return as_sentence(error.what());
  }
  return {};
}

std::string as_sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (text.back() != '.') text += '.';
  return text;
}

void add_settings(const ActionScene& scene, std::vector<Action>& actions) {
  const std::string refusal = why_no_setting(scene);
  const TrainingSettings now = settings_now(scene);
  for (const Setting& setting : training::settings()) {
    if (!changes_in_run(setting) || !belongs_to_rule(setting, scene.optimizer)) continue;
    const std::string value = std::string_view(setting.name) == "select" ? "" : value_text(setting, now);
    actions.push_back({.id = fmt::format("set.{}", setting.name),
                       .title = fmt::format("Set {} ...", shown_name(setting)),
                       .group = "Settings",
                       .keys = {},
                       .note = value,
                       .why_not = refusal,
                       .fill = shown_name(setting) + " ",
                       .run = {}});
  }
  for (const ops::RuleRow& row : ops::kUpdateRules) {
    actions.push_back({.id = fmt::format("optimizer={}", row.name),
                       .title = fmt::format("Optimizer: {}", row.name),
                       .group = "Settings",
                       .keys = {},
                       .note = row.rule == scene.optimizer.rule ? "now" : "",
                       .why_not = refusal,
                       .fill = {},
                       .run = [send = scene.send, optimizer = scene.optimizer, rule = row.rule] {
                         if (rule != optimizer.rule) send(training::SetOptimizer{with_rule(optimizer, rule)});
                       }});
  }
}

std::vector<Action> typed_settings(std::string_view query, const ActionScene& scene) {
  query = trimmed(query);
  if (query.starts_with("--")) query.remove_prefix(2);
  const std::string text = lower(query);
  const Setting* found = nullptr;
  std::size_t length = 0;
  for (const Setting& setting : training::settings()) {
    const std::size_t named = named_length(text, setting);
    if (named <= length) continue;
    found = &setting;
    length = named;
  }
  if (found == nullptr) return {};
  const std::string value(trimmed(query.substr(length)));
  if (value.empty()) return {};
  Action action{.id = fmt::format("set.{}={}", found->name, value),
                .title = fmt::format("Set {} to {}", shown_name(*found), value),
                .group = "Settings",
                .keys = {},
                .note = {},
                .why_not = why_no_setting(scene),
                .fill = {},
                .run = {}};
  if (action.why_not.empty()) complete(action, scene, *found, value);
  return {std::move(action)};
}

}  // namespace warpscope::ui
