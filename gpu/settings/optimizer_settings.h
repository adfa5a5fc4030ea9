#pragma once
// What a person chooses of the optimizer, as plain data. The formulas are in gpu/ops/optimizer/optimizer.h. Which field
// applies to which rule, with its default there:
//
//                  sgd     momentum  nesterov  adam    adamw   rmsprop  lion
//   learning_rate  0.005   0.0005    0.0005    0.001   0.001   0.001    0.0001
//   momentum       -       0.9       0.9       -       -       -        -
//   beta1          -       -         -         0.9     0.9     -        0.9
//   beta2          -       -         -         0.999   0.999   -        0.99
//   alpha          -       -         -         -       -       0.99     -
//   epsilon        -       -         -         1e-8    1e-8    1e-8     -
//   weight_decay   0       0         0         0       0.01    0        0
//   clip_norm      0 (off) for all, and so clip_value; neither applies to per_sample
//
// The window shows what fields_of() gives.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ops/op.h"
#include "gpu/ops/step/step.h"

namespace warpscope::training {

struct OptimizerSettings {
  ops::UpdateRule rule = ops::UpdateRule::sgd;
  float learning_rate = 0.005f;
  float momentum = 0.9f;  ///< share of the velocity that is kept
  float beta1 = 0.9f;     ///< decay of the mean of the gradients
  float beta2 = 0.999f;   ///< decay of the mean of their squares; of lion's mean of the gradients
  float alpha = 0.99f;    ///< decay of rmsprop's mean of the squares
  float epsilon = 1e-8f;  ///< added to the root of the mean of the squares
  float weight_decay = 0.0f;
  float clip_norm = 0.0f;   ///< largest global norm of the gradient; 0: not clipped
  float clip_value = 0.0f;  ///< largest magnitude of an element of the gradient; 0: not clipped
  int accumulate = 1;       ///< micro-batches of a step
  bool per_sample = false;  ///< the historic faulty scheme: each image of the batch updates by itself

  bool operator==(const OptimizerSettings&) const = default;
};

/// The defaults of a rule, as in the table above; fields that do not apply have those of sgd.
OptimizerSettings defaults_of(ops::UpdateRule rule);

/// The defaults of `rule`, but clipping, accumulation and scheme of `settings`: for a switch by the person.
OptimizerSettings with_rule(const OptimizerSettings& settings, ops::UpdateRule rule);

/// One number of the settings, for sliders, command line and files.
struct OptimizerField {
  const char* key;    ///< "weight_decay", in JSON and TOML
  const char* label;  ///< "weight decay"
  const char* tip;    ///< one sentence: what it does
  float OptimizerSettings::*value;
  float least;       ///< valid values are from `least` ...
  float most;        ///< ... to `most`,
  bool below_most;   ///< without `most` itself
  float slider_low;  ///< where its slider begins (a slider that is logarithmic begins above 0; type 0 in)
  float slider_high;
  bool logarithmic;
};

/// The fields that matter to `rule`, in the order in which to show them. Under per_sample without clipping.
std::vector<const OptimizerField*> fields_of(ops::UpdateRule rule, bool per_sample = false);

/// The field of that key, whichever rule it belongs to, or nullptr.
const OptimizerField* find_field(std::string_view key);

/// Throws BadInput that names the first value out of its range, and the range. All fields are looked at, also those that do
/// not apply to the rule. The valid ranges: learning_rate, weight_decay, clip_norm and clip_value from 0 to 1e6; momentum,
/// beta1, beta2 and alpha from 0 to below 1; epsilon from 1e-16 to 1; accumulate from 1 to 65536, and 1 under per_sample.
void check(const OptimizerSettings& settings);

/// Sets the host's fields of `control` that depend on the optimizer: learning_rate, first_decay (momentum or beta1),
/// second_decay (beta2 or alpha), epsilon, weight_decay, clip_norm, clip_value and micro_batches (= accumulate); 0 where a
/// field does not apply. Under per_sample micro_batches stays as it is: it is the number of images of the batch, which the
/// caller knows. A schedule puts its rate into control.learning_rate afterwards.
void fill_control(const OptimizerSettings& settings, ops::step::StepControl& control);

/// For markers: "momentum: 0.9 -> 0.8", "adam -> lion; learning rate: 0.001 -> 0.0001; beta 2: 0.999 -> 0.99"; of the fields
/// those that matter to the rule after it. "" if nothing that matters has changed.
std::string describe_change(const OptimizerSettings& before, const OptimizerSettings& after);

/// {"rule": "adam", "learning_rate": 0.001, ..., "accumulate": 1, "per_sample": false} with every field. from_json takes the
/// rule's default where a field is missing, and throws BadInput that names an unknown field, a wrong type or a value out
/// of its range; `settings` is then unchanged.
void to_json(nlohmann::json& json, const OptimizerSettings& settings);
void from_json(const nlohmann::json& json, OptimizerSettings& settings);

}  // namespace warpscope::training
