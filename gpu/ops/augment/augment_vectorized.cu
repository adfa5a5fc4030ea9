// batch.augment, variants `vectorized` and `vectorized_fused`: one thread takes four neighbouring pixels of a
// row. Over `naive` they add that what is drawn for an image is drawn once for all of these; that their bytes,
// which lie side by side, mirrored or not, come in words of four bytes at any alignment; that the three
// channels of a pixel are read once; and writes of 16 bytes (8 in 16-bit precisions). Pixels whose source
// crosses the border are read byte by byte. `vectorized_fused` picks the labels too: who writes the beginning of
// an image writes its label. Limits: one or three channels and a width that is a multiple of four; other shapes
// go element by element, as in `naive`. Bound by memory and the launch. At most 62 registers, no shared memory, no
// spills. Source: augment.cpp; vectorized.cuh; the words: "CUDA C++ Programming Guide", funnel shifts.

#include "gpu/ops/augment/augment_elements.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::augment {
namespace {

constexpr int kPixels = 4;  ///< of a thread
constexpr int kBytes = 4;   ///< of a word

/// The bytes from `from` on, which need not be aligned. No word is read of which no byte is wanted.
template <int N>
__device__ __forceinline__ void load_bytes(const std::uint8_t* from, std::uint8_t (&bytes)[N]) {
  static_assert(N % kBytes == 0);
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const auto* words = reinterpret_cast<const std::uint32_t*>(address - address % kBytes);
  const auto shift = static_cast<unsigned>(address % kBytes) * 8;
  std::uint32_t low = __ldg(words);
#pragma unroll
  for (int i = 0; i < N / kBytes; ++i) {
    const bool wanted = i + 1 < N / kBytes || shift != 0;
    const std::uint32_t high = wanted ? __ldg(words + i + 1) : 0;
    const std::uint32_t four = __funnelshift_r(low, high, shift);
#pragma unroll
    for (int b = 0; b < kBytes; ++b) bytes[kBytes * i + b] = static_cast<std::uint8_t>(four >> (8 * b));
    low = high;
  }
}

/// The bytes of the kPixels pixels from (row, column) of the changed image on, from the data set's `image`.
template <int C>
__device__ __forceinline__ void source_bytes(const ImageDraw<float>& draw, const std::uint8_t* image,
                                             const Extents& extents, int row, int column,
                                             std::uint8_t (&bytes)[kPixels * C]) {
  const std::uint8_t* const from = image + std::int64_t{source_row(draw, row, extents)} * extents.width * C;
  const int first =
      (draw.mirrored ? extents.width - kPixels - column : column) + draw.right;  // the leftmost source
  if (first >= 0 && first + kPixels <= extents.width) {
    std::uint8_t run[kPixels * C];
    load_bytes(from + std::int64_t{first} * C, run);
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
#pragma unroll
      for (int c = 0; c < C; ++c) {
        bytes[p * C + c] = draw.mirrored ? run[(kPixels - 1 - p) * C + c] : run[p * C + c];
      }
    }
    return;
  }
#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
    const std::uint8_t* const pixel = from + std::int64_t{source_column(draw, column + p, extents)} * C;
#pragma unroll
    for (int c = 0; c < C; ++c) bytes[p * C + c] = __ldg(pixel + c);
  }
}

/// values += share times the changed pixels.
template <int C>
__device__ __forceinline__ void add_pixels(const ImageDraw<float>& draw, const std::uint8_t* image,
                                           const Extents& extents, int row, int column, float share,
                                           float (&values)[kPixels * C]) {
  std::uint8_t bytes[kPixels * C];
  source_bytes<C>(draw, image, extents, row, column, bytes);
#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
    float pixel[C];
#pragma unroll
    for (int c = 0; c < C; ++c) pixel[c] = lit(draw, bytes[p * C + c]);
    if (C == 3 && draw.coloured) {
      const float grey = luma(pixel[0], pixel[C / 2], pixel[C - 1]);
#pragma unroll
      for (int c = 0; c < C; ++c) pixel[c] = saturated(draw, pixel[c], grey);
    }
    const bool cut = is_cut_out(draw, row, column + p);
#pragma unroll
    for (int c = 0; c < C; ++c) values[p * C + c] += share * (cut ? 0.5f : pixel[c]);
  }
}

