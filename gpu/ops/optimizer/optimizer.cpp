// optimizer.update: one step of the optimizer OpShape::rule over the whole contiguous parameter buffer, in
// one launch. The gradients are those of the whole batch, averaged, times control.loss_scale; all numbers
// below that are not operands are fields of the device's StepControl, so that one captured graph serves every
// step. With t = control.updates + 1:
//
//   g = gradient / loss_scale;   norm = sqrt(sum of norm_parts) / loss_scale
//   clip_norm  > 0:  g = g min(1, clip_norm / (norm + 1e-6))      (torch.nn.utils.clip_grad_norm_)
//   clip_value > 0:  g = clamp(g, -clip_value, clip_value)        (after the norm)
//   d = first_decay, e = second_decay, decay = weight_decay, rate = learning_rate
//
//   decoupled rules:  p *= 1 - rate decay;  others:  g += decay p
//   then the formula of the rule's row (update_rule.h), with m' = m / (1 - d^t) and s' = s / (1 - e^t)
//
// first_state holds v, m (adam, adamw, lion) or s (rmsprop); second_state s of adam and adamw. A step that
// step::skips_update() names leaves parameters and state as they are. Statistics (step.h) are written either
// way, in slices of ops::slice_length: the gradient's before clipping and after dividing by the loss scale;
// the update's of the change as computed, before it is rounded into the parameters, and 0 if skipped.
// norm_parts are read only where clip_norm > 0; metrics only for the loss. Decays lie in [0, 1). 1 - d^t and
// 1 - rate decay are computed in double and rounded once.
//
// optimizer.update_per_sample: the historic faulty scheme, kept so that one can watch it fail. `gradients`
// holds one gradient for each sample of the batch, all taken at the same parameters and not averaged. Each
// sample by itself reads parameters and state, computes the rule as above (t = control.updates + 1 for all,
// no clipping), and adds the change to parameters and state atomically, in any order: momentum and second
// moments decay once a sample instead of once a step and the effective rate is `batch` times the chosen one.
// On the CPU the samples come in order. It has no metrics: a step with control.overflow or control.halted
// leaves parameters and state as they are.
//
// gradients.accumulate: sums = (control.micro_batch == 0 ? 0 : sums) + gradients / control.micro_batches
//                       With 2^n shards the micro-batches of each are summed so, one shard after the other, and the
//                       sums of shards by a tree (shards.h); the first `count` of sums hold the whole at the end of
//                       the step.
// gradients.keep:       kept[control.micro_batch % batch] = gradients, the others stay
// gradients.norm:       parts[i] = sum of the squares of slice i of the gradients, as they are (scaled);
//                       control.overflow = 1 if any gradient is an infinity or NaN, else it stays as it is
//                       (step.record clears it); a part of such gradients is not finite either
//
// OpShape: count = number of parameters, batch = samples (update_per_sample, keep), rule, shards (accumulate).
//
// Sources: I. Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013);
// D. Kingma, J. Ba, "Adam" (2015); I. Loshchilov, F. Hutter, "Decoupled weight decay regularization" (2019);
// T. Tieleman, G. Hinton, "Lecture 6.5, RMSProp" (2012); X. Chen et al., "Symbolic discovery of optimization
// algorithms" (2023), Lion; R. Pascanu et al., "On the difficulty of training recurrent neural networks"
// (2013), clipping. Conventions are those of torch.optim.

#include <array>

#include <fmt/format.h>

