#pragma once
// The products of the variant `fused` in FP32 on the CUDA cores: the tiles, weights and reads of
// conv2d/implicit_gemm_*.cuh, with pixels read through a Window and with what follows the convolution done to
// the sums. A thread's rows come in fours, which are the four pixels of a pooling window if the window is
// pooled: the largest is found in registers.
//
// Registers and shared memory: fused_simt.cu. Source: implicit_gemm_tile.cuh.

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/general/fused_window.cuh"
#include "gpu/ops/conv2d/implicit_gemm_activations.cuh"
#include "gpu/ops/conv2d/implicit_gemm_tile.cuh"

namespace warpscope::ops::conv2d::fused::general::simt {

using conv2d::kGemmThreads;

// ---- A of activations: pixels through the window, k along the channels ----

template <class T>
struct PixelVectors : conv2d::TransposedVectors<T::rows, T::depth> {
  const Window& window;
  Corner corner;
  const float* from;

  __device__ __forceinline__ PixelVectors(const Window& w, int parity, const float* in, int first_pixel)
      : window(w), corner(w, parity, first_pixel + this->side), from(in + corner.element + this->k) {}
  __device__ __forceinline__ void fetch(const conv2d::BlockCursor<T::depth>& at) {
    conv2d::TransposedVectors<T::rows, T::depth>::fetch(from + (window.shift(at.r, at.s) + at.channel),
                                                        corner.inside(window, at.r, at.s),
                                                        window.taps.channels - at.channel);
  }
};

template <class T>
struct PixelScalars : conv2d::TransposedScalars<T::rows, T::depth> {
  const Window& window;
  Corner corner;
  const float* in;

  __device__ __forceinline__ PixelScalars(const Window& w, int parity, const float* from, int first_pixel)
      : window(w), corner(w, parity, first_pixel + this->side), in(from) {}
  __device__ __forceinline__ void fetch(const conv2d::DenseCursor<T::depth>& at) {
    conv2d::DensePlace k(window.taps, at.k + this->k);
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const bool inside = k.r < window.taps.kernel_height && corner.inside(window, k.r, k.s);
      const int element = corner.element + window.shift(k.r, k.s) + k.channel;
      this->value[i] = inside ? in[static_cast<unsigned>(element)] : 0.0f;
      k.advance(window.taps);
    }
  }
};

// ---- what follows the convolution ----

/// Where a result goes and what is done to it on the way.
struct Target {
  Window window;
  int filters;
  bool vectors;  ///< out, bias and mask take 16 bytes at a time
  bool relu;
  const float* bias;
  const float* mask;
  float* out;
  std::uint8_t* argmax;

  __device__ __forceinline__ float finished(float sum, int column) const {
    const float z = bias != nullptr ? sum + bias[column] : sum;
    return relu && z < 0.0f ? 0.0f : z;
  }
  /// Four elements of a pixel's row, as far as they exist.
  __device__ __forceinline__ void write(int out_pixel, int column, const float* sums) const {
    if (column >= filters) return;
    float value[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) value[j] = column + j < filters ? finished(sums[j], column + j) : 0.0f;
    put(static_cast<unsigned>(out_pixel * filters + column), column, value);
  }
  __device__ __forceinline__ void put(unsigned element, int column, float (&value)[4]) const {
    if (vectors) {
      if (mask != nullptr) {
        const float4 x = *reinterpret_cast<const float4*>(mask + element);
        value[0] = x.x > 0.0f ? value[0] : 0.0f;
        value[1] = x.y > 0.0f ? value[1] : 0.0f;
        value[2] = x.z > 0.0f ? value[2] : 0.0f;
        value[3] = x.w > 0.0f ? value[3] : 0.0f;
      }
      *reinterpret_cast<float4*>(out + element) = make_float4(value[0], value[1], value[2], value[3]);
      return;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (column + j < filters)
        out[element + j] = mask == nullptr || mask[element + j] > 0.0f ? value[j] : 0.0f;
    }
  }
  /// The largest of the four pixels of a window, four filters of them; filters come in fours.
  __device__ __forceinline__ void write_largest(int window_index, int column, const float (*sums)[8],
                                                int first) const {
    if (column >= filters) return;
    float value[4];
    unsigned codes = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      value[j] = finished(sums[0][first + j], column + j);
      unsigned code = 0;
#pragma unroll
      for (unsigned place = 1; place < 4; ++place) {
        const float other = finished(sums[place][first + j], column + j);
        // The first of equals stays, and a NaN.
        if (!(other <= value[j]) && value[j] == value[j]) {
          value[j] = other;
          code = place;
        }
      }
      codes |= code << 2 * j;
    }
    const auto element = static_cast<unsigned>(window_index * filters + column);
    put(element, column, value);
    argmax[element / 4] = static_cast<std::uint8_t>(codes);
  }
};

