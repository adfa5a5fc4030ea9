#pragma once
// Loaders like those of mma_loaders.cuh for convolutions that are not plain: what the taps read is found by
// general_taps.cuh.

#include "gpu/ops/conv2d/general_taps.cuh"
#include "gpu/ops/conv2d/mma_loaders.cuh"

namespace warpscope::ops::conv2d::tensor_cores {

/// Bit r is set if tap r reads one of `extent` places, from where tap 0 reads before the division.
__device__ __forceinline__ unsigned axis_mask(const GeneralTaps& taps, int place, int kernel, int extent) {
  unsigned bits = 0;
  for (int r = 0; r < kernel; ++r, place += taps.dilation) {
    if (taps.reads(place, extent)) bits |= 1u << r;
  }
  return bits;
}

/// As that of Taps.
__device__ __forceinline__ unsigned tap_mask(const GeneralTaps& taps, const GeneralPlace& place, int pixel) {
  if (pixel >= taps.pixels) return 0;
  return axis_mask(taps, place.row, taps.kernel_height, taps.rows) |
         axis_mask(taps, place.column, taps.kernel_width, taps.columns) << 16;
}

// ---- A of forward and backward_input ----

/// Where the calling thread's lines begin, and which taps they have.
template <int kCount>
struct GeneralLines {
  unsigned first[kCount];
  unsigned mask[kCount];

  __device__ __forceinline__ GeneralLines(const GeneralTaps& taps, int pixel, int step) {
#pragma unroll
    for (int i = 0; i < kCount; ++i, pixel += step) {
      const GeneralPlace place(taps, pixel);
      first[i] = first_element_of(taps, place);
      mask[i] = tap_mask(taps, place, pixel);
    }
  }
};

template <class Math, class Layout>
struct GeneralWindowVectors : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* in;
  GeneralLines<Base::count> lines;

  __device__ __forceinline__ GeneralWindowVectors(const GeneralTaps& taps, const typename Math::Storage* from,
                                                  int first_pixel)
      : in(from), lines(taps, first_pixel + this->line, this->line_step) {}
  __device__ __forceinline__ void fetch(const GeneralTaps& taps, const Cursor& at,
                                        mma::SharedAddress tile) const {
    const Term term(taps, at, this->first());
    const WindowPlace window(taps, term.tap, term.channel);
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const bool inside = window.inside(lines.mask[i]);
      const unsigned element = lines.first[i] + static_cast<unsigned>(window.offset);
      mma::copy_async_cached(this->place(tile, i), in + (inside ? element : 0u), inside);
    }
  }
};

template <class Math, class Layout>
struct GeneralWindowScalars : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* in;
  GeneralLines<Base::count> lines;

  __device__ __forceinline__ GeneralWindowScalars(const GeneralTaps& taps, const typename Math::Storage* from,
                                                  int first_pixel)
      : in(from), lines(taps, first_pixel + this->line, this->line_step) {}
  __device__ __forceinline__ void fetch(const GeneralTaps& taps, const Cursor& at,
                                        mma::SharedAddress tile) const {
    WindowPlace window[Base::per_chunk];
#pragma unroll
    for (int e = 0; e < Base::per_chunk; ++e) {
      const Term term(taps, at, this->first() + e);
      window[e] = WindowPlace(taps, term.tap, term.channel);
    }
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      this->gather(tile, i, [&](int e) -> typename Math::Storage {
        if (!window[e].inside(lines.mask[i])) return 0;
        return in[lines.first[i] + static_cast<unsigned>(window[e].offset)];
      });
    }
  }
};

// ---- B of backward_weights ----

template <class Math, class Layout>
struct GeneralShiftedVectors : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* shifted;
  int end;
  GeneralColumn column;

  __device__ __forceinline__ GeneralShiftedVectors(const GeneralTaps& taps,
                                                   const typename Math::Storage* from, int first,
                                                   int end_pixel)
      : shifted(from), end(end_pixel), column(taps, first + this->first()) {}
  __device__ __forceinline__ void fetch(const GeneralTaps& taps, int first_pixel,
                                        mma::SharedAddress tile) const {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const int pixel = first_pixel + this->line + i * this->line_step;
      const GeneralPlace place(taps, pixel);
      const bool inside = pixel < end && column.inside(taps, place);
      mma::copy_async(this->place(tile, i), shifted + (inside ? column.element(taps, place) : 0u), inside);
    }
  }
};

template <class Math, class Layout>
struct GeneralShiftedScalars : Chunks<Math, Layout> {
  using Base = Chunks<Math, Layout>;
  const typename Math::Storage* shifted;
  int end;
  GeneralColumn column[Base::per_chunk];

  __device__ __forceinline__ GeneralShiftedScalars(const GeneralTaps& taps,
                                                   const typename Math::Storage* from, int first,
                                                   int end_pixel)
      : shifted(from), end(end_pixel) {
#pragma unroll
    for (int e = 0; e < Base::per_chunk; ++e) column[e] = GeneralColumn(taps, first + this->first() + e);
  }
  __device__ __forceinline__ void fetch(const GeneralTaps& taps, int first_pixel,
                                        mma::SharedAddress tile) const {
#pragma unroll
    for (int i = 0; i < Base::count; ++i) {
      const int pixel = first_pixel + this->line + i * this->line_step;
      const GeneralPlace place(taps, pixel);
      this->gather(tile, i, [&](int e) -> typename Math::Storage {
        const bool inside = pixel < end && column[e].inside(taps, place);
        return inside ? shifted[column[e].element(taps, place)] : 0;
      });
    }
  }
};

template <>
struct Loaders<GeneralTaps> {
  template <class Math, class Layout>
  using WindowVectors = GeneralWindowVectors<Math, Layout>;
  template <class Math, class Layout>
  using WindowScalars = GeneralWindowScalars<Math, Layout>;
  template <class Math, class Layout>
  using ShiftedVectors = GeneralShiftedVectors<Math, Layout>;
  template <class Math, class Layout>
  using ShiftedScalars = GeneralShiftedScalars<Math, Layout>;
};

}  // namespace warpscope::ops::conv2d::tensor_cores
