#pragma once
// How operands reach the stages of mma_tile.cuh. Each thread owns one chunk of some lines of a tile, the
// same for the whole kernel. Vector loaders copy a chunk with one asynchronous instruction, zeros where the
// convolution is padded or the tile hangs over the edge; they need channels that fill chunks. Scalar loaders
// gather its elements one by one: any number of channels.
//
// k counts taps and channels without gaps, k = tap * channels + channel. Where the channels fill whole
// stages, the taps are walked inside each block of channels instead: neighbouring taps read mostly the same
// pixels, which are then still in the L1 cache.

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/implicit_gemm_loaders.cuh"
#include "gpu/ops/conv2d/mma_tile.cuh"

namespace warpscope::ops::conv2d::tensor_cores {

/// The largest kernel side: what tap_mask has bits for.
inline constexpr int kMostTaps = 15;

/// Which kernel rows (bits 0 to 14) and columns (bits 16 to 30) stay inside the image around a pixel; no bits
/// past the last pixel.
__device__ __forceinline__ unsigned tap_mask(const Taps& taps, int pixel) {
  if (pixel >= taps.pixels) return 0;
  const int line = taps.by_width.quotient(pixel);
  const int column = pixel - line * taps.width;
  const int row = line - taps.by_height.quotient(line) * taps.height;
  const int up = (taps.kernel_height - 1) / 2 - row;
  const int left = (taps.kernel_width - 1) / 2 - column;
  const unsigned rows = (2u << min(taps.kernel_height - 1, up + taps.height - 1)) - (1u << max(0, up));
  const unsigned columns = (2u << min(taps.kernel_width - 1, left + taps.width - 1)) - (1u << max(0, left));
  return rows | columns << 16;
}

/// One tap and channel of the window around a pixel.
struct WindowPlace {
  int offset = 0;         ///< elements from the pixel's first channel
  unsigned row_bit = 31;  ///< of tap_mask; 31 is never set
  unsigned column_bit = 31;

  __device__ __forceinline__ WindowPlace() {}
  template <class AnyTaps>
  __device__ __forceinline__ WindowPlace(const AnyTaps& taps, int tap, int channel) {
    if (tap >= taps.kernel_height * taps.kernel_width) return;
    const int r = taps.by_kernel_width.quotient(tap);
    const int s = tap - r * taps.kernel_width;
    offset = taps.shift(r, s) * taps.channels + channel;
    row_bit = static_cast<unsigned>(r);
    column_bit = static_cast<unsigned>(16 + s);
  }
  __device__ __forceinline__ bool inside(unsigned mask) const {
    return (mask >> row_bit & mask >> column_bit & 1u) != 0;
  }
};

/// Where a stage of k begins. `channel` may count past the channels, into the taps after.
struct Cursor {
  bool blocks;  ///< taps are walked inside blocks of channels
  int tap = 0;
  int channel = 0;

  __device__ __forceinline__ void advance(int depth, int taps) {
    if (blocks && ++tap < taps) return;
    tap = 0;
    channel += depth;
  }
};

/// The tap and channel of one k.
struct Term {
  int tap;
  int channel;
  __device__ __forceinline__ Term(const Taps& taps, const Cursor& at, int k) {
    const int whole = at.channel + k;
    const int carry = taps.by_channels.quotient(whole);
    tap = at.tap + carry;
    channel = whole - carry * taps.channels;
  }
};

/// The chunk and lines of the calling thread.
template <class Math, class Layout>
struct Chunks {
  using Storage = typename Math::Storage;
  static constexpr int per_chunk = kChunkBytes / static_cast<int>(sizeof(Storage));
  static constexpr int line_step = Layout::threads / Layout::chunks;
  static constexpr int count = Layout::lines / line_step;
  static_assert(Layout::lines % line_step == 0);

  int chunk = static_cast<int>(threadIdx.x) % Layout::chunks;
  int line = static_cast<int>(threadIdx.x) / Layout::chunks;

  /// The first of the chunk's elements along the line.
  __device__ __forceinline__ int first() const { return chunk * per_chunk; }
  __device__ __forceinline__ mma::SharedAddress place(mma::SharedAddress tile, int i) const {
    return tile + Layout::place(line + i * line_step, chunk);
  }
  /// Stores get(element) of the chunk's elements.
  template <class Get>
  __device__ __forceinline__ void gather(mma::SharedAddress tile, int i, Get get) const {
    unsigned words[4];
    if constexpr (sizeof(Storage) == 2) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const unsigned low = get(2 * w);
        words[w] = low | static_cast<unsigned>(get(2 * w + 1)) << 16;
      }
    } else {
#pragma unroll
      for (int w = 0; w < 4; ++w) words[w] = get(w);
    }
    mma::store_chunk(place(tile, i), words);
  }
};

// ---- A of forward and backward_input: the pixels that the taps read, AlongDepth ----