/// Writes the block's tile as conv2d::finish() does. With slices, a thread's rows go through shared memory
/// four at a time in two halves, and of the four one slice in turn has the sum.
template <class T, bool kPooled>
__device__ __forceinline__ void finish(float (&sum)[8][8], float* shared, const conv2d::TilePlace& place,
                                       int first_pixel, int first_filter, int parity, const Target& to) {
  const int thread = static_cast<int>(threadIdx.x) % T::slice_threads;
  const int column = first_filter + place.column;
#pragma unroll
  for (int four = 0; four < 2; ++four) {
    const int owner = four % T::slices;
    if constexpr (T::slices > 1) {
#pragma unroll
      for (int pair = 2 * four; pair < 2 * four + 2; ++pair) {
        if (place.slice != owner) {
          float* mine =
              shared + (place.slice - (place.slice > owner ? 1 : 0)) * 16 * T::slice_threads + thread;
#pragma unroll
          for (int v = 0; v < 16; ++v) mine[v * T::slice_threads] = sum[2 * pair + v / 8][v % 8];
        }
        __syncthreads();
        if (place.slice == owner) {
#pragma unroll
          for (int other = 0; other < T::slices - 1; ++other) {
            const float* theirs = shared + other * 16 * T::slice_threads + thread;
#pragma unroll
            for (int v = 0; v < 16; ++v) sum[2 * pair + v / 8][v % 8] += theirs[v * T::slice_threads];
          }
        }
        __syncthreads();
      }
    }
    if (place.slice != owner) continue;
    const int pixel = first_pixel + place.row + four * 32;
    if constexpr (kPooled) {
      if (pixel >= to.window.taps.pixels) continue;
      to.write_largest(pixel / 4, column, &sum[4 * four], 0);
      to.write_largest(pixel / 4, column + 16, &sum[4 * four], 4);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (pixel + i >= to.window.taps.pixels) continue;
        const int out_pixel = to.window.out_pixel(pixel + i, parity);
        to.write(out_pixel, column, &sum[4 * four + i][0]);
        to.write(out_pixel, column + 16, &sum[4 * four + i][4]);
      }
    }
  }
}

// ---- backward_weights: x by its pixels, the gradient through the window ----

/// k = pixels, kDepth at a time.
template <int kDepth>
struct PixelCursor {
  int pixel;
  __device__ __forceinline__ void advance() { pixel += kDepth; }
};

/// A: the channels of x.
template <class T, int kVector>
struct PlainPixels : conv2d::Rows<T::rows, T::depth, kVector> {
  int rows;
  int end;
  bool exists;
  const float* from;

  __device__ __forceinline__ PlainPixels(int all_rows, const float* plain, int first_row, int end_pixel)
      : rows(all_rows),
        end(end_pixel),
        exists(first_row + this->side < all_rows),
        from(plain + first_row + this->side) {}
  __device__ __forceinline__ void fetch(const PixelCursor<T::depth>& at) {
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const int pixel = at.pixel + this->k + i * this->step;
      this->clear_one(i);
      if (exists && pixel < end) this->fetch_one(i, from + pixel * rows);
    }
  }
};

/// B: the gradient's channels in fours. A thread's four columns are one tap and four channels for the whole
/// kernel.
template <class T>
struct ShiftedVectors : conv2d::Rows<T::columns, T::depth, 4> {
  const Window& window;
  int end;
  bool exists;
  conv2d::DensePlace column;
  int offset;
  const float* shifted;

  __device__ __forceinline__ ShiftedVectors(const Window& w, int columns, const float* of, int first_column,
                                            int end_pixel)
      : window(w),
        end(end_pixel),
        exists(first_column + this->side < columns),
        column(w.taps, first_column + this->side),
        offset(w.shift(column.r, column.s) + column.channel),
        shifted(of) {}
  __device__ __forceinline__ void fetch(const PixelCursor<T::depth>& at) {
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const int pixel = at.pixel + this->k + i * this->step;
      const Corner corner(window, 0, pixel);
      this->clear_one(i);
      if (exists && pixel < end && corner.inside(window, column.r, column.s)) {
        this->fetch_one(i, shifted + static_cast<unsigned>(corner.element + offset));
      }
    }
  }
};

/// B: any number of channels.
template <class T>
struct ShiftedScalars : conv2d::TransposedScalars<T::columns, T::depth> {
  const Window& window;
  int end;
  bool exists;
  conv2d::DensePlace column;
  int offset;
  const float* shifted;

  __device__ __forceinline__ ShiftedScalars(const Window& w, int columns, const float* of, int first_column,
                                            int end_pixel)
      : window(w),
        end(end_pixel),
        exists(first_column + this->side < columns),
        column(w.taps, first_column + this->side),
        offset(w.shift(column.r, column.s) + column.channel),
        shifted(of) {}
  __device__ __forceinline__ void fetch(const PixelCursor<T::depth>& at) {
#pragma unroll
    for (int i = 0; i < this->count; ++i) {
      const int pixel = at.pixel + this->k + i;
      const Corner corner(window, 0, pixel);
      const bool inside = exists && pixel < end && corner.inside(window, column.r, column.s);
      this->value[i] = inside ? shifted[static_cast<unsigned>(corner.element + offset)] : 0.0f;
    }
  }
};

}  // namespace warpscope::ops::conv2d::fused::general::simt
