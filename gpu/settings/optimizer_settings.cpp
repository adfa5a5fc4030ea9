#include "gpu/settings/optimizer_settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/settings/numbers.h"

namespace warpscope::training {
namespace {

using ops::UpdateRule;

constexpr const char* kWhere = "the optimizer";
constexpr int kMostMicroBatches = 65536;

/// Order of the table below.
enum FieldIndex : std::uint8_t {
  kLearningRate,
  kMomentum,
  kBeta1,
  kBeta2,
  kAlpha,
  kEpsilon,
  kWeightDecay,
  kClipNorm,
  kClipValue,
  kFieldCount,
};

constexpr std::array<OptimizerField, kFieldCount> kFields{{
    {"learning_rate", "learning rate", "Length of an update along its direction.",
     &OptimizerSettings::learning_rate, 0, 1e6f, false, 1e-6f, 1, true},
    {"momentum", "momentum", "Share of the velocity that each step keeps.", &OptimizerSettings::momentum, 0,
     1, true, 0, 0.999f, false},
    {"beta1", "beta 1", "Decay of the running mean of the gradients.", &OptimizerSettings::beta1, 0, 1, true,
     0, 0.999f, false},
    {"beta2", "beta 2", "Decay of the running mean of the squared gradients; of lion's running mean.",
     &OptimizerSettings::beta2, 0, 1, true, 0.9f, 0.9999f, false},
    {"alpha", "alpha", "Decay of the running mean of the squared gradients.", &OptimizerSettings::alpha, 0, 1,
     true, 0.5f, 0.9999f, false},
    {"epsilon", "epsilon", "Added to the root of the mean square, so that no update divides by 0.",
     &OptimizerSettings::epsilon, 1e-16f, 1, false, 1e-10f, 1e-2f, true},
    {"weight_decay", "weight decay",
     "Pulls parameters to 0: as L2 in the gradient; decoupled from it in adamw and lion.",
     &OptimizerSettings::weight_decay, 0, 1e6f, false, 1e-6f, 1, true},
    {"clip_norm", "clip norm", "Largest global norm of the gradient, scaled down to it; 0: not clipped.",
     &OptimizerSettings::clip_norm, 0, 1e6f, false, 1e-3f, 100, true},
    {"clip_value", "clip value", "Largest magnitude of an element of the gradient; 0: not clipped.",
     &OptimizerSettings::clip_value, 0, 1e6f, false, 1e-4f, 10, true},
}};

bool applies(UpdateRule rule, FieldIndex field) {
  const bool velocity = rule == UpdateRule::momentum || rule == UpdateRule::nesterov;
  const bool adaptive = rule == UpdateRule::adam || rule == UpdateRule::adamw;
  switch (field) {
    case kMomentum:
      return velocity;
    case kBeta1:
    case kBeta2:
      return adaptive || rule == UpdateRule::lion;
    case kAlpha:
      return rule == UpdateRule::rmsprop;
    case kEpsilon:
      return adaptive || rule == UpdateRule::rmsprop;
    default:
      return true;
  }
}

void check_field(const OptimizerField& field, float value) {
  const bool below = field.below_most ? value < field.most : value <= field.most;
  if (std::isfinite(value) && value >= field.least && below) return;
  throw core::BadInput(fmt::format("{} {} of the optimizer is not valid; valid: from {:g} to {}{:g}",
                                   field.label, value, field.least, field.below_most ? "below " : "",
                                   field.most));
}

const char* scheme(bool per_sample) {
  return per_sample ? "per_sample (faulty)" : "batch";
}

void refuse_unknown_fields(const nlohmann::json& json) {
  std::string valid = "rule, accumulate, per_sample";
  for (const OptimizerField& field : kFields) valid += fmt::format(", {}", field.key);
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    if (key == "rule" || key == "accumulate" || key == "per_sample" || find_field(key) != nullptr) continue;
    throw core::BadInput(fmt::format("{} has no field '{}'; valid: {}", kWhere, key, valid));
  }
}

UpdateRule read_rule(const nlohmann::json& json) {
  require_object(json, kWhere);
  const auto rule = json.find("rule");
  if (rule == json.end() || !rule->is_string()) {
    throw core::BadInput(fmt::format("{} lacks its field 'rule', a name such as \"adam\"", kWhere));
  }
  return ops::parse_update_rule(rule->get_ref<const std::string&>());
}

}  // namespace

