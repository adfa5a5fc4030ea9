#pragma once
// How the sums of hopper_general.cuh reach global memory: of a warp 16 pixels, of a lane (group = lane / 4, member =
// lane % 4) two of them, 8 apart, and of their channels 8 j + 2 member and one more. The four members exchange their
// words, so that each writes 16 bytes; in FP32 each writes its own 8.
//
// GELU, and its derivative, are long: a loop does them to what a lane has just written, which it finds in the L2 cache.
// So the instructions of all other calls stay few, and what GELU reads is rounded, as the backward pass reads it. The
// same loop adds another gradient, for which there are no registers before the sums are written.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/activated.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_epilogue.cuh"
#include "gpu/ops/conv2d/hopper_general/hopper_general.h"

namespace warpscope::ops::conv2d::hopper_general {

/// Where a call's result goes, and what is done to it first; see Tensors.
template <class Math>
struct Result {
  const typename Math::Storage* bias;
  const typename Math::Storage* mask;
  typename Math::Storage* written;  ///< takes the sums: `out`, or what an activation reads
  typename Math::Storage* out;
  Activation after;  ///< another than ReLU; behind an addition any
  /// What its derivative reads; nullptr: the activation itself is done.
  const typename Math::Storage* beside;
  const typename Math::Storage* addend;  ///< is added before the derivative; nullptr: nothing is
  float* parts;  ///< of moments (batch_norm/partial_moments.h), where the call leaves them
};

/// The chunks of a pixel's channels that a lane writes at once: a member's first one, and from one to its next. So many
/// are changed by a function at once, which is long and is written out for each; more do not fit the registers.
template <class Math, int kCount>
struct Chunks {
  using Words = uint4;
  static constexpr int count = (kCount / 4 + 3) / 4;
  static constexpr int first = 8;
  static constexpr int step = 32;
  static constexpr int at_once = count > 5 ? 1 : count > 3 ? 2 : count;
};
template <int kCount>
struct Chunks<mma::Tf32, kCount> {
  using Words = uint2;
  static constexpr int count = kCount / 4;
  static constexpr int first = 2;
  static constexpr int step = 8;
  static constexpr int at_once = 4;
};

/// The first element of a pixel of the lattice.
__device__ __forceinline__ std::int64_t element_of(const Problem& q, const Lattice& lattice, int pixel) {
  if (q.write_step == 1) return static_cast<std::int64_t>(pixel) * q.channels;
  const int line = pixel / lattice.right.extent;
  const int image = line / lattice.down.extent;
  const int row = lattice.down.first + (line - image * lattice.down.extent) * q.write_step;
  const int column = lattice.right.first + (pixel - line * lattice.right.extent) * q.write_step;
  return ((static_cast<std::int64_t>(image) * q.rows + row) * q.columns + column) * q.channels;
}

/// Prefetches what a tensor has of a pixel, `from` its element at `channel` on.
template <int kColumns, class Storage>
__device__ __forceinline__ void prefetch_pixel(const Problem& q, const Storage* from, int channel) {
  constexpr int kLine = 128 / static_cast<int>(sizeof(Storage));
#pragma unroll
  for (int i = 0; i < kColumns; i += kLine) {
    if (channel + i < q.channels) fused::hopper::prefetch_line(from + i);
  }
}

/// Prefetches what is read beside the sums of a pixel when these are done.
template <int kColumns, bool kSummed, class Math>
__device__ __forceinline__ void prefetch_beside(const Problem& q, const Lattice& lattice,
                                                const Result<Math>& to, int pixel, int channel) {
  const auto* beside = to.mask != nullptr ? to.mask : to.beside;
  if ((!kSummed && beside == nullptr) || pixel >= lattice.pixels) return;
  const std::int64_t first = element_of(q, lattice, pixel) + channel;
  if (beside != nullptr) prefetch_pixel<kColumns>(q, beside + first, channel);
  if constexpr (kSummed) prefetch_pixel<kColumns>(q, to.addend + first, channel);
}

/// The bias of two neighbouring channels, zeros where there is none.
template <class Math>
__device__ __forceinline__ float2 bias_of(const Problem& q, const Result<Math>& to, int channel) {
  if (to.bias == nullptr || channel >= q.channels) return {0.0f, 0.0f};
  return {mma::widen(Math{}, to.bias[channel]), mma::widen(Math{}, to.bias[channel + 1])};
}

/// All bits of the halves that are larger than zero and no NaN.
template <class Math>
__device__ __forceinline__ unsigned positive(Math, unsigned halves) {
  const float low = mma::widen(Math{}, static_cast<std::uint16_t>(halves & 0xffff));
  const float high = mma::widen(Math{}, static_cast<std::uint16_t>(halves >> 16));
  return (low > 0.0f ? 0x0000ffffu : 0u) | (high > 0.0f ? 0xffff0000u : 0u);
}

/// What stands for 16 bytes of the mask where nothing is masked or written.
template <class Math>
__device__ __forceinline__ uint4 read_mask(const Result<Math>& to, std::int64_t element, bool reads) {
  if (to.mask == nullptr || !reads) return {};
  return __ldg(reinterpret_cast<const uint4*>(to.mask + element));
}

template <class Math>
__device__ __forceinline__ void keep_positive(Math, unsigned (&w)[4], const uint4& beside) {
  w[0] &= positive(Math{}, beside.x);
  w[1] &= positive(Math{}, beside.y);
  w[2] &= positive(Math{}, beside.z);
  w[3] &= positive(Math{}, beside.w);
}

/// The sums of 16 pixels from `pixel` on, and 2 kCount channels from `channel` on. In 16 bits.
template <class Math, int kCount>
__device__ __forceinline__ void write_rows(Math, const float (&sums)[kCount], const Problem& q,
                                           const Lattice& lattice, const Result<Math>& to, int pixel,
                                           int channel, const fused::hopper::Lane& lane) {
  constexpr int kEights = kCount / 4;
  constexpr int kQuads = (kEights + 3) / 4;
  constexpr int kAtOnce = 3;  // reads of the mask under way
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int mine = pixel + lane.group + 8 * half;
    const bool exists = mine < lattice.pixels;
    const std::int64_t first = element_of(q, lattice, exists ? mine : 0) + channel + 8 * lane.member;
    const auto writes = [&](int quad) {
      return exists && 4 * quad + lane.member < kEights &&
             channel + 8 * (4 * quad + lane.member) < q.channels;
    };
    uint4 beside[kAtOnce];
#pragma unroll
    for (int quad = 0; quad < kQuads; ++quad) {
      if (quad % kAtOnce == 0) {
#pragma unroll
        for (int ahead = 0; ahead < kAtOnce && quad + ahead < kQuads; ++ahead) {
          beside[ahead] = read_mask(to, first + 32 * (quad + ahead), writes(quad + ahead));
        }
      }
      unsigned w[4] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = 4 * quad + i;
        if (j >= kEights) continue;
        w[i] = mma::narrow_pair(Math{}, fused::hopper::activate(sums[4 * j + 2 * half], q.relu),
                                fused::hopper::activate(sums[4 * j + 2 * half + 1], q.relu));
      }
      transpose(w, lane.member);
      if (to.mask != nullptr) keep_positive(Math{}, w, beside[quad % kAtOnce]);
      if (writes(quad)) fused::hopper::write_chunk(to.written + first + 32 * quad, w);
    }
  }
}

