#include "gpu/settings/optimizer_settings.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/settings/setting.h"

namespace warpscope::training {
namespace {

using ops::UpdateRule;

/// The rows of all numbers.
const std::vector<const Setting*>& numbers() {
  static const std::vector<const Setting*> rows = [] {
    std::vector<const Setting*> list;
    for (const Setting& row : settings()) {
      if (row.field.number != nullptr) list.push_back(&row);
    }
    return list;
  }();
  return rows;
}

bool names(const ops::HyperParameter& parameter, std::string_view key) {
  return parameter.key != nullptr && parameter.key == key;
}

/// The rule's formula holds the number `key`.
bool has(const ops::RuleRow& rule, std::string_view key) {
  return names(rule.first_decay, key) || names(rule.second_decay, key) || names(rule.epsilon, key);
}

/// The number belongs to the rule: it is its own, or that of all.
bool applies(UpdateRule rule, std::string_view key) {
  const bool of_some = std::any_of(std::begin(ops::kUpdateRules), std::end(ops::kUpdateRules),
                                   [key](const ops::RuleRow& row) { return has(row, key); });
  return !of_some || has(ops::row_of(rule), key);
}

bool is_clipping(std::string_view key) {
  return key == "clip_norm" || key == "clip_value";
}

void check_number(const Setting& row, float number) {
  const auto value = static_cast<double>(number);
  const Range& range = row.range;
  const bool below = range.below_most ? value < range.most : value <= range.most;
  if (std::isfinite(value) && value >= range.least && below) return;
  throw core::BadInput(fmt::format("{} {} of the optimizer is not valid; valid: from {:g} to {}{:g}",
                                   label_of(row), number, range.least, range.below_most ? "below " : "",
                                   range.most));
}

/// The value of a number of the rule's formula; 0 where it has none.
float value_of(const OptimizerSettings& settings, const ops::HyperParameter& parameter) {
  return parameter.key == nullptr ? 0.0f : settings.*find_number(parameter.key)->field.number;
}

void put_standard(const ops::HyperParameter& parameter, OptimizerSettings& settings) {
  if (parameter.key != nullptr) settings.*find_number(parameter.key)->field.number = parameter.standard;
}

}  // namespace

OptimizerSettings defaults_of(UpdateRule rule) {
  const ops::RuleRow& row = ops::row_of(rule);
  OptimizerSettings settings;
  settings.rule = rule;
  settings.learning_rate = row.learning_rate;
  settings.weight_decay = row.weight_decay;
  for (const ops::HyperParameter& parameter : {row.first_decay, row.second_decay, row.epsilon}) {
    put_standard(parameter, settings);
  }
  return settings;
}

OptimizerSettings with_rule(const OptimizerSettings& settings, UpdateRule rule) {
  OptimizerSettings result = defaults_of(rule);
  result.clip_norm = settings.clip_norm;
  result.clip_value = settings.clip_value;
  result.joint = settings.joint;
  result.accumulate = settings.accumulate;
  result.per_sample = settings.per_sample;
  return result;
}

std::vector<const Setting*> numbers_of(UpdateRule rule, bool per_sample) {
  std::vector<const Setting*> rows;
  for (const Setting* const row : numbers()) {
    if (applies(rule, row->key) && !(per_sample && is_clipping(row->key))) rows.push_back(row);
  }
  return rows;
}

const Setting* find_number(std::string_view key) {
  const auto& rows = numbers();
  const auto found = std::ranges::find_if(rows, [key](const Setting* row) { return key == row->key; });
  return found == rows.end() ? nullptr : *found;
}

void check(const OptimizerSettings& settings) {
  for (const Setting* const row : numbers()) check_number(*row, settings.*row->field.number);
  if (settings.rule == UpdateRule::nesterov && settings.momentum == 0) {
    throw core::BadInput(
        "nesterov looks ahead along its velocity, and with momentum 0 there is none; take sgd instead");
  }
  if (settings.accumulate < 1 || settings.accumulate > kMostMicroBatches) {
    throw core::BadInput(fmt::format("accumulation over {} micro-batches is not valid; valid: from 1 to {}",
                                     settings.accumulate, kMostMicroBatches));
  }
  if (settings.per_sample && settings.accumulate != 1) {
    throw core::BadInput(
        fmt::format("accumulation over {} micro-batches is not valid with per_sample, which updates once an "
                    "image; valid: 1",
                    settings.accumulate));
  }
}

void fill_control(const OptimizerSettings& settings, ops::step::StepControl& control) {
  const ops::RuleRow& row = ops::row_of(settings.rule);
  control.learning_rate = settings.learning_rate;
  control.first_decay = value_of(settings, row.first_decay);
  control.second_decay = value_of(settings, row.second_decay);
  control.epsilon = value_of(settings, row.epsilon);
  control.weight_decay = settings.weight_decay;
  control.clip_norm = settings.per_sample ? 0.0f : settings.clip_norm;
  control.clip_value = settings.per_sample ? 0.0f : settings.clip_value;
  control.joint = settings.joint;
}

}  // namespace warpscope::training
