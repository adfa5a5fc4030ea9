#pragma once
// The parts of the wide layers' product kernels (hopper_activations.cuh, hopper_backward_weights*.cu): rings
// of stages in shared memory, descriptors of the operands' tiles, and where a patch lies.
//
// A tile lies in shared memory as the copy engine writes it: rows of 128 bytes (a slice of the channels of a
// pixel or of a filter: 64 of 16 bits, 32 of TF32), the 16-byte chunk c of row r at chunk c ^ (r % 8), tiles
// beginning at multiples of 1024 bytes. As an operand of wgmma it is
//
//   straight  k runs along the rows, eight rows to a period of 1024 bytes; a step of k is 32 bytes
//   turned    k runs across the rows, the tile's 64 channels are rows or columns of the result; eight k to a
//             period of 1024 bytes, a step of 16 k is 2048 bytes; the next 64 channels lie `next` bytes on;
//             16 bits only
//
// Source: NVIDIA, "Parallel Thread Execution ISA", "Asynchronous Warpgroup Level Matrix Shared Memory
// Layout": K-major and MN-major canonical layouts with 128-byte swizzling, ((8,m),(T,2k)):((8T,SBO),(1,T))
// and ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO)) in 16-byte units T.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_ptx.cuh"

namespace warpscope::ops::conv2d::fused::hopper {

inline constexpr unsigned kPeriodBytes = 1024;  ///< of the swizzle: eight rows; a row of a patch
inline constexpr unsigned kWarpgroup = 128;     ///< threads
inline constexpr int kSums = 64;                ///< of a thread, of 64 x 128
inline constexpr int kSteps = 4;                ///< products over a slice of channels, or 64 pixels
inline constexpr unsigned kStraightStep = 32;   ///< bytes between steps
inline constexpr unsigned kTurnedStep = 2 * kPeriodBytes;

/// From a tap to the one below it in a patch, of one image or of small ones.
template <bool kSmall>
inline constexpr unsigned kTapBytes = (kSmall ? kSmallColumns : 1) * kPeriodBytes;

/// A patch with the rows that `taps` taps of a column reach; of lines that are pooled, with all positions of windows of
/// `kWindow`.
template <int kTaps, bool kSmall = false, int kWindow = 1>
inline constexpr unsigned kPatchBytes =
    (kWindow * (kSmall ? kSmallSide : kPatchSide) + kTaps - 1) * kTapBytes<kSmall>;

/// The stages of a ring one after the other; the phase's parity changes each round.
template <int kStages>
struct Ring {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// The i-th of an array of barriers.
__device__ __forceinline__ SharedAddress barrier_at(SharedAddress barriers, int i) {
  return barriers + static_cast<unsigned>(i) * 8;
}

/// Addresses in shared memory of S::stages stages of S::stage_bytes each, and, at S::barriers_at, of the barriers that
/// say that they are full, then of those that say that they are empty.
template <class S>
struct StagePlaces {
  SharedAddress base;

  __device__ SharedAddress stage(int i) const { return base + static_cast<unsigned>(i) * S::stage_bytes; }
  __device__ SharedAddress full(int i) const { return barrier_at(base + S::barriers_at, i); }
  __device__ SharedAddress empty(int i) const { return barrier_at(base + S::barriers_at, S::stages + i); }
};

/// An operand's descriptor, in parts: where the tile is may change, the rest not. `next`: see "turned". The
/// tile has the first of each `every` periods.
__device__ __forceinline__ std::uint64_t describe(SharedAddress tile, unsigned next, unsigned every = 1) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  const std::uint64_t period = std::uint64_t{every * kPeriodBytes >> 4} << 32;
  return kSwizzle128 | period | (std::uint64_t{next >> 4} << 16) | std::uint64_t{(tile & 0x3ffff) >> 4};
}

/// The same tile `bytes` further.
__device__ __forceinline__ std::uint64_t advanced(std::uint64_t descriptor, unsigned bytes) {
  return descriptor + (bytes >> 4);
}

/// Where a patch begins. Those past the last lie in images that do not exist: they are read as zeros and not
/// written.
struct Place {
  int image;
  int row;
  int column;
};

template <bool kSmall = false>
__device__ __forceinline__ Place place_of(const Grid& grid, int patch) {
  const int line = patch / grid.across;
  const int image = line / grid.down;
  if constexpr (kSmall) return {image * kSmallImages, 0, (patch - line * grid.across) * kSmallColumns};
  return {image, (line - image * grid.down) * kPatchSide, (patch - line * grid.across) * kPatchSide};
}

/// The next patch.
template <bool kSmall = false>
__device__ __forceinline__ void advance(Place& place, const Grid& grid) {
  place.column += kSmall ? kSmallColumns : kPatchSide;
  if (place.column < grid.width) return;
  place.column = 0;
  if constexpr (kSmall) {
    place.image += kSmallImages;
  } else {
    place.row += kPatchSide;
    if (place.row < grid.height) return;
    place.row = 0;
    ++place.image;
  }
}

/// Where the patch's pixel i of the eight in the given row of 1024 bytes lies.
template <bool kSmall>
__device__ __forceinline__ Place pixel_of(const Place& patch, int row, int i) {
  if constexpr (kSmall) {
    return {patch.image + i, patch.row + row / kSmallColumns, patch.column + row % kSmallColumns};
  }
  return {patch.image, patch.row + row, patch.column + i};
}

/// Copies a slice of channels of a patch that begins at this place, by the map of one image or of small ones.
template <bool kSmall>
__device__ __forceinline__ void load_patch(SharedAddress to, const CUtensorMap& map, SharedAddress barrier,
                                           int channel, int column, int row_parity, int row, int image) {
  if constexpr (kSmall) {
    load_box(to, map, barrier, channel, image, column, row, 0);
  } else {
    load_box(to, map, barrier, channel, column, row_parity, row, image);
  }
}

/// The first byte of the dynamic shared memory where a tile may begin; kAlignSlack bytes are needed for that.
inline constexpr unsigned kAlignSlack = kPeriodBytes;
__device__ __forceinline__ SharedAddress first_tile(const void* shared) {
  return (shared_address(shared) + kPeriodBytes - 1) / kPeriodBytes * kPeriodBytes;
}

}  // namespace warpscope::ops::conv2d::fused::hopper