template <class Math, class Layout>
struct WindowVectors : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* in;
  int first_element;
  unsigned mask[Base::count];

  __device__ __forceinline__ WindowVectors(const Taps& taps, const typename Math::Storage* from,
                                           int first_pixel)
      : in(from), first_element((first_pixel + this->line) * taps.channels) {
#pragma unroll
    for (int i = 0; i < Base::count; ++i)
      mask[i] = tap_mask(taps, first_pixel + this->line + i * this->line_step);
  }
  __device__ __forceinline__ void fetch(const Taps& taps, const Cursor& at, mma::SharedAddress tile) const {
    const Term term(taps, at, this->first());
    const WindowPlace window(taps, term.tap, term.channel);
    int element = first_element + window.offset;
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const bool inside = window.inside(mask[i]);
      mma::copy_async_cached(this->place(tile, i), in + static_cast<unsigned>(inside ? element : 0), inside);
      element += this->line_step * taps.channels;
    }
  }
};

template <class Math, class Layout>
struct WindowScalars : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* in;
  int first_element;
  unsigned mask[Base::count];

  __device__ __forceinline__ WindowScalars(const Taps& taps, const typename Math::Storage* from,
                                           int first_pixel)
      : in(from), first_element((first_pixel + this->line) * taps.channels) {
#pragma unroll
    for (int i = 0; i < Base::count; ++i)
      mask[i] = tap_mask(taps, first_pixel + this->line + i * this->line_step);
  }
  __device__ __forceinline__ void fetch(const Taps& taps, const Cursor& at, mma::SharedAddress tile) const {
    WindowPlace window[Base::per_chunk];
#pragma unroll
    for (int e = 0; e < Base::per_chunk; ++e) {
      const Term term(taps, at, this->first() + e);
      window[e] = WindowPlace(taps, term.tap, term.channel);
    }
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const int element = first_element + i * this->line_step * taps.channels;
      this->gather(tile, i, [&](int e) -> typename Math::Storage {
        return window[e].inside(mask[i]) ? in[static_cast<unsigned>(element + window[e].offset)] : 0;
      });
    }
  }
};

// ---- B of forward: filters, AlongDepth ----

template <class Math, class Layout>
struct FilterVectors : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* weights;
  int filters;
  int terms;
  int first_filter;

  __device__ __forceinline__ FilterVectors(const Taps& taps, const typename Math::Storage* from,
                                           int all_filters, int first)
      : weights(from),
        filters(all_filters),
        terms(taps.kernel_height * taps.kernel_width * taps.channels),
        first_filter(first + this->line) {}
  __device__ __forceinline__ void fetch(const Taps& taps, const Cursor& at, mma::SharedAddress tile) const {
    const Term term(taps, at, this->first());
    const int k = term.tap * taps.channels + term.channel;
    int element = first_filter * terms + k;
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const bool inside = k < terms && first_filter + i * this->line_step < filters;
      mma::copy_async(this->place(tile, i), weights + static_cast<unsigned>(inside ? element : 0), inside);
      element += this->line_step * terms;
    }
  }
};

/// For a cursor without blocks.
template <class Math, class Layout>
struct FilterScalars : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* weights;
  int filters;
  int terms;
  int first_filter;

  __device__ __forceinline__ FilterScalars(const Taps& taps, const typename Math::Storage* from,
                                           int all_filters, int first)
      : weights(from),
        filters(all_filters),
        terms(taps.kernel_height * taps.kernel_width * taps.channels),
        first_filter(first + this->line) {}
  __device__ __forceinline__ void fetch(const Taps&, const Cursor& at, mma::SharedAddress tile) const {
    const int k = at.channel + this->first();
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const int filter = first_filter + i * this->line_step;
      this->gather(tile, i, [&](int e) -> typename Math::Storage {
        return filter < filters && k + e < terms ? weights[static_cast<unsigned>(filter * terms + k + e)] : 0;
      });
    }
  }
};

// ---- B of backward_input: filters turned round, AlongSide ----

/// The weights (channel, R, S, filter) of one term, its tap counted from the other end.
__device__ __forceinline__ int turned_element(const Taps& taps, const Term& term, int filters) {
  const int kernel = taps.kernel_height * taps.kernel_width;
  return (term.channel * kernel + kernel - 1 - term.tap) * filters;
}

template <class Math, class Layout>
struct TurnedVectors : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* weights;
  int filters;
  int filter;

  __device__ __forceinline__ TurnedVectors(const Taps&, const typename Math::Storage* from, int all_filters,
                                           int first)
      : weights(from), filters(all_filters), filter(first + this->first()) {}
  __device__ __forceinline__ void fetch(const Taps& taps, const Cursor& at, mma::SharedAddress tile) const {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const Term term(taps, at, this->line + i * this->line_step);
      const bool inside = term.tap < taps.kernel_height * taps.kernel_width && filter < filters;
      const int element = inside ? turned_element(taps, term, filters) + filter : 0;
      mma::copy_async(this->place(tile, i), weights + static_cast<unsigned>(element), inside);
    }
  }
};

