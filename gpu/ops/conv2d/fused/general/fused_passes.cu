// conv2d, variant `fused`: the small kernels around its products. The weights of an upsampled layers are
// summed where taps meet the same pixel, on the way turned and transposed for backward_input; gradients of
// such sums are given to each of their taps; pooling and its gradient, where they cannot be done in a
// product's kernel, are one pass each.
//
// Sums are FP32. Accesses of 16 bytes where channels and addresses allow. Bound by memory; the weights stay
// in the L2 cache. Registers on sm_90: at most 40; none spill. Shared memory: 4.1 KiB to transpose, 1 KiB to
// fold.
// Source: chain.h.

#include "gpu/ops/conv2d/fused/general/fused.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::fused::general {
namespace {

// ---- weights ----

/// w is (filters, height, width, channels).
struct Kernels {
  int filters;
  int height;
  int width;
  int channels;
  bool summed;  ///< of the upsampled layers

  /// Element (i, j) of the kernel of filter k and channel c; if summed, of the kernel that a 2x2 image of
  /// ones leaves of it, one row and column larger: the sum of w[i-1 .. i][j-1 .. j].
  template <class T>
  __device__ __forceinline__ float at(const T* w, int k, int i, int j, int c) const {
    float sum = 0.0f;
#pragma unroll
    for (int r = i - 1; r <= i; ++r) {
#pragma unroll
      for (int s = j - 1; s <= j; ++s) {
        const bool wanted = summed || (r == i && s == j);
        if (!wanted || r < 0 || r >= height || s < 0 || s >= width) continue;
        sum += to_float(w[((k * height + r) * width + s) * channels + c]);
      }
    }
    return sum;
  }
};

// arranged[p, q][k, a, b, c]: the sums that parity (p, q) meets. A tap a of parity p is row 2a + 1 - (p +
// half) % 2 of the sums. Where half is odd, the first of the joint taps is only parity 0's and the last only
// parity 1's; the others get zeros.
template <class T>
__global__ void block_fused_sum_weights(int count, const Kernels w, bool joint, const T* __restrict__ weights,
                                        T* __restrict__ arranged) {
  const int half_height = (w.height - 1) / 2;
  const int half_width = (w.width - 1) / 2;
  const int late_row = joint ? half_height & 1 : 0;  // taps by which parity 1 begins later
  const int late_column = joint ? half_width & 1 : 0;
  const int rows = half_height + 1 + late_row;
  const int columns = half_width + 1 + late_column;
  for (int e = first_element<int>(); e < count; e += element_stride<int>()) {
    const int c = e % w.channels;
    const int filter = e / w.channels / columns / rows;
    const int k = filter % w.filters;
    const int p = filter / w.filters >> 1;
    const int q = filter / w.filters & 1;
    const int a = e / w.channels / columns % rows - p * late_row;
    const int b = e / w.channels % columns - q * late_column;
    const bool has = a >= 0 && a <= half_height && b >= 0 && b <= half_width;
    const int i = 2 * a + 1 - ((p + half_height) & 1);
    const int j = 2 * b + 1 - ((q + half_width) & 1);
    arranged[e] = from_float<T>(has ? w.at(weights, k, i, j, c) : 0.0f);
  }
}

inline constexpr int kTransposeSide = 32;
inline constexpr int kTransposeLines = 8;

// turned[c, i, j, k] = element (last - i, last - j) of kernel (k, c). A block transposes 32 x 32 filters and
// channels of one element.
template <class T>
__global__ void __launch_bounds__(kTransposeSide* kTransposeLines)
    block_fused_turn_weights(const Kernels w, const T* __restrict__ weights, T* __restrict__ turned) {
  __shared__ float tile[kTransposeSide][kTransposeSide + 1];
  const int rows = w.height + (w.summed ? 1 : 0);
  const int columns = w.width + (w.summed ? 1 : 0);
  const auto tap = static_cast<int>(blockIdx.z);
  const int i = rows - 1 - tap / columns;
  const int j = columns - 1 - tap % columns;
  const auto x = static_cast<int>(threadIdx.x);
  const int first_channel = static_cast<int>(blockIdx.x) * kTransposeSide;
  const int first_filter = static_cast<int>(blockIdx.y) * kTransposeSide;
  for (int y = static_cast<int>(threadIdx.y); y < kTransposeSide; y += kTransposeLines) {
    const bool exists = first_filter + y < w.filters && first_channel + x < w.channels;
    tile[y][x] = exists ? w.at(weights, first_filter + y, i, j, first_channel + x) : 0.0f;
  }
  __syncthreads();
  for (int y = static_cast<int>(threadIdx.y); y < kTransposeSide; y += kTransposeLines) {
    const int c = first_channel + y;
    const int k = first_filter + x;
    if (c < w.channels && k < w.filters)
      turned[(c * rows * columns + tap) * w.filters + k] = from_float<T>(tile[x][y]);
  }
}

Kernels kernels_of(const ChainShape& s) {
  return {s.out_channels, s.kernel_height, s.kernel_width, s.in_channels, s.upsample};
}

// ---- gradients of weights ----

inline constexpr int kFoldElements = 32;
inline constexpr int kFoldGroups = 8;

struct Fold {
  Kernels w;
  bool direct;  ///< a part is like dw
  int splits;
  std::int64_t split_elements;
};

// partial[split] is dw's part, or (c, t, u, k), t and u counted from the other end of the kernels. dw[k, r,
// s, c] is that element, or, of summed kernels, the sum of the gradients of the four sums that w[k, r, s, c]
// is in. Thread (x, y) of a block adds the splits y, y + 8, ... of one element; then the eight are added in
// order.
__global__ void __launch_bounds__(kFoldElements* kFoldGroups)
    block_fused_fold_weights(const Fold q, const float* __restrict__ partial, float* __restrict__ dw) {
  __shared__ float sums[kFoldGroups][kFoldElements];
  const Kernels& w = q.w;
  const int e = static_cast<int>(blockIdx.x) * kFoldElements + static_cast<int>(threadIdx.x);
  const bool exists = e < w.filters * w.height * w.width * w.channels;
  const int k = e % w.filters;
  const int s = e / w.filters % w.width;
  const int r = e / w.filters / w.width % w.height;
  const int c = e / w.filters / w.width / w.height;
  const int more = w.summed ? 1 : 0;
  const int row = (w.width + more) * w.filters;
  float sum = 0.0f;
  if (exists) {
    const float* from =
        partial +
        (q.direct ? e : (c * (w.height + more) + w.height - 1 - r) * row + (w.width - 1 - s) * w.filters + k);
#pragma unroll 2
    for (int split = static_cast<int>(threadIdx.y); split < q.splits; split += kFoldGroups) {
      const float* at = from + split * q.split_elements;
      sum += w.summed ? (at[0] + at[w.filters]) + (at[row] + at[row + w.filters]) : at[0];
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || !exists) return;
#pragma unroll
  for (int group = 1; group < kFoldGroups; ++group) sum += sums[group][threadIdx.x];
  dw[q.direct ? e : ((k * w.height + r) * w.width + s) * w.channels + c] = sum;
}

// ---- pooling ----

// The variant refuses tensors whose elements 32 bits could not number.

/// Code i of the packed two bits.
__device__ __forceinline__ unsigned code_of(const std::uint8_t* argmax, unsigned i) {
  return static_cast<unsigned>(argmax[i / 4]) >> 2 * (i % 4) & 3u;
}

/// Where a window's first element of channel c lies in the image before pooling.
__device__ __forceinline__ unsigned window_place(const Image& image, unsigned window, unsigned c) {
  const unsigned line = window / (image.width / 2);
  const unsigned column = window - line * (image.width / 2);
  const unsigned n = line / (image.height / 2);
  const unsigned row = line - n * (image.height / 2);
  return ((n * image.height + 2 * row) * image.width + 2 * column) * image.channels + c;
}

// A thread makes four neighbouring elements, whose codes share a byte.
template <class T>
__global__ void block_fused_pool(unsigned count, const Image image, const T* __restrict__ r,
                                 T* __restrict__ y, std::uint8_t* __restrict__ argmax) {
  const unsigned fours = (count + 3) / 4;
  for (auto four = first_element<unsigned>(); four < fours; four += element_stride<unsigned>()) {
    unsigned codes = 0;
    for (unsigned j = 0; j < 4 && 4 * four + j < count; ++j) {
      const unsigned i = 4 * four + j;
      const unsigned window = i / image.channels;
      const T* from = r + window_place(image, window, i - window * image.channels);
      T best = from[0];
      unsigned code = 0;
      for (unsigned place = 1; place < 4; ++place) {
        const T other = from[((place >> 1) * image.width + (place & 1u)) * image.channels];
        // The first of equals stays, and a NaN.
        if (to_float(other) <= to_float(best) || to_float(best) != to_float(best)) continue;
        best = other;
        code = place;
      }
      y[i] = best;
      codes |= code << 2 * j;
    }
    argmax[four] = static_cast<std::uint8_t>(codes);
  }
}

/// V channels of one cell of 2x2 pixels, some of which may be outside the image or belong to no window.
template <class T, int V>
__global__ void block_fused_unpool(unsigned count, const Image image, const T* __restrict__ dy,
                                   const std::uint8_t* __restrict__ argmax, T* __restrict__ dz) {
  const unsigned groups = image.channels / V;
  const unsigned columns = (image.width + 1) / 2;
  const unsigned rows = (image.height + 1) / 2;
  for (auto i = first_element<unsigned>(); i < count; i += element_stride<unsigned>()) {
    const unsigned cell = i / groups;
    const unsigned c = (i - cell * groups) * V;
    const unsigned line = cell / columns;
    const unsigned column = cell - line * columns;
    const unsigned n = line / rows;
    const unsigned row = line - n * rows;
    Vec<T, V> gradient{};
    unsigned codes = 0;
    const bool window = row < image.height / 2 && column < image.width / 2;
    if (window) {
      const unsigned from =
          ((n * (image.height / 2) + row) * (image.width / 2) + column) * image.channels + c;
      gradient = *reinterpret_cast<const Vec<T, V>*>(dy + from);
      if constexpr (V == 1) {
        codes = code_of(argmax, from);
      } else {
#pragma unroll
        for (int byte = 0; byte < V / 4; ++byte)
          codes |= static_cast<unsigned>(argmax[from / 4 + byte]) << 8 * byte;
      }
    }
#pragma unroll
    for (unsigned place = 0; place < 4; ++place) {
      const unsigned at_row = 2 * row + (place >> 1);
      const unsigned at_column = 2 * column + (place & 1u);
      if (at_row >= image.height || at_column >= image.width) continue;
      Vec<T, V> out;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        out.at[j] = window && (codes >> 2 * j & 3u) == place ? gradient.at[j] : from_float<T>(0.0f);
      }
      *reinterpret_cast<Vec<T, V>*>(
          dz + (((n * image.height + at_row) * image.width + at_column) * image.channels + c)) = out;
    }
  }
}

}  // namespace