template <int C, class Index, class T>
__global__ void batch_augment_vectorized(Index groups, const Extents extents, std::int64_t images,
                                         const Batch batch, T* __restrict__ x) {
  const auto in_row = static_cast<unsigned>(extents.width / kPixels);
  const auto in_image = in_row * static_cast<unsigned>(extents.height);
  const std::int64_t size = std::int64_t{extents.height} * extents.width * C;
  const std::uint64_t key = dropout::key_of(*batch.control, kSalt);
  const auto shares = shares_of<float>(*batch.control);
  for (Index i = first_element<Index>(); i < groups; i += element_stride<Index>()) {
    const auto own = static_cast<std::int64_t>(i / in_image);
    const auto place = static_cast<unsigned>(i % in_image);
    const auto row = static_cast<int>(place / in_row);
    const auto column = static_cast<int>(place % in_row) * kPixels;
    float values[kPixels * C] = {};
    // One body for both images: two of them would need the registers of both.
#pragma unroll 1
    for (int turn = 0; turn < (shares.next > 0.0f ? 2 : 1); ++turn) {
      const std::int64_t n = turn == 0 ? own : partner_of(own, images);
      const auto draw = draw_image<float>(*batch.control, key, static_cast<std::uint64_t>(n), extents);
      const std::uint32_t picked = place_of(batch, static_cast<std::uint64_t>(n));
      add_pixels<C>(draw, batch.images + picked * size, extents, row, column,
                    turn == 0 ? shares.own : shares.next, values);
      if (turn == 0 && place == 0 && batch.labels != nullptr) batch.labels[n] = batch.all_labels[picked];
    }
    T* const to = x + i * (kPixels * C);
#pragma unroll
    for (int k = 0; k < kPixels * C; k += kPixels) {
      Vec<T, kPixels> vector;
#pragma unroll
      for (int j = 0; j < kPixels; ++j) vector.at[j] = from_float<T>(values[k + j]);
      *reinterpret_cast<Vec<T, kPixels>*>(to + k) = vector;
    }
  }
}

template <int C, class T>
void augment_groups(const OpCall& call) {
  const std::int64_t groups = input_elements(call.shape) / (kPixels * C);
  with_index(groups, [&]<class Index>(Index) {
    run_elements(call, groups, batch_augment_vectorized<C, Index, T>, groups, extents_of(call.shape),
                 call.shape.batch, batch_of(call), Name::output);
  });
}

void augment_vectorized(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&]<class T>(T) {
    const bool whole = s.width % kPixels == 0 && aligned_16(call.operand<const std::uint8_t>(Name::images),
                                                            call.operand<T>(Name::output));
    if (whole && s.in_channels == 3) return augment_groups<3, T>(call);
    if (whole && s.in_channels == 1) return augment_groups<1, T>(call);
    augment_elements<T>(call);
  });
}

OpShape labels_shape(const OpShape& call) {
  return {.batch = call.batch, .count = call.count};
}

}  // namespace

Variant vectorized_augment() {
  return cuda_variant(Op::batch_augment, "vectorized", augment_vectorized,
                      "Four pixels a thread: one draw for all, bytes read in words, wide writes.",
                      {.presets = {{"tiled"}, {"implicit_gemm"}}});
}
Variant vectorized_fused_augment() {
  return cuda_variant(Op::batch_augment, "vectorized_fused", augment_vectorized,
                      "The labels come in the same launch.",
                      {.chain = {{.op = Op::batch_augment},
                                 {.op = Op::labels_gather, .optional = true, .shape = labels_shape}}});
}

}  // namespace warpscope::ops::augment
