// optimizer.update and optimizer.update_per_sample, variant `reference`: the formulas of optimizer.h one by one in double,
// without the header that the other variants share. Limits: none. Source: optimizer.h.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "gpu/ops/optimizer/optimizer.h"
#include "gpu/ops/optimizer/optimizer_variants.h"
#include "gpu/ops/reference_support.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::optimizer {
namespace {

using step::StepControl;

/// One parameter and its state, under the names of the formulas.
struct Element {
  double p = 0;
  double first = 0;
  double second = 0;
};

/// p -= rate / (1 - d^t) m / (sqrt(s) / sqrt(1 - e^t) + epsilon), m and s brought up to date before.
void adam(const StepControl& c, double g, Element& x) {
  const double d = c.first_decay;
  const double e = c.second_decay;
  const double t = static_cast<double>(c.updates) + 1;
  x.first = d * x.first + (1 - d) * g;
  x.second = e * x.second + (1 - e) * g * g;
  x.p -= c.learning_rate / (1 - std::pow(d, t)) * x.first /
         (std::sqrt(x.second) / std::sqrt(1 - std::pow(e, t)) + c.epsilon);
}

void step_element(UpdateRule rule, const StepControl& c, double g, Element& x) {
  const double rate = c.learning_rate;
  const double d = c.first_decay;
  const double e = c.second_decay;
  const double decay = c.weight_decay;
  switch (rule) {
    case UpdateRule::sgd:
      x.p -= rate * (g + decay * x.p);
      return;
    case UpdateRule::momentum:
      x.first = d * x.first + g + decay * x.p;
      x.p -= rate * x.first;
      return;
    case UpdateRule::nesterov:
      g += decay * x.p;
      x.first = d * x.first + g;
      x.p -= rate * (g + d * x.first);
      return;
    case UpdateRule::adam:
      return adam(c, g + decay * x.p, x);
    case UpdateRule::adamw:
      x.p *= 1 - rate * decay;
      return adam(c, g, x);
    case UpdateRule::rmsprop:
      g += decay * x.p;
      x.first = e * x.first + (1 - e) * g * g;
      x.p -= rate * g / (std::sqrt(x.first) + c.epsilon);
      return;
    case UpdateRule::lion: {
      x.p *= 1 - rate * decay;
      const double direction = d * x.first + (1 - d) * g;
      if (direction != 0) x.p -= std::copysign(rate, direction);
      x.first = e * x.first + (1 - e) * g;
      return;
    }
  }
  throw std::logic_error("unknown update rule");
}

double clip_factor(const StepControl& c, double squares) {
  if (c.clip_norm <= 0) return 1;
  const double norm = std::sqrt(squares) / c.loss_scale;
  return std::min(1.0, c.clip_norm / (norm + 1e-6));
}

double clip_by_value(const StepControl& c, double g) {
  return c.clip_value > 0 ? std::clamp(g, -double{c.clip_value}, double{c.clip_value}) : g;
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

template <class T>
void update(const OpCall& call) {
  const T* gradients = call.operand<const T>(kUpdateGradients);
  const T* norm_parts = call.operand<const T>(kUpdateNormParts);
  T* statistics = call.operand<T>(kUpdateStatistics);
  const Buffers<T> buffers{call.operand<T>(kUpdateParameters), call.operand<T>(kUpdateFirstState),
                           call.operand<T>(kUpdateSecondState), states_of(call.shape.rule)};
  const auto& control = *call.operand<const StepControl>(kUpdateControl);
  const bool skipped = step::skips_update(
      control, static_cast<float>(call.operand<const T>(kUpdateMetrics)[step::kLossMetric]));
  double squares = 0;
  for (int i = 0; control.clip_norm > 0 && i < kSumParts; ++i) squares += norm_parts[i];
  const double clip = clip_factor(control, squares);
  const std::int64_t length = slice_length(call.shape.count);
  for (std::int64_t part = 0; part < kSumParts; ++part) {
    double sums[step::kStatistics] = {};
    for (std::int64_t i = part * length; i < std::min((part + 1) * length, call.shape.count); ++i) {
      const double g = double{gradients[i]} / control.loss_scale;
      const Element before = buffers.load(i);
      Element after = before;
      if (!skipped) step_element(call.shape.rule, control, clip_by_value(control, g * clip), after);
      sums[step::kGradientStatistic] += g * g;
      sums[step::kUpdateStatistic] += (after.p - before.p) * (after.p - before.p);
      sums[step::kParameterStatistic] += before.p * before.p;
      buffers.store(i, after);
    }
    for (int k = 0; k < step::kStatistics; ++k) statistics[k * kSumParts + part] = static_cast<T>(sums[k]);
  }
}

template <class T>
void update_per_sample(const OpCall& call) {
  const T* gradients = call.operand<const T>(kPerSampleGradients);
  const Buffers<T> buffers{call.operand<T>(kPerSampleParameters), call.operand<T>(kPerSampleFirstState),
                           call.operand<T>(kPerSampleSecondState), states_of(call.shape.rule)};
  const auto& control = *call.operand<const StepControl>(kPerSampleControl);
  if (control.overflow != 0 || control.halted != 0) return;
  for (std::int64_t sample = 0; sample < call.shape.batch; ++sample) {
    for (std::int64_t i = 0; i < call.shape.count; ++i) {
      Element x = buffers.load(i);
      step_element(call.shape.rule, control,
                   double{gradients[sample * call.shape.count + i]} / control.loss_scale, x);
      buffers.store(i, x);
    }
  }
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