void arrange_forward(const ChainCall& call, bool joint, void* arranged) {
  const ChainShape& s = call.shape;
  const conv2d::Taps taps = (joint ? joint_window(s) : forward_window(s, false)).taps;
  const int count = 4 * s.out_channels * taps.kernel_height * taps.kernel_width * s.in_channels;
  with_storage(call.precision, [&]<class T>(T) {
    run_kernel(call, "sums of the weights", {element_blocks(count)}, block_fused_sum_weights<T>, count,
               kernels_of(s), joint, Name::weights, arranged);
  });
}

void arrange_backward(const ChainCall& call, void* arranged) {
  const ChainShape& s = call.shape;
  const int more = s.upsample ? 1 : 0;
  const dim3 blocks(static_cast<unsigned>((s.in_channels + kTransposeSide - 1) / kTransposeSide),
                    static_cast<unsigned>((s.out_channels + kTransposeSide - 1) / kTransposeSide),
                    static_cast<unsigned>((s.kernel_height + more) * (s.kernel_width + more)));
  with_storage(call.precision, [&]<class T>(T) {
    run_kernel(call, "turning the weights", {blocks, dim3(kTransposeSide, kTransposeLines)},
               block_fused_turn_weights<T>, kernels_of(s), Name::weights, arranged);
  });
}

