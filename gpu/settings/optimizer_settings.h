#pragma once
// What a person chooses of the optimizer, as plain data. Which number belongs to which rule, and its default
// there, stands in the rule's row (gpu/ops/optimizer/update_rule.h); range, slider and help of each in its
// row of the table of settings (setting.h). Learning rate, weight decay and clipping belong to all rules;
// clipping does not apply to per_sample.

#include <string_view>
#include <vector>

#include "gpu/ops/optimizer/update_rule.h"
#include "gpu/ops/step/step.h"

namespace warpscope::training {

struct OptimizerSettings {
  ops::UpdateRule rule = ops::UpdateRule::adam;
  float learning_rate = 0.0003f;
  float momentum = 0.9f;  ///< share of the velocity that is kept
  float beta1 = 0.9f;     ///< decay of the mean of the gradients
  float beta2 = 0.999f;   ///< decay of the mean of their squares, or of theirs where no squares are kept
  float alpha = 0.99f;    ///< decay of the mean of the squares
  float epsilon = 1e-8f;  ///< added to the root of the mean of the squares
  float weight_decay = 0.0f;
  float clip_norm = 0.0f;   ///< largest global norm of the gradient; 0: not clipped
  float clip_value = 0.0f;  ///< largest magnitude of an element of the gradient; 0: not clipped
  float joint = 0.0f;       ///< times the loss of a head on the latents in the objective; 0: there is no head
  int accumulate = 1;       ///< micro-batches of a step
  bool per_sample = false;  ///< the historic faulty scheme: each image of the batch updates by itself

  bool operator==(const OptimizerSettings&) const = default;
};

/// Micro-batches of a step, at the most.
inline constexpr int kMostMicroBatches = 65536;

/// The defaults of a rule, from its row; numbers that do not belong to it are as in a new OptimizerSettings.
OptimizerSettings defaults_of(ops::UpdateRule rule);

/// The defaults of `rule`, but clipping, objective, accumulation and scheme of `settings`: for a switch by the person.
OptimizerSettings with_rule(const OptimizerSettings& settings, ops::UpdateRule rule);

struct Setting;

/// The rows of the numbers that matter to `rule`, in the order in which to show them. Under per_sample
/// without clipping. Their value is settings.*row->field.number.
std::vector<const Setting*> numbers_of(ops::UpdateRule rule, bool per_sample = false);

/// The row of the number with that key, whichever rule it belongs to, or nullptr.
const Setting* find_number(std::string_view key);

/// Throws BadInput that names the first value out of the range of its row. All numbers are looked at, also
/// those that do not belong to the rule. `accumulate` is 1 under per_sample.
void check(const OptimizerSettings& settings);

/// Sets the host's fields of `control` that depend on the optimizer: learning_rate, first_decay (momentum or
/// beta1), second_decay (beta2 or alpha), epsilon, weight_decay, clip_norm, clip_value and joint; 0 where a field does
/// not apply. A schedule puts its rate into control.learning_rate afterwards, and micro_batches are the recipe's.
void fill_control(const OptimizerSettings& settings, ops::step::StepControl& control);

}  // namespace warpscope::training