OptimizerSettings defaults_of(UpdateRule rule) {
  OptimizerSettings settings;
  settings.rule = rule;
  switch (rule) {
    case UpdateRule::sgd:
      break;
    case UpdateRule::momentum:
    case UpdateRule::nesterov:
      settings.learning_rate = 0.0005f;  // a velocity of decay 0.9 sums up to ten gradients
      break;
    case UpdateRule::adam:
      settings.learning_rate = 0.001f;
      break;
    case UpdateRule::adamw:
      settings.learning_rate = 0.001f;
      settings.weight_decay = 0.01f;
      break;
    case UpdateRule::rmsprop:
      settings.learning_rate = 0.001f;
      break;
    case UpdateRule::lion:
      settings.learning_rate = 0.0001f;
      settings.beta2 = 0.99f;
      break;
  }
  return settings;
}

OptimizerSettings with_rule(const OptimizerSettings& settings, UpdateRule rule) {
  OptimizerSettings result = defaults_of(rule);
  result.clip_norm = settings.clip_norm;
  result.clip_value = settings.clip_value;
  result.accumulate = settings.accumulate;
  result.per_sample = settings.per_sample;
  return result;
}

std::vector<const OptimizerField*> fields_of(UpdateRule rule, bool per_sample) {
  std::vector<const OptimizerField*> fields;
  for (int i = 0; i < kFieldCount; ++i) {
    const auto index = static_cast<FieldIndex>(i);
    if (!applies(rule, index) || (per_sample && (index == kClipNorm || index == kClipValue))) continue;
    fields.push_back(&kFields[static_cast<std::size_t>(i)]);
  }
  return fields;
}

const OptimizerField* find_field(std::string_view key) {
  const auto found = std::find_if(kFields.begin(), kFields.end(),
                                  [key](const OptimizerField& field) { return key == field.key; });
  return found == kFields.end() ? nullptr : &*found;
}

void check(const OptimizerSettings& settings) {
  for (const OptimizerField& field : kFields) check_field(field, settings.*field.value);
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
  const auto value = [&](FieldIndex field) {
    return applies(settings.rule, field) ? settings.*kFields[field].value : 0.0f;
  };
  control.learning_rate = settings.learning_rate;
  control.first_decay = value(kMomentum) + value(kBeta1);  // no rule has both
  control.second_decay = value(kBeta2) + value(kAlpha);
  control.epsilon = value(kEpsilon);
  control.weight_decay = settings.weight_decay;
  control.clip_norm = settings.per_sample ? 0.0f : settings.clip_norm;
  control.clip_value = settings.per_sample ? 0.0f : settings.clip_value;
  if (!settings.per_sample) control.micro_batches = static_cast<std::uint32_t>(settings.accumulate);
}

std::string describe_change(const OptimizerSettings& before, const OptimizerSettings& after) {
  std::vector<std::string> changes;
  if (before.rule != after.rule) {
    changes.push_back(fmt::format("{} -> {}", ops::to_string(before.rule), ops::to_string(after.rule)));
  }
  for (const OptimizerField* field : fields_of(after.rule, after.per_sample)) {
    const float from = before.*field->value;
    const float to = after.*field->value;
    if (from != to) changes.push_back(fmt::format("{}: {:g} -> {:g}", field->label, from, to));
  }
  if (before.accumulate != after.accumulate) {
    changes.push_back(fmt::format("micro-batches: {} -> {}", before.accumulate, after.accumulate));
  }
  if (before.per_sample != after.per_sample) {
    changes.push_back(fmt::format("update: {} -> {}", scheme(before.per_sample), scheme(after.per_sample)));
  }
  return fmt::format("{}", fmt::join(changes, "; "));
}

void to_json(nlohmann::json& json, const OptimizerSettings& settings) {
  json = nlohmann::json::object();
  json["rule"] = ops::to_string(settings.rule);
  for (const OptimizerField& field : kFields) json[field.key] = shortest(settings.*field.value);
  json["accumulate"] = settings.accumulate;
  json["per_sample"] = settings.per_sample;
}

void from_json(const nlohmann::json& json, OptimizerSettings& settings) {
  OptimizerSettings read = defaults_of(read_rule(json));
  refuse_unknown_fields(json);
  for (const OptimizerField& field : kFields) {
    if (!json.contains(field.key)) continue;
    constexpr double kMost = std::numeric_limits<float>::max();
    read.*field.value = static_cast<float>(number_field(json, field.key, kWhere, -kMost, kMost));
  }
  if (json.contains("accumulate")) {
    read.accumulate = static_cast<int>(count_field(json, "accumulate", kWhere, kMostMicroBatches));
  }
  if (json.contains("per_sample")) {
    const nlohmann::json& value = json["per_sample"];
    if (!value.is_boolean()) {
      throw core::BadInput(
          fmt::format("'per_sample' of {} is {}; valid: true, false", kWhere, value.type_name()));
    }
    read.per_sample = value.get<bool>();
  }
  check(read);
  settings = read;
}

}  // namespace warpscope::training
