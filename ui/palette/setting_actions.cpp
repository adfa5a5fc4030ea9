#include "ui/palette/setting_actions.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/settings/setting.h"
#include "ui/settings/setting_spec.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::Changes;
using training::Setting;
using training::TrainingSettings;

// With the variants as they will be.
TrainingSettings settings_now(const ActionScene& scene) {
  TrainingSettings fields = scene.settings;
  fields.precision = scene.selection.precision;
  fields.select = plan::selection_text(scene.selection);
  return fields;
}

// The command that gives `setting` the value that it has in `after`. Throws core::BadInput.
training::Command command_for(const ActionScene& scene, const Setting& setting,
                              const TrainingSettings& after) {
  const plan::Machine machine = machine_of(scene.snapshot);
  const TrainingSettings& before = scene.settings;
  if (setting.changes != Changes::by_select) {
    TrainingSettings wanted = after;
    if (after.optimizer.rule != before.optimizer.rule)
      wanted.optimizer = with_rule(before.optimizer, after.optimizer.rule);
    return training::Change{difference(settings_now(scene), wanted)};
  }
  if (after.precision != scene.selection.precision) {
    plan::check_precision(machine, *after.precision);
    return training::Select{plan::with_precision(scene.selection, *after.precision, machine)};
  }
  plan::Selection selection = scene.selection;
  plan::apply(selection, after.select, machine);
  return training::Select{selection};
}

bool changes_in_run(const Setting& setting) {
  return setting.changes == Changes::while_training || setting.changes == Changes::by_select;
}

bool belongs_to_rule(const Setting& setting, const training::OptimizerSettings& optimizer) {
  if (setting.field.number == nullptr) return true;
  const auto numbers = training::numbers_of(optimizer.rule, optimizer.per_sample);
  return std::find(numbers.begin(), numbers.end(), &setting) != numbers.end();
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
  for (const std::string& name : {label_of(setting), option_of(setting), std::string(setting.name)}) {
    const bool ends = query.size() > name.size() && query.find_first_of(" =", name.size()) == name.size();
    if (ends && query.starts_with(lower(name))) longest = std::max(longest, name.size() + 1);
  }
  return longest;
}

// Sentences of the window's own fields for numbers, of the command line for the others.
std::string value_refusal(const Setting& setting, const std::string& text, training::Value& value) {
  if (setting.field.kind == training::Kind::integer || setting.field.kind == training::Kind::real) {
    const ValueSpec spec = spec_of(setting);
    const TypedValue typed = read_field(spec, text);
    if (!typed.refusal.empty()) return typed.refusal;
    if (spec.limits.integer) {
      value = static_cast<std::int64_t>(typed.value);
    } else {
      value = typed.value;
    }
  }
  if (setting.field.kind == training::Kind::boolean) {
    if (lower(text) == "on" || lower(text) == "true") value = true;
    if (lower(text) == "off" || lower(text) == "false") value = false;
  }
  const std::string objection = check_value(setting, value);
  return objection.empty() ? "" : label_of(setting) + objection;
}

std::string value_text(const Setting& setting, const TrainingSettings& fields) {
  const auto value = setting.field.get(fields);
  return value ? shown(setting, *value) : "";
}

// Sets the field and finds the command, or the refusal.
void complete(Action& action, const ActionScene& scene, const Setting& setting, const std::string& text) {
  if (!changes_in_run(setting) && scene.start_with) {
    training::Value value = parse_value(setting, text);
    // A network's file is read where it is chosen, not while its name is typed.
    const bool is_file = setting.settle != nullptr && text.ends_with(".toml");
    if (!is_file) action.why_not = sentence(value_refusal(setting, text, value));
    action.title = fmt::format("New training with {} {} ...", label_of(setting), text);
    // A field or a flag also takes other words, such as "on": here as settings have them.
    const bool is_text = setting.field.kind == training::Kind::text;
    action.run = [start = scene.start_with, name = std::string(setting.name),
                  taken = is_text ? text : training::to_string(value)] { start(name, taken); };
    return;
  }
  if (!changes_in_run(setting)) {
    action.why_not = fmt::format("\"{}\" can only be set when a training starts.", label_of(setting));
    return;
  }
  if (!belongs_to_rule(setting, scene.settings.optimizer)) {
    action.why_not = fmt::format("The optimizer {} has no {}.", ops::to_string(scene.settings.optimizer.rule),
                                 label_of(setting));
    return;
  }
  training::Value value = parse_value(setting, text);
  action.why_not = sentence(value_refusal(setting, text, value));
  if (!action.why_not.empty()) return;
  const TrainingSettings before = settings_now(scene);
  TrainingSettings after = before;
  std::optional<training::Command> command;
  action.why_not = refusal_of([&] {
    setting.field.set(after, value);
    if (!(after == before)) command = command_for(scene, setting, after);
  });
  if (!action.why_not.empty()) return;
  const bool is_select = std::string_view(setting.name) == "select";
  if (!is_select) action.note = command ? fmt::format("now {}", value_text(setting, before)) : "now";
  action.run = [send = scene.send, command] {
    if (command) send(*command);
  };
}

}  // namespace

std::string why_no_setting(const ActionScene& scene) {
  if (!scene.why_no_steering.empty()) return scene.why_no_steering;
  return why_it_stands(scene.snapshot);
}

std::string why_no_setting(const ActionScene& scene, const Setting& setting) {
  const bool ended = scene.snapshot.state == training::TrainerState::finished;
  if (ended && changes_in_run(setting) && !setting.shapes_weights) return scene.why_no_steering;
  return why_no_setting(scene);
}

std::string refusal_of(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const core::BadInput& error) {
    return sentence(error.what());
  }
  return {};
}

void add_settings(const ActionScene& scene, std::vector<Action>& actions) {
  const std::string refusal = why_no_setting(scene);
  const TrainingSettings now = settings_now(scene);
  for (const Setting& setting : training::settings()) {
    if (!changes_in_run(setting) || !belongs_to_rule(setting, scene.settings.optimizer)) continue;
    const std::string value = std::string_view(setting.name) == "select" ? "" : value_text(setting, now);
    actions.push_back({.id = fmt::format("set.{}", setting.name),
                       .title = fmt::format("Set {} ...", label_of(setting)),
                       .group = "Settings",
                       .note = value,
                       .why_not = why_no_setting(scene, setting),
                       .fill = label_of(setting) + " "});
  }
  for (const ops::RuleRow& row : ops::kUpdateRules) {
    actions.push_back({.id = fmt::format("optimizer={}", row.name),
                       .title = fmt::format("Optimizer: {}", row.name),
                       .group = "Settings",
                       .note = row.rule == scene.settings.optimizer.rule ? "now" : "",
                       .why_not = refusal,
                       .run = [send = scene.send, settings = scene.settings, rule = row.rule] {
                         if (rule == settings.optimizer.rule) return;
                         TrainingSettings other = settings;
                         other.optimizer = with_rule(settings.optimizer, rule);
                         send(training::Change{difference(settings, other)});
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
                .title = fmt::format("Set {} to {}", label_of(*found), value),
                .group = "Settings",
                .why_not = why_no_setting(scene, *found)};
  if (action.why_not.empty()) complete(action, scene, *found, value);
  return {std::move(action)};
}

}  // namespace warpscope::ui
