// joint.weigh, variant `naive`: one thread per logit, of which there are a few hundred; the first also looks at the
// head's loss. Limits: none on the shape. Bound by its launch. No shared memory, no spills. Source: joint.cpp.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::joint {
namespace {

// Both gradients may be the same memory, hence no __restrict__ on them.
template <class Index, class T>
__global__ void joint_weigh_naive(Index count, const T* dy, const step::StepControl* control,
                                  const float* __restrict__ head_loss, float* loss, T* dz) {
  const float share = control->joint;
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>())
    dz[i] = from_float<T>(share * to_float(dy[i]));
  if (first_element<Index>() == 0 && !step::is_finite(*head_loss)) *loss = *head_loss;
}

void weigh(const OpCall& call) {
  const std::int64_t count = call.shape.batch * call.shape.in_channels;
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, joint_weigh_naive<Index, T>, count, Name::output_gradient, Name::control,
                 Name::head_loss, Name::loss, Name::gradient);
  });
}

}  // namespace

Variant naive_weigh() {
  return naive_variant(Op::joint_weigh, weigh, "One thread per logit.");
}

}  // namespace warpscope::ops::joint