/// The same in TF32.
template <int kCount>
__device__ __forceinline__ void write_rows(mma::Tf32, const float (&sums)[kCount], const Problem& q,
                                           const Lattice& lattice, const Result<mma::Tf32>& to, int pixel,
                                           int channel, const fused::hopper::Lane& lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int mine = pixel + lane.group + 8 * half;
    if (mine >= lattice.pixels) continue;
    const std::int64_t first = element_of(q, lattice, mine) + channel + 2 * lane.member;
#pragma unroll
    for (int j = 0; j < kCount / 4; ++j) {
      if (channel + 8 * j >= q.channels) continue;
      float2 pair{fused::hopper::activate(sums[4 * j + 2 * half], q.relu),
                  fused::hopper::activate(sums[4 * j + 2 * half + 1], q.relu)};
      if (to.mask != nullptr) {
        const float2 beside = __ldg(reinterpret_cast<const float2*>(to.mask + first + 8 * j));
        if (!(beside.x > 0.0f)) pair.x = 0.0f;
        if (!(beside.y > 0.0f)) pair.y = 0.0f;
      }
      fused::hopper::write_floats(to.written + first + 8 * j, pair.x, pair.y);
    }
  }
}

/// What a lane changes at once, with what is added to it first, if `kSummed`, and what the change reads beside it.
template <class Math, int kCount, bool kSummed>
struct Changed {
  using C = Chunks<Math, kCount>;
  using Words = typename C::Words;
  static constexpr int at_once = C::at_once;
  static constexpr int turns = (C::count + at_once - 1) / at_once;  ///< of a pixel

