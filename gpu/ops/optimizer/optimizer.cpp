#include "gpu/ops/optimizer/optimizer.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::optimizer {
namespace {

std::int64_t per_sample(const OpShape& s) {
  return s.batch * s.count;
}
std::int64_t first_state(const OpShape& s) {
  return states_of(s.rule) >= 1 ? s.count : 0;
}
std::int64_t second_state(const OpShape& s) {
  return states_of(s.rule) >= 2 ? s.count : 0;
}

/// Of the rules' arithmetic without weight decay and clipping, and of the three sums of squares.
double update_flops(const OpShape& s) {
  return (row_of(s.rule).flops + 6.0) * static_cast<double>(s.count);
}
double per_sample_flops(const OpShape& s) {
  return update_flops(s) * static_cast<double>(s.batch);
}
double sum_flops(const OpShape& s) {
  return 2.0 * static_cast<double>(s.count);
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
                                 Operand{Name::sums, Access::update, Role::gradient, sizes::count}};
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
          .terms = sizes::two_terms,
          .describe = sizes::describe_parameters,
          .variants = variants,
          .tests = accumulate_tests,
          .scope = Scope::parameters};
}

OpContract keep_contract() {
  return {.name = "gradients.keep",
          .summary = "the gradient of one sample beside those of the others",
          .operands = kKeep,
          .flops = sizes::no_flops,
          .terms = sizes::one,
          .describe = describe_samples,
          .variants = variants,
          .tests = keep_tests,
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
          .variants = variants,
          .tests = norm_tests,
          .scope = Scope::parameters};
}

OpContract update_contract() {
  return {.name = "optimizer.update",
          .summary = "clip, then one step of the optimizer on all parameters",
          .operands = kUpdate,
          .flops = update_flops,
          .terms = update_terms,
          .describe = describe_update,
          .variants = variants,
          .tests = update_tests,
          .scope = Scope::parameters};
}

OpContract per_sample_contract() {
  return {.name = "optimizer.update_per_sample",
          .summary = "faulty on purpose: each sample updates weights and state by itself",
          .operands = kPerSample,
          .flops = per_sample_flops,
          .terms = per_sample_terms,
          .describe = describe_per_sample,
          .variants = variants,
          .tests = per_sample_tests,
          .scope = Scope::parameters};
}

}  // namespace warpscope::ops::optimizer
