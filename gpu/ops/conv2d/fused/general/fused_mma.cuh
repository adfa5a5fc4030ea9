#pragma once
// The products of the variant `fused` on tensor cores: the tiles, weights and stages of conv2d/mma_*.cuh,
// with pixels read through a Window and with what follows the convolution done to the sums. The sixteen rows
// that a warp writes at once are four pooling windows if the window is pooled: the largest is found as they
// leave shared memory.
//
// Registers and shared memory: fused_mma.cu. Source: mma_tile.cuh.

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/general/fused_window.cuh"
#include "gpu/ops/conv2d/mma_loaders.cuh"
#include "gpu/ops/conv2d/mma_tile.cuh"

namespace warpscope::ops::conv2d::fused::general::tensor {

using conv2d::Taps;
using conv2d::tensor_cores::Chunks;
using conv2d::tensor_cores::Cursor;
using conv2d::tensor_cores::kChunkBytes;
using conv2d::tensor_cores::Slab;
using conv2d::tensor_cores::Sums;
using conv2d::tensor_cores::Term;
using conv2d::tensor_cores::WarpPlace;

/// One tap and channel of a window.
struct TapPlace {
  int offset = 0;         ///< elements from the window's first
  unsigned row_bit = 31;  ///< of Corner::mask(); 31 is never set
  unsigned column_bit = 31;

  __device__ __forceinline__ TapPlace() {}
  __device__ __forceinline__ TapPlace(const Window& w, int tap, int channel) {
    if (tap >= w.taps.kernel_height * w.taps.kernel_width) return;
    const int r = w.taps.by_kernel_width.quotient(tap);
    const int s = tap - r * w.taps.kernel_width;
    offset = w.shift(r, s) + channel;
    row_bit = static_cast<unsigned>(r);
    column_bit = static_cast<unsigned>(16 + s);
  }
  __device__ __forceinline__ bool inside(unsigned mask) const {
    return (mask >> row_bit & mask >> column_bit & 1u) != 0;
  }
};

/// The tap and channel of a column of the weights gradient.
__device__ __forceinline__ TapPlace column_place(const Window& w, int column) {
  const int tap = w.taps.by_channels.quotient(column);
  return TapPlace(w, tap, column - tap * w.taps.channels);
}

// ---- A of activations, AlongDepth ----

template <class Math, class Layout>
struct PixelLines : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* in;
  int element[Base::count];
  unsigned mask[Base::count];

  __device__ __forceinline__ PixelLines(const Window& w, int parity, const typename Math::Storage* from,
                                        int first_pixel)
      : in(from) {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const Corner corner(w, parity, first_pixel + this->line + i * this->line_step);
      element[i] = corner.element;
      mask[i] = corner.mask(w);
    }
  }
};

template <class Math, class Layout>
struct PixelVectors : PixelLines<Math, Layout> {
  using PixelLines<Math, Layout>::PixelLines;
  __device__ __forceinline__ void fetch(const Window& w, const Cursor& at, mma::SharedAddress tile) const {
    const Term term(w.taps, at, this->first());
    const TapPlace tap(w, term.tap, term.channel);
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const bool inside = tap.inside(this->mask[i]);
      const int element = inside ? this->element[i] + tap.offset : 0;
      mma::copy_async_cached(this->place(tile, i), this->in + static_cast<unsigned>(element), inside);
    }
  }
};

template <class Math, class Layout>
struct PixelScalars : PixelLines<Math, Layout> {
  using PixelLines<Math, Layout>::PixelLines;
  __device__ __forceinline__ void fetch(const Window& w, const Cursor& at, mma::SharedAddress tile) const {
    TapPlace tap[Chunks<Math, Layout>::per_chunk];
#pragma unroll
    for (int e = 0; e < this->per_chunk; ++e) {
      const Term term(w.taps, at, this->first() + e);
      tap[e] = TapPlace(w, term.tap, term.channel);
    }
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      this->gather(tile, i, [&](int e) -> typename Math::Storage {
        return tap[e].inside(this->mask[i])
                   ? this->in[static_cast<unsigned>(this->element[i] + tap[e].offset)]
                   : 0;
      });
    }
  }
};

// ---- B of backward_weights: the gradient through the window, AlongSide ----

