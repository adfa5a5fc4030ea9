#pragma once
// What the wide layers' backward_input (hopper_activations.cuh) reads beside its operands while the products run: the
// mask of the ReLU before, as bits, and, of lines where the pooling before that is undone, the places of the largest.

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_activations_shape.cuh"

namespace warpscope::ops::conv2d::fused::hopper {

/// Bit i: element i of eight is above zero (and no NaN).
__device__ __forceinline__ unsigned positive_bits(mma::Tf32, const uint4 (&eight)[2]) {
  constexpr unsigned kInfinity = 0x7f800000;
  const unsigned words[8] = {eight[0].x, eight[0].y, eight[0].z, eight[0].w,
                             eight[1].x, eight[1].y, eight[1].z, eight[1].w};
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) bits |= (words[i] - 1 < kInfinity ? 1u : 0u) << i;
  return bits;
}
/// All bits of the halves that are above zero.
__device__ __forceinline__ unsigned positive_halves(mma::Fp16, unsigned word) {
  return __hgt2_mask(reinterpret_cast<const __half2&>(word), __half2{});
}
__device__ __forceinline__ unsigned positive_halves(mma::Bf16, unsigned word) {
  return __hgt2_mask(reinterpret_cast<const __nv_bfloat162&>(word), __nv_bfloat162{});
}
template <class Math>
__device__ __forceinline__ unsigned positive_bits(Math, const uint4 (&eight)[1]) {
  const unsigned words[4] = {eight[0].x, eight[0].y, eight[0].z, eight[0].w};
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) bits |= positive_halves(Math{}, words[i]) & (0x00020001u << (2 * i));
  return (bits | bits >> 16) & 0xff;
}

/// What is kept of eight channels: their bits, or two bits each, the place in the window, 3 where the bit is not set.
template <class S>
using Kept = std::conditional_t<S::unpool, std::uint16_t, std::uint8_t>;

/// Those two bits, from the places, a byte each, and the bits.
__device__ __forceinline__ std::uint16_t places_of(const uint2& bytes, unsigned bits) {
  constexpr unsigned kPlaces = 0x03030303;
  const auto four = [](unsigned b) { return (b | b >> 6 | b >> 12 | b >> 18) & 0xff; };
  const unsigned places = four(bytes.x & kPlaces) | four(bytes.y & kPlaces) << 8;
  unsigned none = ~bits & 0xff;
  none = (none | none << 4) & 0x0f0f;
  none = (none | none << 2) & 0x3333;
  none = (none | none << 1) & 0x5555;
  return static_cast<std::uint16_t>(places | 3 * none);
}

/// A warp: the mask of one consumer's pixels, 16 bytes a pixel, half a warp to a pixel: a lane has eight channels of
/// every second pixel; of slim tiles 8 bytes and a quarter of a warp. Many reads are under way at once and few
/// instructions go to each, or products of a few taps would wait for it. Where a pooling is undone, 32 bytes a pixel,
/// with the places of `argmax`, which has a byte where x has an element.
template <class S>
__device__ void read_mask(const ActivationsProblem& q, const Places<S>& at, const typename S::Storage* x,
                          const std::uint8_t* argmax, unsigned char* mask, int consumer, int lane) {
  constexpr int kAtOnce = S::unpool ? 8 : 16;  // reads of 16 bytes of x
  constexpr int kChunks = 8 * static_cast<int>(sizeof(typename S::Storage)) / 16;
  constexpr int kLanes = S::columns / 8;  // of a pixel
  constexpr int kTogether = 32 / kLanes;  // pixels of one instruction
  constexpr int kGroups = kPatchSide / kTogether;
  constexpr int kRows = kAtOnce / (kGroups * kChunks);  // of a patch, at once
  const std::int64_t step = kTogether * (S::small ? q.to.image : q.to.column);
  const bool masked = !S::unpool || q.masked;
  auto* kept = reinterpret_cast<Kept<S>*>(mask);
  unsigned parity = 1;
  for (int i = static_cast<int>(blockIdx.x); i < q.tiles; i += static_cast<int>(gridDim.x)) {
    const Tile tile = tile_of<S>(q, i);
    wait(at.mask_empty(consumer), parity);
    parity ^= 1;
    const int channel = tile.channel + 8 * (lane % kLanes);
#pragma unroll 1
    for (int first = 0; first < S::patches * kPatchSide; first += kRows) {
      const Place patch = place_of<S::small>(q.grid, tile.patch + consumer * S::patches + first / kPatchSide);
      uint4 eights[kRows][kGroups][kChunks];
      uint2 places[kRows][kGroups];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const Place its = pixel_of<S::small>(patch, first % kPatchSide + r, lane / kLanes);
        const bool line = channel < q.to.channels && its.row < q.to.height &&
                          (S::small ? its.column < q.to.width : its.image < q.to.images);
        const int pixels = !line ? 0 : S::small ? q.to.images - its.image : q.to.width - its.column;
        const std::int64_t element = q.to.at(its.image, its.row, its.column, 0) + channel;
        const auto* from = x + element;
#pragma unroll
        for (int k = 0; k < kGroups; ++k) {
#pragma unroll
          for (int c = 0; c < kChunks; ++c) {
            eights[r][k][c] = kTogether * k < pixels && masked
                                  ? __ldg(reinterpret_cast<const uint4*>(from + k * step) + c)
                                  : uint4{0, 0, 0, 0};
          }
          if constexpr (S::unpool) {
            places[r][k] = kTogether * k < pixels
                               ? __ldg(reinterpret_cast<const uint2*>(argmax + element + k * step))
                               : uint2{0, 0};
          }
        }
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int k = 0; k < kGroups; ++k) {
          const unsigned bits = masked ? positive_bits(typename S::Math{}, eights[r][k]) : 0xff;
          Kept<S>& to = kept[((first + r) * kPatchSide + kTogether * k) * kLanes + lane];
          if constexpr (S::unpool) {
            to = places_of(places[r][k], bits);
          } else {
            to = static_cast<std::uint8_t>(bits);
          }
        }
      }
    }
    arrive(at.mask_full(consumer));
  }
}

}  // namespace warpscope::ops::conv2d::fused::hopper
