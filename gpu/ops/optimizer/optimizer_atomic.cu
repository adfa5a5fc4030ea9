// optimizer.update_per_sample, variant `atomic`: faulty on purpose, the historic scheme as it was. One thread
// per sample and parameter reads parameter and state, which other samples change meanwhile, computes the rule
// as if it were alone, and adds its changes with atomicAdd. What it has read may be stale, and the result
// differs from run to run: that is what it is there to show. Limits: none on the shape. Bound by the atomics,
// 1 to 3 for each sample and parameter. At most 37 registers, 48 bytes of shared memory, no spills. Source:
// optimizer.cpp; rules.h.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/optimizer/update_block.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::optimizer {
namespace {

template <UpdateRule R, class Index>
__global__ void optimizer_update_per_sample_atomic(Index elements, Index count,
                                                   const float* __restrict__ gradients,
                                                   const step::StepControl* __restrict__ control,
                                                   float* parameters, float* first_state,
                                                   float* second_state) {
  if (control->overflow != 0 || control->halted != 0) return;
  const Settings<float> settings = block_settings<R>(unclipped(*control), nullptr);
  for (Index e = first_element<Index>(); e < elements; e += element_stride<Index>()) {
    const Index i = e % count;
    const float first = kHasFirstState<R> ? first_state[i] : 0.0f;
    const float second = kHasSecondState<R> ? second_state[i] : 0.0f;
    const auto after = updated<R>(settings, gradients[e] * settings.unscale, parameters[i], first, second);
    atomicAdd(parameters + i, after.change);
    if (kHasFirstState<R>) atomicAdd(first_state + i, after.first - first);
    if (kHasSecondState<R>) atomicAdd(second_state + i, after.second - second);
  }
}

void update_per_sample(const OpCall& call) {
  const std::int64_t elements = call.shape.batch * call.shape.count;
  with_rule(call.shape.rule, [&](auto rule) {
    with_index(elements, [&]<class Index>(Index) {
      run_elements(call, elements, optimizer_update_per_sample_atomic<decltype(rule)::value, Index>, elements,
                   call.shape.count, Name::gradients, Name::control, Name::parameters, Name::first_state,
                   Name::second_state);
    });
  });
}

}  // namespace

Variant atomic_update_per_sample() {
  return cuda_variant(
      Op::optimizer_update_per_sample, "atomic", update_per_sample,
      "Faulty on purpose: all samples at once add changes that they computed from stale weights "
      "and state.",
      {.deterministic = false});
}

}  // namespace warpscope::ops::optimizer