/// A thread has one tap and chunk of channels for the whole kernel, so of a pixel it needs no mask of all
/// taps.
template <class Math, class Layout>
struct ShiftedVectors : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* shifted;
  int end;
  int row;     ///< of the tap, from that of the pixel on; past any image if there is no such tap
  int column;  ///< likewise
  int offset;  ///< elements from the pixel's first to the chunk

  __device__ __forceinline__ ShiftedVectors(const Window& w, const typename Math::Storage* from, int first,
                                            int end_pixel)
      : shifted(from), end(end_pixel) {
    const int tap = w.taps.by_channels.quotient(first + this->first());
    const int r = w.taps.by_kernel_width.quotient(tap);
    row = r < w.taps.kernel_height ? r - w.half_height : 1 << 24;
    column = tap - r * w.taps.kernel_width - w.half_width;
    offset = (row * w.in_width + column) * w.taps.channels + first + this->first() - tap * w.taps.channels;
  }
  __device__ __forceinline__ void fetch(const Window& w, int first_pixel, mma::SharedAddress tile) const {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const int pixel = first_pixel + this->line + i * this->line_step;
      const int line = w.taps.by_width.quotient(pixel);
      const int across = w.stride * (pixel - line * w.taps.width);
      const int down = w.stride * (line - w.taps.by_height.quotient(line) * w.taps.height);
      const bool inside = pixel < end &&
                          static_cast<unsigned>(down + row) < static_cast<unsigned>(w.in_height) &&
                          static_cast<unsigned>(across + column) < static_cast<unsigned>(w.in_width);
      // Images follow each other: the tensor is `stride` times as high as the cells.
      const int element = (w.stride * line * w.in_width + across) * w.taps.channels + offset;
      mma::copy_async(this->place(tile, i), shifted + static_cast<unsigned>(inside ? element : 0), inside);
    }
  }
};

template <class Math, class Layout>
struct ShiftedScalars : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* shifted;
  int end;
  TapPlace tap[Base::per_chunk];

  __device__ __forceinline__ ShiftedScalars(const Window& w, const typename Math::Storage* from, int first,
                                            int end_pixel)
      : shifted(from), end(end_pixel) {
#pragma unroll
    for (int e = 0; e < Base::per_chunk; ++e) tap[e] = column_place(w, first + this->first() + e);
  }
  __device__ __forceinline__ void fetch(const Window& w, int first_pixel, mma::SharedAddress tile) const {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const int pixel = first_pixel + this->line + i * this->line_step;
      const Corner corner(w, 0, pixel);
      const unsigned mask = pixel < end ? corner.mask(w) : 0u;
      this->gather(tile, i, [&](int e) -> typename Math::Storage {
        return tap[e].inside(mask) ? shifted[static_cast<unsigned>(corner.element + tap[e].offset)] : 0;
      });
    }
  }
};

// ---- what follows the convolution ----

/// Sixteen bytes of stored elements.
template <class Out>
struct Chunk {
  using Storage = typename Out::Storage;
  static constexpr int count = kChunkBytes / static_cast<int>(sizeof(Storage));
  unsigned words[4];

  __device__ __forceinline__ void read(const void* from) {
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    words[0] = four.x;
    words[1] = four.y;
    words[2] = four.z;
    words[3] = four.w;
  }
  __device__ __forceinline__ void write(void* to) const {
    *reinterpret_cast<uint4*>(to) = uint4{words[0], words[1], words[2], words[3]};
  }
  __device__ __forceinline__ Storage at(int e) const {
    if constexpr (count == 8) return static_cast<Storage>(words[e / 2] >> 16 * (e % 2));
    if constexpr (count == 4) return words[e];
  }
  __device__ __forceinline__ float value(int e) const { return mma::widen(Out{}, at(e)); }
  /// Element e becomes that of `other`, or zero.
  __device__ __forceinline__ void take(int e, const Chunk& other) {
    if constexpr (count == 8) {
      const unsigned half = 0xffffu << 16 * (e % 2);
      words[e / 2] = (words[e / 2] & ~half) | (other.words[e / 2] & half);
    } else {
      words[e] = other.words[e];
    }
  }
  __device__ __forceinline__ void clear(int e) { take(e, Chunk{}); }
  /// Element e, which must be zero, becomes `stored`.
  __device__ __forceinline__ void put(int e, Storage stored) {
    if constexpr (count == 8) {
      words[e / 2] |= static_cast<unsigned>(stored) << 16 * (e % 2);
    } else {
      words[e] = stored;
    }
  }
};

/// Where a result goes and what is done to it on the way.
template <class Out>
struct Target {
  using Storage = typename Out::Storage;
  Window window;
  int filters;
  bool vectors;  ///< out and mask take 16 bytes at a time
  bool relu;
  const Storage* bias;
  const Storage* mask;
  Storage* out;
  std::uint8_t* argmax;

  /// The bias of a column.
  __device__ __forceinline__ float bias_of(int column) const {
    return bias != nullptr ? mma::widen(Out{}, bias[window.joint ? column % (filters / 4) : column]) : 0.0f;
  }
  __device__ __forceinline__ float finished(float sum, float add) const {
    const float z = sum + add;
    return relu && z < 0.0f ? 0.0f : z;
  }
  /// A chunk of a pixel's row, as far as it exists.
  __device__ __forceinline__ void put(unsigned element, int column, Chunk<Out>& chunk) const {
    if (vectors) {
      if (mask != nullptr) {
        Chunk<Out> x;
        x.read(mask + element);
#pragma unroll
        for (int e = 0; e < chunk.count; ++e) {
          if (!(x.value(e) > 0.0f)) chunk.clear(e);
        }
      }
      chunk.write(out + element);
      return;
    }
#pragma unroll
    for (int e = 0; e < chunk.count; ++e) {
      if (column + e >= filters) continue;
      const bool kept = mask == nullptr || mma::widen(Out{}, mask[element + e]) > 0.0f;
      out[element + e] = kept ? chunk.at(e) : Storage{0};
    }
  }
};