#include "gpu/ops/optimizer/shards.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::optimizer {
namespace {

std::int64_t slots(const OpShape& s) {
  return slots_of(s.shards) * s.count;
}
std::int64_t per_sample(const OpShape& s) {
  return s.batch * s.count;
}
std::int64_t first_state(const OpShape& s) {
  return states_of(s.rule) >= 1 ? s.count : 0;
}
std::int64_t second_state(const OpShape& s) {
  return states_of(s.rule) >= 2 ? s.count : 0;
}

/// Those of the rules' arithmetic without weight decay and clipping, and of the three sums of squares.
double update_flops(const OpShape& s) {
  return (row_of(s.rule).flops + 6.0) * static_cast<double>(s.count);
}
double per_sample_flops(const OpShape& s) {
  return update_flops(s) * static_cast<double>(s.batch);
}
double sum_flops(const OpShape& s) {
  return 2.0 * static_cast<double>(s.count);
}

std::int64_t shard_terms(const OpShape& s) {
  return 1 + slots_of(s.shards);
}
std::int64_t slice_terms(const OpShape& s) {
  return slice_length(s.count);
}
/// An element goes through a dozen roundings, a statistic through those of its sum as well.
constexpr std::int64_t kRuleRoundings = 12;
std::int64_t update_terms(const OpShape& s) {
  return slice_length(s.count) + kRuleRoundings;
}
std::int64_t per_sample_terms(const OpShape& s) {
  return kRuleRoundings * s.batch;
}

OpShape one_sample(const OpShape& s) {
  OpShape touched = s;
  touched.batch = 1;
  return touched;
}
std::string describe_samples(const OpShape& s) {
  return fmt::format("{} x {} parameters", s.batch, s.count);
}
std::string describe_update(const OpShape& s) {
  return fmt::format("{}, {} parameters", to_string(s.rule), s.count);
}
std::string describe_per_sample(const OpShape& s) {
  return fmt::format("{}, {}", to_string(s.rule), describe_samples(s));
}

constexpr std::array kAccumulate{Operand{Name::gradients, Access::read, Role::gradient, sizes::count},
                                 Operand{Name::control, Access::read, Role::control, sizes::step_control},
                                 Operand{Name::sums, Access::update, Role::gradient, slots}};
constexpr std::array kKeep{Operand{Name::gradients, Access::read, Role::gradient, sizes::count},
                           Operand{Name::control, Access::read, Role::control, sizes::step_control},
                           Operand{Name::kept, Access::update, Role::gradient, per_sample}};
constexpr std::array kNorm{Operand{Name::gradients, Access::read, Role::gradient, sizes::count},
                           Operand{Name::control, Access::update, Role::control, sizes::step_control},
                           Operand{Name::norm_parts, Access::write, Role::scalar, sizes::sum_parts}};
constexpr std::array kUpdate{Operand{Name::gradients, Access::read, Role::gradient, sizes::count},
                             Operand{Name::control, Access::read, Role::control, sizes::step_control},
                             Operand{Name::norm_parts, Access::read, Role::scalar, sizes::sum_parts},
                             Operand{Name::metrics, Access::read, Role::scalar, sizes::step_metrics},
                             Operand{Name::parameters, Access::update, Role::parameter, sizes::count},
                             Operand{Name::first_state, Access::update, Role::parameter, first_state},
                             Operand{Name::second_state, Access::update, Role::parameter, second_state},
                             Operand{Name::statistics, Access::write, Role::scalar, sizes::step_statistics}};
constexpr std::array kPerSample{Operand{Name::gradients, Access::read, Role::gradient, per_sample},
                                Operand{Name::control, Access::read, Role::control, sizes::step_control},
                                Operand{Name::parameters, Access::update, Role::parameter, sizes::count},
                                Operand{Name::first_state, Access::update, Role::parameter, first_state},
                                Operand{Name::second_state, Access::update, Role::parameter, second_state}};

}  // namespace

OpContract accumulate_contract() {
  return {.name = "gradients.accumulate",
          .summary = "mean gradient over the micro-batches",
          .operands = kAccumulate,
          .flops = sum_flops,
          .terms = shard_terms,
          .describe = sizes::describe_parameters,
          .parameters = {Parameter::shards},
          .scope = Scope::parameters,
          .in_pieces = {Name::gradients, Name::sums}};
}

OpContract keep_contract() {
  return {.name = "gradients.keep",
          .summary = "the gradient of one sample beside those of the others",
          .operands = kKeep,
          .describe = describe_samples,
          .scope = Scope::parameters,
          .touched = one_sample};
}

OpContract norm_contract() {
  return {.name = "gradients.norm",
          .summary = "sums of squares of the gradients; notes whether one overflowed",
          .operands = kNorm,
          .flops = sum_flops,
          .terms = slice_terms,
          .describe = sizes::describe_parameters,
          .scope = Scope::parameters};
}

OpContract update_contract() {
  return {.name = "optimizer.update",
          .summary = "clip, then one step of the optimizer on all parameters",
          .operands = kUpdate,
          .flops = update_flops,
          .terms = update_terms,
          .describe = describe_update,
          .parameters = {Parameter::rule},
          .scope = Scope::parameters};
}

OpContract per_sample_contract() {
  return {.name = "optimizer.update_per_sample",
          .summary = "faulty on purpose: each sample updates weights and state by itself",
          .operands = kPerSample,
          .flops = per_sample_flops,
          .terms = per_sample_terms,
          .describe = describe_per_sample,
          .parameters = {Parameter::rule},
          .scope = Scope::parameters};
}

WARPSCOPE_VARIANTS(reference_accumulate(), reference_keep(), reference_norm(), reference_update(),
                   reference_update_per_sample(), loops_accumulate(), loops_keep(), loops_norm(),
                   loops_update(),
                   loops_update_per_sample()
                       WARPSCOPE_IF_CUDA(, naive_accumulate(), naive_keep(), naive_norm(), naive_update(),
                                         atomic_update_per_sample(), vectorized_accumulate(),
                                         vectorized_keep(), vectorized_norm(), vectorized_update()))

}  // namespace warpscope::ops::optimizer
