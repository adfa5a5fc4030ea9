// upsample2d, variant `vectorized`: over `naive` it adds 16-byte accesses along the channels; forward reads
// each element of the smaller image once and writes it four times, instead of reading it four times. Limits:
// none on the shape; where the channels are not a multiple of a vector, or memory is not aligned to 16 bytes,
// the same kernel goes element by element. Bound by memory. At most 40 registers, no shared memory, no
// spills. Source: upsample2d.cpp; vectorized.cuh.

#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::upsample2d {
namespace {

/// The place in the larger image of the first of the four copies of element `i` of the smaller one. The rows
/// of all images are one long column of rows: row r of the one is rows 2r and 2r + 1 of the other whichever
/// image it is of.
template <class Index>
__device__ __forceinline__ Index first_copy(Index i, unsigned width, unsigned channels) {
  const Index pixel = i / channels;
  const Index row = pixel / width;
  const Index column = pixel % width;
  return (row * 4 * width + 2 * column) * channels + i % channels;
}

template <class Index, class T>
__global__ void upsample2d_forward_vectorized(Index vectors, Index count, unsigned width, unsigned channels,
                                              const T* __restrict__ x, T* __restrict__ y) {
  const Index down = static_cast<Index>(2) * width * channels;
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto elements) {
    using Elements = Vec<T, decltype(elements)::value>;
    const Elements value = *reinterpret_cast<const Elements*>(x + i);
    const Index copy = first_copy(i, width, channels);
    for (const Index place : {copy, copy + channels, copy + down, copy + down + channels}) {
      *reinterpret_cast<Elements*>(y + place) = value;
    }
  });
}

template <class Index, class T>
__global__ void upsample2d_backward_vectorized(Index vectors, Index count, unsigned width, unsigned channels,
                                               const T* __restrict__ dy, T* __restrict__ dx) {
  const Index down = static_cast<Index>(2) * width * channels;
  for_each_vector<kWide<T>>(vectors, count, [=](Index i, auto elements) {
    constexpr int kWidth = decltype(elements)::value;
    const T* copy = dy + first_copy(i, width, channels);
    float a[kWidth], b[kWidth], c[kWidth], d[kWidth];
    load_floats(copy, a);
    load_floats(copy + channels, b);
    load_floats(copy + down, c);
    load_floats(copy + down + channels, d);
    for (int k = 0; k < kWidth; ++k) a[k] = (a[k] + b[k]) + (c[k] + d[k]);
    store_floats(dx + i, a);
  });
}

// Both launches: `count` elements of the smaller image, `from` and `to` of either size.
template <class T>
VectorCover cover_channels(const OpShape& s, const T* from, const T* to) {
  return cover(input_elements(s), kWide<T>, s.in_channels % kWide<T> == 0 && aligned_16(from, to));
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage_and_index(call.precision, 4 * input_elements(s), [&]<class T, class Index>() {
    const T* x = call.operand<const T>(Name::input);
    T* y = call.operand<T>(Name::output);
    const VectorCover covered = cover_channels<T>(s, x, y);
    run_kernel(call, {covered.blocks}, upsample2d_forward_vectorized<Index, T>, covered.vectors,
               input_elements(s), s.width, s.in_channels, x, y);
  });
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage_and_index(call.precision, 4 * input_elements(s), [&]<class T, class Index>() {
    const T* dy = call.operand<const T>(Name::output_gradient);
    T* dx = call.operand<T>(Name::input_gradient);
    const VectorCover covered = cover_channels<T>(s, dy, dx);
    run_kernel(call, {covered.blocks}, upsample2d_backward_vectorized<Index, T>, covered.vectors,
               input_elements(s), s.width, s.in_channels, dy, dx);
  });
}

}  // namespace

Variant vectorized_forward() {
  return cuda_variant(Op::upsample2d_forward, "vectorized", forward,
                      "16 bytes at a time along the channels, read once and written four times.");
}
Variant vectorized_backward() {
  return cuda_variant(Op::upsample2d_backward, "vectorized", backward,
                      "16 bytes at a time along the channels: four or eight sums a thread.");
}

}  // namespace warpscope::ops::upsample2d
