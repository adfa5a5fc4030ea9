// optimizer.update and optimizer.update_per_sample, variant `loops`: one loop over the parameters in FP32, in
// which they, their gradients and their state are kept in every precision; the statistics are summed in
// double. Limits: one thread.
// Source: optimizer.cpp.

#include <algorithm>
#include <cstdint>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/optimizer/rules.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::optimizer {
namespace {

struct Buffers {
  float* parameters;
  float* first;
  float* second;
};

/// Returns the change of the parameter.
template <UpdateRule R>
float step_element(const Settings<float>& settings, float gradient, const Buffers& buffers, std::int64_t i) {
  const float first = kHasFirstState<R> ? buffers.first[i] : 0.0f;
  const float second = kHasSecondState<R> ? buffers.second[i] : 0.0f;
  const auto after = updated<R>(settings, clipped(settings, gradient), buffers.parameters[i], first, second);
  buffers.parameters[i] = after.parameter;
  if constexpr (kHasFirstState<R>) buffers.first[i] = after.first;
  if constexpr (kHasSecondState<R>) buffers.second[i] = after.second;
  return after.change;
}

/// The squares of one slice, [begin, end), which it updates unless `skipped`.
template <UpdateRule R>
void update_slice(const Settings<float>& settings, bool skipped, const float* gradients,
                  const Buffers& buffers, std::int64_t begin, std::int64_t end,
                  double (&sums)[step::kStatistics]) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float gradient = gradients[i] * settings.unscale;
    const double parameter = buffers.parameters[i];
    sums[step::kGradientStatistic] += double{gradient} * double{gradient};
    sums[step::kParameterStatistic] += parameter * parameter;
    if (skipped) continue;
    const double change = step_element<R>(settings, gradient, buffers, i);
    sums[step::kUpdateStatistic] += change * change;
  }
}

template <UpdateRule R>
void update_by(const OpCall& call) {
  const auto& control = *call.operand<const step::StepControl>(Name::control);
  const bool skipped =
      step::skips_update(control, call.operand<const float>(Name::metrics)[step::kLossMetric]);
  const float* norm_parts = call.operand<const float>(Name::norm_parts);
  double squares = 0;
  for (int i = 0; control.clip_norm > 0 && i < kSumParts; ++i) squares += norm_parts[i];
  const auto settings = settings_of<R>(control, static_cast<float>(squares));
  const Buffers buffers{call.operand<float>(Name::parameters), call.operand<float>(Name::first_state),
                        call.operand<float>(Name::second_state)};
  float* statistics = call.operand<float>(Name::statistics);
  const std::int64_t length = slice_length(call.shape.count);
  for (std::int64_t part = 0; part < kSumParts; ++part) {
    double sums[step::kStatistics] = {};
    update_slice<R>(settings, skipped, call.operand<const float>(Name::gradients), buffers, part * length,
                    std::min((part + 1) * length, call.shape.count), sums);
    for (int k = 0; k < step::kStatistics; ++k) {
      statistics[k * kSumParts + part] = static_cast<float>(sums[k]);
    }
  }
}

template <UpdateRule R>
void update_per_sample_by(const OpCall& call) {
  const auto& control = *call.operand<const step::StepControl>(Name::control);
  if (control.overflow != 0 || control.halted != 0) return;
  const auto settings = settings_of<R>(unclipped(control), 0.0f);
  const Buffers buffers{call.operand<float>(Name::parameters), call.operand<float>(Name::first_state),
                        call.operand<float>(Name::second_state)};
  const float* gradients = call.operand<const float>(Name::gradients);
  for (std::int64_t sample = 0; sample < call.shape.batch; ++sample) {
    for (std::int64_t i = 0; i < call.shape.count; ++i) {
      step_element<R>(settings, gradients[i] * settings.unscale, buffers, i);
    }
    gradients += call.shape.count;
  }
}

void update(const OpCall& call) {
  with_rule(call.shape.rule, [&](auto rule) { update_by<decltype(rule)::value>(call); });
}

void update_per_sample(const OpCall& call) {
  with_rule(call.shape.rule, [&](auto rule) { update_per_sample_by<decltype(rule)::value>(call); });
}

}  // namespace

Variant loops_update() {
  return loops_variant(Op::optimizer_update, update, "A loop over all parameters in FP32 on one thread.");
}
Variant loops_update_per_sample() {
  return loops_variant(
      Op::optimizer_update_per_sample, update_per_sample,
      "Faulty on purpose: each sample steps weights and state by itself, here one after the other.");
}

}  // namespace warpscope::ops::optimizer