void fold_weights(const ChainCall& call, const WeightsPlan& plan, bool direct, const float* partial) {
  const ChainShape& s = call.shape;
  const int elements = s.out_channels * s.kernel_height * s.kernel_width * s.in_channels;
  const Fold fold{kernels_of(s), direct, static_cast<int>(plan.splits), plan.split_elements()};
  const auto blocks = static_cast<unsigned>((elements + kFoldElements - 1) / kFoldElements);
  run_kernel(call, "sum of the parts", {blocks, dim3(kFoldElements, kFoldGroups)}, block_fused_fold_weights,
             fold, partial, Name::weights_gradient);
}

void pool(const ChainCall& call, const Image& image, const void* r) {
  const std::int64_t count = image.batch * (image.height / 2) * (image.width / 2) * image.channels;
  with_storage(call.precision, [&]<class T>(T) {
    run_kernel(call, "pooling", {element_blocks((count + 3) / 4)}, block_fused_pool<T>, count, image, r,
               Name::output, Name::argmax);
  });
}

void unpool(const ChainCall& call, const Image& image, void* dz) {
  with_storage(call.precision, [&]<class T>(T) {
    const auto* dy = call.operand<const T>(Name::output_gradient);
    const bool wide = image.channels % kWide<T> == 0 && aligned_16(dy, static_cast<T*>(dz));
    const int width = wide ? kWide<T> : 1;
    const auto kernel = wide ? block_fused_unpool<T, kWide<T>> : block_fused_unpool<T, 1>;
    const std::int64_t count =
        image.batch * ((image.height + 1) / 2) * ((image.width + 1) / 2) * (image.channels / width);
    run_kernel(call, "the gradient before pooling", {element_blocks(count)}, kernel, count, image, dy,
               Name::argmax, dz);
  });
}

}  // namespace warpscope::ops::conv2d::fused::general