  std::int64_t first = 0;  ///< its first element
  unsigned exists = 0;     ///< a bit each
  Words words[at_once];
  Words beside[at_once];
  Words addend[kSummed ? at_once : 1];

  __device__ __forceinline__ void read(const Problem& q, const Lattice& lattice, const Result<Math>& to,
                                       int pixel, int channel, int turn, int member) {
    const int offset = C::step * at_once * turn + C::first * member;
    first = element_of(q, lattice, pixel < lattice.pixels ? pixel : 0) + channel + offset;
    exists = 0;
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const int mine = offset + C::step * k;
      if (pixel >= lattice.pixels || mine >= 2 * kCount || channel + mine >= q.channels) continue;
      exists |= 1u << k;
      const std::int64_t place = first + C::step * k;
      words[k] = *reinterpret_cast<const Words*>(to.written + place);
      if constexpr (kSummed) addend[k] = __ldg(reinterpret_cast<const Words*>(to.addend + place));
      if (to.beside != nullptr) beside[k] = __ldg(reinterpret_cast<const Words*>(to.beside + place));
    }
  }

  template <class Change>
  __device__ __forceinline__ void write(typename Math::Storage* out, Change change) const {
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      if ((exists >> k & 1u) == 0) continue;
      Words from = words[k];
      if constexpr (kSummed) {
        from = changed_words<Math>(from, addend[k], [](float a, float b) { return a + b; });
      }
      *reinterpret_cast<Words*>(out + first + C::step * k) = changed_words<Math>(from, beside[k], change);
    }
  }
};

/// change(value, the number beside it) of what write_rows() wrote, to which the addend comes first if `kSummed`, of all
/// rows of a warp: `kProducts` times 16 that are kProductRows apart. While some are changed, the next ones are on their
/// way.
template <int kProducts, int kCount, bool kSummed, class Math, class Change>
__device__ __forceinline__ void change_rows(const Problem& q, const Lattice& lattice, const Result<Math>& to,
                                            int pixel, int channel, const fused::hopper::Lane& lane,
                                            Change change) {
  using Some = Changed<Math, kCount, kSummed>;
  constexpr int kTurns = 2 * kProducts * Some::turns;
  const auto read = [&](Some& some, int turn) {
    const int row = turn / Some::turns;
    some.read(q, lattice, to, pixel + lane.group + 8 * (row % 2) + kProductRows * (row / 2), channel,
              turn % Some::turns, lane.member);
  };
  Some next;
  read(next, 0);
#pragma unroll 1
  for (int turn = 0; turn < kTurns; ++turn) {
    const Some now = next;
    if (turn + 1 < kTurns) read(next, turn + 1);
    now.write(to.out, change);
  }
}

/// The addition, if `kSummed`, and Result::after of all rows of a warp.
template <int kProducts, int kCount, bool kSummed, class Math>
__device__ __forceinline__ void finish_rows(const Problem& q, const Lattice& lattice, const Result<Math>& to,
                                            int pixel, int channel, const fused::hopper::Lane& lane) {
  const auto change_all = [&](auto change) {
    change_rows<kProducts, kCount, kSummed>(q, lattice, to, pixel, channel, lane, change);
  };
  if constexpr (kSummed) {
    const Activation after = to.after;  // a loop for all of them: loops of their own take more registers
    change_all([after](float sum, float beside) {
      with_activation(after, [&]<class A>(A) { sum = A::gradient(sum, beside); });
      return sum;
    });
  } else {
    with_kept_activation(to.after, [&]<class A>(A) {
      if (to.beside == nullptr) return change_all([](float z, float) { return A::value(z); });
      change_all([](float dy, float z) { return A::gradient(dy, z); });
    });
  }
}

}  // namespace warpscope::ops::conv2d::hopper_general
