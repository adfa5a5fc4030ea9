// optimizer.update and optimizer.update_per_sample, variant `reference`: the formulas of rules.h element by
// element in double. Limits: none. Source: optimizer.cpp.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/optimizer/rules.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::optimizer {
namespace {

using step::StepControl;

/// One parameter and its state, under the names of the formulas.
struct Element {
  double p = 0;
  double first = 0;
  double second = 0;
};

/// Returns the change of the parameter.
template <UpdateRule R>
double step_element(const Settings<double>& settings, double gradient, Element& x) {
  const auto after = updated<R>(settings, clipped(settings, gradient), x.p, x.first, x.second);
  x = {after.parameter, after.first, after.second};
  return after.change;
}

template <class T>
struct Buffers {
  T* parameters;
  T* first;
  T* second;
  int states;

  Element load(std::int64_t i) const {
    return {parameters[i], states >= 1 ? first[i] : 0, states >= 2 ? second[i] : 0};
  }
  void store(std::int64_t i, const Element& x) const {
    parameters[i] = static_cast<T>(x.p);
    if (states >= 1) first[i] = static_cast<T>(x.first);
    if (states >= 2) second[i] = static_cast<T>(x.second);
  }
};

template <UpdateRule R, class T>
void update_by(const OpCall& call) {
  const T* gradients = call.operand<const T>(Name::gradients);
  const T* norm_parts = call.operand<const T>(Name::norm_parts);
  T* statistics = call.operand<T>(Name::statistics);
  const Buffers<T> buffers{call.operand<T>(Name::parameters), call.operand<T>(Name::first_state),
                           call.operand<T>(Name::second_state), states_of(call.shape.rule)};
  const auto& control = *call.operand<const StepControl>(Name::control);
  const bool skipped = step::skips_update(
      control, static_cast<float>(call.operand<const T>(Name::metrics)[step::kLossMetric]));
  double squares = 0;
  for (int i = 0; control.clip_norm > 0 && i < kSumParts; ++i) squares += norm_parts[i];
  const auto settings = settings_of<R>(control, squares);
  const std::int64_t length = slice_length(call.shape.count);
  for (std::int64_t part = 0; part < kSumParts; ++part) {
    double sums[step::kStatistics] = {};
    for (std::int64_t i = part * length; i < std::min((part + 1) * length, call.shape.count); ++i) {
      const double g = double{gradients[i]} * settings.unscale;
      Element x = buffers.load(i);
      sums[step::kGradientStatistic] += g * g;
      sums[step::kParameterStatistic] += x.p * x.p;
      if (skipped) continue;
      const double change = step_element<R>(settings, g, x);
      sums[step::kUpdateStatistic] += change * change;
      buffers.store(i, x);
    }
    for (int k = 0; k < step::kStatistics; ++k) statistics[k * kSumParts + part] = static_cast<T>(sums[k]);
  }
}

template <UpdateRule R, class T>
void update_per_sample_by(const OpCall& call) {
  const T* gradients = call.operand<const T>(Name::gradients);
  const Buffers<T> buffers{call.operand<T>(Name::parameters), call.operand<T>(Name::first_state),
                           call.operand<T>(Name::second_state), states_of(call.shape.rule)};
  const auto& control = *call.operand<const StepControl>(Name::control);
  if (control.overflow != 0 || control.halted != 0) return;
  const auto settings = settings_of<R>(unclipped(control), 0.0);
  for (std::int64_t sample = 0; sample < call.shape.batch; ++sample) {
    for (std::int64_t i = 0; i < call.shape.count; ++i) {
      Element x = buffers.load(i);
      step_element<R>(settings, double{gradients[sample * call.shape.count + i]} * settings.unscale, x);
      buffers.store(i, x);
    }
  }
}

template <class T>
void update(const OpCall& call) {
  with_rule(call.shape.rule, [&](auto rule) { update_by<decltype(rule)::value, T>(call); });
}

template <class T>
void update_per_sample(const OpCall& call) {
  with_rule(call.shape.rule, [&](auto rule) { update_per_sample_by<decltype(rule)::value, T>(call); });
}

}  // namespace

Variant reference_update() {
  return reference_variant(Op::optimizer_update, in_either_width<update<float>, update<double>>,
                           "The formulas element by element in double: what the others are held against.");
}
Variant reference_update_per_sample() {
  return reference_variant(
      Op::optimizer_update_per_sample, in_either_width<update_per_sample<float>, update_per_sample<double>>,
      "Faulty on purpose, sample by sample in double: what the others are held against.");
}

}  // namespace warpscope::ops::optimizer
