#pragma once
// batch.augment with one thread per element, for any shape: all of `naive`, and what is left over of
// `vectorized`.

#include "gpu/ops/augment/draw.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::augment {

/// What a call reads and writes but the output, whose type the precision says.
struct Batch {
  const std::uint8_t* images;
  const std::uint32_t* order;
  const step::StepControl* control;
  std::uint64_t data_set;          ///< images of it
  const std::uint8_t* all_labels;  ///< of a covered labels.gather; nullptr without one
  std::uint8_t* labels;
};

inline Batch batch_of(const OpCall& call) {
  Batch batch{call.operand<const std::uint8_t>(Name::images),
              call.operand<const std::uint32_t>(Name::order),
              call.operand<const step::StepControl>(Name::control),
              static_cast<std::uint64_t>(call.shape.count),
              nullptr,
              nullptr};
  if (call.covers(Op::labels_gather)) {
    batch.all_labels = call.operand<const std::uint8_t>(Name::all_labels);
    batch.labels = call.operand<std::uint8_t>(Name::labels);
  }
  return batch;
}

/// The place in the data set of image n of the batch.
__device__ __forceinline__ std::uint32_t place_of(const Batch& batch, std::uint64_t n) {
  std::uint64_t slot = batch.control->position + n;
  // A 64-bit remainder is slow, and only a batch that wraps around the data set needs one.
  if (slot >= batch.data_set) slot %= batch.data_set;
  return batch.order[slot];
}

template <class Index, class T>
__global__ void batch_augment_elements(Index count, const Extents extents, std::int64_t images,
                                       const Batch batch, T* __restrict__ x) {
  const auto size = static_cast<unsigned>(extents.height) * extents.width * extents.channels;
  const std::uint64_t key = dropout::key_of(*batch.control, kSalt);
  const bool mixes = batch.control->mixup > 0.0f;
  const auto shares = shares_of<float>(*batch.control);
  for (Index i = first_element<Index>(); i < count; i += element_stride<Index>()) {
    const auto n = static_cast<std::int64_t>(i / size);
    const auto place = static_cast<unsigned>(i % size);
    const auto pixel = static_cast<int>(place / extents.channels);
    const auto c = static_cast<int>(place % extents.channels);
    const int row = pixel / extents.width, column = pixel % extents.width;
    const auto element = [&](std::int64_t image) {
      const auto draw = draw_image<float>(*batch.control, key, static_cast<std::uint64_t>(image), extents);
      const std::uint8_t* const bytes = batch.images + std::uint64_t{place_of(batch, image)} * size;
      return element_of(draw, bytes, extents, row, column, c);
    };
    float value = element(n);
    if (mixes) value = shares.own * value + shares.next * element(partner_of(n, images));
    x[i] = from_float<T>(value);
    if (place == 0 && batch.labels != nullptr) batch.labels[n] = batch.all_labels[place_of(batch, n)];
  }
}

/// Launches it for all elements of the batch.
template <class T>
void augment_elements(const OpCall& call) {
  const std::int64_t count = input_elements(call.shape);
  with_index(count, [&]<class Index>(Index) {
    run_elements(call, count, batch_augment_elements<Index, T>, count, extents_of(call.shape),
                 call.shape.batch, batch_of(call), Name::output);
  });
}

}  // namespace warpscope::ops::augment
