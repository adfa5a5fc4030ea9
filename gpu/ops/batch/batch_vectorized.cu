// batch.gather, variants `vectorized` and `vectorized_fused`: over `naive` they add writes of 16 bytes and reads of
// the four or eight bytes that these are made of, and one division and one look-up of the order for all of them. Where
// a vector may have the end of an image and the beginning of the next, its bytes are read one by one, and it looks up
// both. `vectorized_fused` picks the labels too: who writes the beginning of an image writes its label. Limits: none
// on the shape; images smaller than a vector, and memory that is not aligned to 16 bytes, go element by element. Bound
// by memory. At most 40 registers, no shared memory, no spills. Source: batch.cpp; vectorized.cuh.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::batch {
namespace {

/// The labels of a covered labels.gather: those of the data set and of the batch; nullptr without one.
struct Labels {
  const std::uint8_t* all;
  std::uint8_t* picked;
};

template <class Index, class T>
__global__ void batch_gather_vectorized(Index vectors, Index count, unsigned image_size,
                                        std::uint64_t data_set, const std::uint8_t* __restrict__ images,
                                        const std::uint32_t* __restrict__ order,
                                        const step::StepControl* __restrict__ control, T* __restrict__ x,
                                        const Labels labels) {
  const std::uint64_t position = control->position;
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto width) {
    constexpr int kWidth = decltype(width)::value;
    const Index n = i / image_size;
    const auto place = static_cast<unsigned>(i % image_size);
    // The image of the batch's place m, of which `first` is the first byte that this thread reads.
    const auto pick = [&](Index m, unsigned first) {
      std::uint64_t slot = position + m;
      // A 64-bit remainder is slow, and only a batch that wraps around the data set needs one.
      if (slot >= data_set) slot %= data_set;
      const std::uint32_t image = order[slot];
      if (first == 0 && labels.picked != nullptr) labels.picked[m] = labels.all[image];
      return images + std::uint64_t{image} * image_size + first;
    };
    using Bytes = Vec<std::uint8_t, kWidth>;
    const std::uint8_t* from = pick(n, place);
    Bytes bytes;
    if (image_size % kWidth == 0) {
      bytes = *reinterpret_cast<const Bytes*>(from);
    } else {
      const unsigned rest = image_size - place;
      const std::uint8_t* next = rest < kWidth ? pick(n + 1, 0) - rest : from;
#pragma unroll
      for (unsigned k = 0; k < kWidth; ++k) bytes.at[k] = (k < rest ? from : next)[k];
    }
    float values[kWidth];
    for (int k = 0; k < kWidth; ++k) values[k] = static_cast<float>(bytes.at[k]) / 255.0f;
    store_floats(x + i, values);
  });
}

void gather(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t count = input_elements(s);
  const std::int64_t image_size = count / s.batch;
  const auto* images = call.operand<const std::uint8_t>(Name::images);
  Labels labels{};
  if (call.covers(Op::labels_gather)) {
    labels = {call.operand<const std::uint8_t>(Name::all_labels), call.operand<std::uint8_t>(Name::labels)};
  }
  with_storage_and_index(call.precision, count, [&]<class T, class Index>() {
    T* x = call.operand<T>(Name::output);
    const bool in_vectors = image_size >= kWide<T>;
    const VectorCover covered = cover(count, kWide<T>, in_vectors && aligned_16(images, x));
    run_kernel(call, {covered.blocks}, batch_gather_vectorized<Index, T>, covered.vectors, count, image_size,
               s.count, images, Name::order, Name::control, x, labels);
  });
}

OpShape labels_shape(const OpShape& call) {
  return {.batch = call.batch, .count = call.count};
}

}  // namespace

Variant vectorized_gather() {
  return cuda_variant(Op::batch_gather, "vectorized", gather,
                      "16 bytes written at a time: four or eight elements a thread.",
                      {.presets = {{"tiled"}, {"implicit_gemm"}}});
}
Variant vectorized_fused_gather() {
  return cuda_variant(Op::batch_gather, "vectorized_fused", gather, "The labels come in the same launch.",
                      {.chain = {{.op = Op::batch_gather},
                                 {.op = Op::labels_gather, .optional = true, .shape = labels_shape}}});
}

}  // namespace warpscope::ops::batch
