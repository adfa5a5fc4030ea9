#pragma once
// The update rules of the optimizers: one row each. What is in the row is all that settings, files, the
// window and the benchmarks know of a rule; its formula is the one in rules.h.

#include <cstdint>
#include <iterator>
#include <string_view>

namespace warpscope::ops {

/// How an optimizer changes the parameters. In the order of kUpdateRules.
enum class UpdateRule : std::uint8_t { sgd, momentum, nesterov, adam, adamw, rmsprop, lion };

/// Numbers of state that a rule may keep for each parameter.
inline constexpr int kMostStates = 2;

/// A number that enters the formula: the setting that holds it (its key, "beta1") and what it is where
/// nothing else is said.
struct HyperParameter {
  const char* key = nullptr;  ///< nullptr: the rule has none
  float standard = 0;
};

/// One number of state for each parameter.
struct RuleState {
  const char* torch_name =
      nullptr;              ///< in torch.optim's state_dict, and in checkpoints; nullptr: the rule has none
  bool of_squares = false;  ///< a running mean of squares, which is not negative
};

struct RuleRow {
  UpdateRule rule;
  const char* name;     ///< "adamw"
  const char* summary;  ///< in a few words, for people
  const char* formula;  ///< on one line; optimizer.cpp says what its letters are
  RuleState states[kMostStates] = {};
  double flops = 0;            ///< for each parameter, without weight decay and clipping
  bool decoupled = false;      ///< weight decay shrinks the parameter and does not go through the gradient
  bool takes_sign = false;     ///< of a sum, which rounding can turn round: tests allow for that
  bool corrects_bias = false;  ///< the rate is divided by 1 - d^t, the second state by 1 - e^t
  float learning_rate = 0.001f;
  double warmup =
      0;  ///< epochs in which the rate rises to its full height at first, where nothing else is said
  HyperParameter first_decay = {};   ///< d
  HyperParameter second_decay = {};  ///< e
  HyperParameter epsilon = {};
  float weight_decay = 0;
};

// What divides a gradient by its size moves every parameter by about the rate in the first steps, all in the same
// direction: the loss leaps, unless the rate rises over some ten batches.
inline constexpr double kAdaptiveWarmup = 0.01;

// A velocity of decay 0.9 sums up to ten gradients: the rate of momentum and nesterov is a tenth of sgd's.
inline constexpr RuleRow kUpdateRules[] = {
    {.rule = UpdateRule::sgd,
     .name = "sgd",
     .summary = "rate times gradient",
     .formula = "p -= rate g",
     .flops = 2,
     .learning_rate = 0.005f},
    {.rule = UpdateRule::momentum,
     .name = "momentum",
     .summary = "a velocity that gathers gradients",
     .formula = "v = d v + g;  p -= rate v",
     .states = {{"momentum_buffer"}},
     .flops = 4,
     .learning_rate = 0.0005f,
     .first_decay = {"momentum", 0.9f}},
    {.rule = UpdateRule::nesterov,
     .name = "nesterov",
     .summary = "momentum that looks ahead",
     .formula = "v = d v + g;  p -= rate (g + d v)",
     .states = {{"momentum_buffer"}},
     .flops = 6,
     .learning_rate = 0.0005f,
     .first_decay = {"momentum", 0.9f}},
    {.rule = UpdateRule::adam,
     .name = "adam",
     .summary = "running mean over root mean square",
     .formula = "m = d m + (1 - d) g;  s = e s + (1 - e) g^2;  p -= rate m' / (sqrt(s') + epsilon)",
     .states = {{"exp_avg"}, {"exp_avg_sq", true}},
     .flops = 12,
     .corrects_bias = true,
     .learning_rate = 0.0003f,
     .warmup = kAdaptiveWarmup,
     .first_decay = {"beta1", 0.9f},
     .second_decay = {"beta2", 0.999f},
     .epsilon = {"epsilon", 1e-8f}},
    {.rule = UpdateRule::adamw,
     .name = "adamw",
     .summary = "adam, with weight decay by itself",
     .formula = "p *= 1 - rate decay;  then as adam",
     .states = {{"exp_avg"}, {"exp_avg_sq", true}},
     .flops = 14,
     .decoupled = true,
     .corrects_bias = true,
     .warmup = kAdaptiveWarmup,
     .first_decay = {"beta1", 0.9f},
     .second_decay = {"beta2", 0.999f},
     .epsilon = {"epsilon", 1e-8f},
     .weight_decay = 0.01f},
    {.rule = UpdateRule::rmsprop,
     .name = "rmsprop",
     .summary = "gradient over root mean square",
     .formula = "s = e s + (1 - e) g^2;  p -= rate g / (sqrt(s) + epsilon)",
     .states = {{"square_avg", true}},
     .flops = 8,
     .warmup = kAdaptiveWarmup,
     .second_decay = {"alpha", 0.99f},
     .epsilon = {"epsilon", 1e-8f}},
    {.rule = UpdateRule::lion,
     .name = "lion",
     .summary = "sign of a running mean",
     .formula = "p *= 1 - rate decay;  p -= rate sign(d m + (1 - d) g);  m = e m + (1 - e) g",
     .states = {{"exp_avg"}},
     .flops = 9,
     .decoupled = true,
     .takes_sign = true,
     .learning_rate = 0.0001f,
     .warmup = kAdaptiveWarmup,
     .first_decay = {"beta1", 0.9f},
     .second_decay = {"beta2", 0.99f}},
};

inline constexpr int kUpdateRuleCount = static_cast<int>(std::size(kUpdateRules));

/// The row of a rule.
constexpr const RuleRow& row_of(UpdateRule rule) {
  return kUpdateRules[static_cast<int>(rule)];
}

/// How many numbers of state a rule keeps for each parameter: 0, 1 or 2.
constexpr int states_of(UpdateRule rule) {
  int states = 0;
  for (const RuleState& state : row_of(rule).states) states += state.torch_name != nullptr ? 1 : 0;
  return states;
}

constexpr bool rules_stand_in_order() {
  for (int i = 0; i < kUpdateRuleCount; ++i) {
    if (static_cast<int>(kUpdateRules[i].rule) != i) return false;
  }
  return true;
}
static_assert(rules_stand_in_order());

std::string_view to_string(UpdateRule rule);

/// Reads "adamw". Throws core::BadInput that lists the valid names.
UpdateRule parse_update_rule(std::string_view text);

}  // namespace warpscope::ops