/// A chunk of a cell's row in a joint result: its columns are filters of four pixels.
template <class Out>
__device__ __forceinline__ void put_joint(const Target<Out>& to, int cell, int column,
                                          const Chunk<Out>& chunk) {
  const int filters = to.filters / 4;
#pragma unroll
  for (int e = 0; e < Chunk<Out>::count; ++e) {
    if (column + e >= to.filters) continue;
    const int parity = (column + e) / filters;
    const int filter = column + e - parity * filters;
    to.out[static_cast<unsigned>(to.window.out_pixel(cell, parity) * filters + filter)] = chunk.at(e);
  }
}

/// Writes sixteen rows of a warp's part, from `slab`.
template <class T, class Out>
__device__ __forceinline__ void write_rows(const unsigned* slab, const Target<Out>& to, int first_pixel,
                                           int first_column, int parity, int lane) {
  using S = Slab<T, Out>;
  constexpr int kChunks = S::row_words / 4;
#pragma unroll
  for (int i = lane; i < 16 * kChunks; i += 32) {
    const int pixel = first_pixel + i / kChunks;
    const int column = first_column + i % kChunks * Chunk<Out>::count;
    if (pixel >= to.window.taps.pixels || column >= to.filters) continue;
    Chunk<Out> chunk;
    chunk.read(slab + i / kChunks * S::stride + i % kChunks * 4);
    if (to.window.joint) {
      put_joint(to, pixel, column, chunk);
    } else {
      to.put(static_cast<unsigned>(to.window.out_pixel(pixel, parity) * to.filters + column), column, chunk);
    }
  }
}

/// Writes the largest of each of the four windows in sixteen rows, and where they were. Filters come in
/// fours.
template <class T, class Out>
__device__ __forceinline__ void write_largest(const unsigned* slab, const Target<Out>& to, int first_pixel,
                                              int first_column, int lane) {
  using S = Slab<T, Out>;
  constexpr int kChunks = S::row_words / 4;
  constexpr int kCount = Chunk<Out>::count;
  for (int i = lane; i < 4 * kChunks; i += 32) {
    const int row = i / kChunks * 4;
    const int column = first_column + i % kChunks * kCount;
    if (first_pixel + row >= to.window.taps.pixels || column >= to.filters) continue;
    const unsigned* from = slab + row * S::stride + i % kChunks * 4;
    Chunk<Out> best;
    best.read(from);
    unsigned codes = 0;
#pragma unroll
    for (unsigned place = 1; place < 4; ++place) {
      Chunk<Out> other;
      other.read(from + place * S::stride);
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        // The first of equals stays, and a NaN.
        if (other.value(e) <= best.value(e) || best.value(e) != best.value(e)) continue;
        best.take(e, other);
        codes = (codes & ~(3u << 2 * e)) | place << 2 * e;
      }
    }
    const auto element = static_cast<unsigned>((first_pixel + row) / 4 * to.filters + column);
    to.put(element, column, best);
#pragma unroll
    for (int e = 0; e < kCount; e += 4) {
      if (column + e < to.filters) to.argmax[(element + e) / 4] = static_cast<std::uint8_t>(codes >> 2 * e);
    }
  }
}

/// Writes the tile whose first element is (first_pixel, first_filter). `shared` holds nothing any more.
template <class T, class Out>
__device__ __forceinline__ void finish(const Sums<T>& sums, unsigned char* shared, const WarpPlace& at,
                                       int first_pixel, int first_filter, int parity, const Target<Out>& to) {
  using S = Slab<T, Out>;
  unsigned* slab = reinterpret_cast<unsigned*>(shared) + at.warp * S::words;
  const int group = at.lane / 4;
  const int member = at.lane % 4;
  float bias[T::column_fragments][2];
#pragma unroll
  for (int j = 0; j < T::column_fragments; ++j) {
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      const int column = first_filter + at.column + j * 8 + member * 2 + w;
      bias[j][w] = column < to.filters ? to.bias_of(column) : 0.0f;
    }
  }
#pragma unroll
  for (int i = 0; i < T::row_fragments; ++i) {
#pragma unroll
    for (int j = 0; j < T::column_fragments; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        S::put(slab, group + 8 * half, j * 8 + member * 2, to.finished(sums[i][j][2 * half], bias[j][0]),
               to.finished(sums[i][j][2 * half + 1], bias[j][1]));
      }
    }
    __syncwarp();
    const int pixel = first_pixel + at.row + i * 16;
    if (to.window.pooled) {
      write_largest<T>(slab, to, pixel, first_filter + at.column, at.lane);
    } else {
      write_rows<T>(slab, to, pixel, first_filter + at.column, parity, at.lane);
    }
    __syncwarp();
  }
}

}  // namespace warpscope::ops::conv2d::fused::general::tensor
