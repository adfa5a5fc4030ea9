// labels.gather, variant `naive`: the first rung on CUDA, and the last: it is launched more often than it is
// busy. One thread per label. The position is read from device memory, so that one captured graph serves
// every step. Limits: none on the shape. Bound by the latency of reads that depend on each other. At most 26
// registers, no shared memory, no spills. Source: labels.cpp.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::labels {
namespace {

__global__ void labels_gather_naive(std::uint64_t batch, std::uint64_t data_set,
                                    const std::uint8_t* __restrict__ labels,
                                    const std::uint32_t* __restrict__ order,
                                    const step::StepControl* __restrict__ control,
                                    std::uint8_t* __restrict__ output) {
  const std::uint64_t position = control->position;
  for (auto n = first_element<std::uint64_t>(); n < batch; n += element_stride<std::uint64_t>()) {
    std::uint64_t slot = position + n;
    // A 64-bit remainder is slow, and only a batch that wraps around the data set needs one.
    if (slot >= data_set) slot %= data_set;
    output[n] = labels[order[slot]];
  }
}

void gather(const OpCall& call) {
  const OpShape& s = call.shape;
  run_elements(call, s.batch, labels_gather_naive, s.batch, s.count, Name::all_labels, Name::order,
               Name::control, Name::labels);
}

}  // namespace

Variant naive_gather() {
  return naive_variant(Op::labels_gather, gather, "One thread per label.");
}

}  // namespace warpscope::ops::labels