template <class Math, class Layout>
struct TurnedScalars : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* weights;
  int filters;
  int filter;

  __device__ __forceinline__ TurnedScalars(const Taps&, const typename Math::Storage* from, int all_filters,
                                           int first)
      : weights(from), filters(all_filters), filter(first + this->first()) {}
  __device__ __forceinline__ void fetch(const Taps& taps, const Cursor& at, mma::SharedAddress tile) const {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const Term term(taps, at, this->line + i * this->line_step);
      const bool exists = term.tap < taps.kernel_height * taps.kernel_width;
      const int element = turned_element(taps, term, filters) + filter;
      this->gather(tile, i, [&](int e) -> typename Math::Storage {
        return exists && filter + e < filters ? weights[static_cast<unsigned>(element + e)] : 0;
      });
    }
  }
};

// ---- A of backward_weights: one tensor's pixels, AlongSide ----

template <class Math, class Layout>
struct PlainVectors : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* plain;
  int channels;
  int channel;
  int end;

  __device__ __forceinline__ PlainVectors(const typename Math::Storage* from, int all_channels, int first,
                                          int end_pixel)
      : plain(from), channels(all_channels), channel(first + this->first()), end(end_pixel) {}
  __device__ __forceinline__ void fetch(const Taps&, int first_pixel, mma::SharedAddress tile) const {
    const int pixel = first_pixel + this->line;
    int element = pixel * channels + channel;
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const bool inside = channel < channels && pixel + i * this->line_step < end;
      mma::copy_async(this->place(tile, i), plain + static_cast<unsigned>(inside ? element : 0), inside);
      element += this->line_step * channels;
    }
  }
};

template <class Math, class Layout>
struct PlainScalars : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* plain;
  int channels;
  int channel;
  int end;

  __device__ __forceinline__ PlainScalars(const typename Math::Storage* from, int all_channels, int first,
                                          int end_pixel)
      : plain(from), channels(all_channels), channel(first + this->first()), end(end_pixel) {}
  __device__ __forceinline__ void fetch(const Taps&, int first_pixel, mma::SharedAddress tile) const {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const int pixel = first_pixel + this->line + i * this->line_step;
      this->gather(tile, i, [&](int e) -> typename Math::Storage {
        return pixel < end && channel + e < channels
                   ? plain[static_cast<unsigned>(pixel * channels + channel + e)]
                   : 0;
      });
    }
  }
};

// ---- B of backward_weights: the other tensor's shifted pixels, AlongSide ----

/// The tap and channel of a column of the result.
__device__ __forceinline__ WindowPlace column_place(const Taps& taps, int column) {
  const int tap = taps.by_channels.quotient(column);
  return WindowPlace(taps, tap, column - tap * taps.channels);
}

template <class Math, class Layout>
struct ShiftedVectors : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* shifted;
  int end;
  WindowPlace window;

  __device__ __forceinline__ ShiftedVectors(const Taps& taps, const typename Math::Storage* from, int first,
                                            int end_pixel)
      : shifted(from), end(end_pixel), window(column_place(taps, first + this->first())) {}
  __device__ __forceinline__ void fetch(const Taps& taps, int first_pixel, mma::SharedAddress tile) const {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const int pixel = first_pixel + this->line + i * this->line_step;
      const bool inside = pixel < end && window.inside(tap_mask(taps, pixel));
      const int element = inside ? pixel * taps.channels + window.offset : 0;
      mma::copy_async(this->place(tile, i), shifted + static_cast<unsigned>(element), inside);
    }
  }
};

template <class Math, class Layout>
struct ShiftedScalars : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* shifted;
  int end;
  WindowPlace window[Base::per_chunk];

  __device__ __forceinline__ ShiftedScalars(const Taps& taps, const typename Math::Storage* from, int first,
                                            int end_pixel)
      : shifted(from), end(end_pixel) {
#pragma unroll
    for (int e = 0; e < Base::per_chunk; ++e) window[e] = column_place(taps, first + this->first() + e);
  }
  __device__ __forceinline__ void fetch(const Taps& taps, int first_pixel, mma::SharedAddress tile) const {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const int pixel = first_pixel + this->line + i * this->line_step;
      const unsigned mask = pixel < end ? tap_mask(taps, pixel) : 0u;
      this->gather(tile, i, [&](int e) -> typename Math::Storage {
        return window[e].inside(mask)
                   ? shifted[static_cast<unsigned>(pixel * taps.channels + window[e].offset)]
                   : 0;
      });
    }
  }
};

/// The loaders of what the taps read, by the kind of taps; others are in mma_general.cuh.
template <class AnyTaps>
struct Loaders;

template <>
struct Loaders<Taps> {
  template <class Math, class Layout>
  using WindowVectors = tensor_cores::WindowVectors<Math, Layout>;
  template <class Math, class Layout>
  using WindowScalars = tensor_cores::WindowScalars<Math, Layout>;
  template <class Math, class Layout>
  using ShiftedVectors = tensor_cores::ShiftedVectors<Math, Layout>;
  template <class Math, class Layout>
  using ShiftedScalars = tensor_cores::ShiftedScalars<Math, Layout>;
};

}  // namespace warpscope::ops::conv2d::tensor_cores
