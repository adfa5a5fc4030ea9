// batch.gather, variant `naive`: the first rung on CUDA. One thread per element of the batch, one byte read
// each. The position is read from device memory, so that one captured graph serves every step. Limits: none
// on the shape; the data set may hold more than 2^32 bytes. Bound by memory: 5 bytes an element, 3 in 16-bit
// precisions. At most 30 registers, no shared memory, no spills. Source: batch.cpp.

#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch {
namespace {

template <class Index, class T>
__global__ void batch_gather_naive(Index count, unsigned image_size, std::uint64_t data_set,
                                   const std::uint8_t* __restrict__ images,
                                   const std::uint32_t* __restrict__ order,
                                   const step::StepControl* __restrict__ control, T* __restrict__ x) {
  const std::uint64_t position = control->position;
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const Index image = i / image_size;
    const auto place = static_cast<unsigned>(i % image_size);
    std::uint64_t slot = position + image;
    // A 64-bit remainder is slow, and only a batch that wraps around the data set needs one.
    if (slot >= data_set) slot %= data_set;
    const std::uint8_t value = images[std::uint64_t{order[slot]} * image_size + place];
    x[i] = from_float<T>(static_cast<float>(value) / 255.0f);
  }
}

void gather(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = input_elements(s);
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    run_elements(call, count, batch_gather_naive<Index, T>, count, count / s.batch, s.count, Name::images,
                 Name::order, Name::control, Name::output);
  });
}

}  // namespace

Variant naive_gather() {
  return naive_variant(Op::batch_gather, gather, "One thread per element of the batch, one byte read each.");
}

}  // namespace warpscope::ops::batch
