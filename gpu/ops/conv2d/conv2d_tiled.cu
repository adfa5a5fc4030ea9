// conv2d.forward, variant `tiled`: a block computes a rectangle of pixels for a group of output channels. For
// a few input channels at a time it stages the patch of the input under the rectangle, its border included,
// and the filters of the group in shared memory; each thread then holds a few neighbouring pixels times four
// output channels in registers. Over `naive` it adds that an element read from memory serves every tap and
// output channel of the block, and one read from shared memory several products.
//
// Two tiles: 8x8 pixels by 64 channels (256 threads with 4x4 results each), and for 16 output channels or
// fewer 8x16 pixels by 4 channels (128 threads with 1x4 results each). 8, 4 or 1 input channels are staged at
// a time, the most that the input has and that fit 48 KiB. Copying and computing take turns; `implicit_gemm`
// overlaps them.
//
// Limits: convolutions that are not plain (conv2d.cpp), and kernels whose filters for 4 channels do not fit
// 48 KiB of shared memory (squares over 31x31), are refused; images smaller than the rectangle leave threads
// idle. 64 registers in the wide tile, 52 in the narrow one, no spills; 23 KiB of shared memory for 3x3
// kernels in the wide tile, 9 KiB in the narrow one.
// Source: CUDA C++ Programming Guide, "Shared Memory"; V. Podlozhnyuk, "Image Convolution with CUDA" (2007),
// the patch with its border.

#include <array>
#include <string>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/simt_convolution.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

/// What a block computes, and how its threads divide it: `Pixels` neighbours of a row times 4 channels each.
template <int Rows, int Columns, int Pixels, int ChannelThreads>
struct Tile {
  static constexpr int kRows = Rows;
  static constexpr int kColumns = Columns;
  static constexpr int kPixels = Pixels;
  static constexpr int kChannelThreads = ChannelThreads;
  static constexpr int kChannels = 4 * ChannelThreads;
  static constexpr int kThreads = Rows * Columns / Pixels * ChannelThreads;
  /// Floats between the filters of one input channel and the next: four more than channels, so that storing
  /// them along the input channels meets different banks, and still a multiple of 16 bytes.
  static constexpr int kFilterStride = kChannels + 4;
};
using WideTile = Tile<8, 8, 4, 16>;
using NarrowTile = Tile<8, 16, 1, 1>;

/// Floats between neighbouring pixels of a patch; odd but for a depth of 1, so that neighbours lie in
/// different banks.
__host__ __device__ constexpr int pixel_stride(int depth) {
  return depth + 1;
}

/// patch[row][column][c] = x at `top` + row, `left` + column, first channel + c; 0 outside the image and past
/// the last channel.
template <class Tile, int Depth>
__device__ __forceinline__ void load_patch(const Shape& s, const float* __restrict__ image, int top, int left,
                                           int first_channel, float* patch) {
  const int columns = Tile::kColumns + s.kernel_width - 1;
  const int elements = (Tile::kRows + s.kernel_height - 1) * columns * Depth;
  for (int i = static_cast<int>(threadIdx.x); i < elements; i += Tile::kThreads) {
    const int pixel = i / Depth;
    const int h = top + pixel / columns;
    const int v = left + pixel % columns;
    const int c = first_channel + i % Depth;
    const bool inside = h >= 0 && h < s.height && v >= 0 && v < s.width && c < s.in_channels;
    patch[pixel * pixel_stride(Depth) + i % Depth] =
        inside ? image[(std::int64_t{h} * s.width + v) * s.in_channels + c] : 0.0f;
  }
}

/// filters[tap][c][k] = w of output channel first_filter + k; 0 past the last channels.
template <class Tile, int Depth>
__device__ __forceinline__ void load_filters(const Shape& s, const float* __restrict__ w, int first_filter,
                                             int first_channel, float* filters) {
  const int taps = s.kernel_height * s.kernel_width;
  for (int i = static_cast<int>(threadIdx.x); i < taps * Tile::kChannels * Depth; i += Tile::kThreads) {
    const int k = i / Depth % Tile::kChannels;
    const int tap = i / (Depth * Tile::kChannels);
    const int c = first_channel + i % Depth;
    const bool inside = first_filter + k < s.out_channels && c < s.in_channels;
    filters[(tap * Depth + i % Depth) * Tile::kFilterStride + k] =
        inside ? w[(std::int64_t{first_filter + k} * taps + tap) * s.in_channels + c] : 0.0f;
  }
}

/// Adds the products of one tap: `from` is the thread's first pixel, `filter` its first output channel.
template <class Tile, int Depth>
__device__ __forceinline__ void add_tap(const float* from, const float* filter,
                                        float (&sum)[Tile::kPixels][4]) {
#pragma unroll
  for (int c = 0; c < Depth; ++c) {
    const float4 weight = *reinterpret_cast<const float4*>(filter + c * Tile::kFilterStride);
#pragma unroll
    for (int i = 0; i < Tile::kPixels; ++i) {
      const float value = from[i * pixel_stride(Depth) + c];
      sum[i][0] += value * weight.x;
      sum[i][1] += value * weight.y;
      sum[i][2] += value * weight.z;
      sum[i][3] += value * weight.w;
    }
  }
}

// A block's number counts rectangles along the columns, then the rows, then the images.
template <class Tile, int Depth>
__global__ __launch_bounds__(Tile::kThreads) void conv2d_forward_tiled(Shape s, const float* __restrict__ x,
                                                                       const float* __restrict__ w,
                                                                       float* __restrict__ y) {
  extern __shared__ __align__(16) float shared[];
  float* filters = shared;
  float* patch = shared + s.kernel_height * s.kernel_width * Depth * Tile::kFilterStride;
  const int patch_columns = Tile::kColumns + s.kernel_width - 1;
  const auto tiles_across = static_cast<unsigned>((s.width + Tile::kColumns - 1) / Tile::kColumns);
  const auto tiles_down = static_cast<unsigned>((s.height + Tile::kRows - 1) / Tile::kRows);
  const int left = static_cast<int>(blockIdx.x % tiles_across) * Tile::kColumns;
  const int top = static_cast<int>(blockIdx.x / tiles_across % tiles_down) * Tile::kRows;
  const std::int64_t image = blockIdx.x / tiles_across / tiles_down;
  const int first_filter = static_cast<int>(blockIdx.y) * Tile::kChannels;
  const int k = static_cast<int>(threadIdx.x) % Tile::kChannelThreads * 4;
  const int place = static_cast<int>(threadIdx.x) / Tile::kChannelThreads * Tile::kPixels;
  const int row = place / Tile::kColumns;
  const int column = place % Tile::kColumns;
  const float* from_image = x + image * s.height * s.width * s.in_channels;
  float sum[Tile::kPixels][4] = {};
  for (int c = 0; c < s.in_channels; c += Depth) {
    if (c > 0) __syncthreads();
    load_patch<Tile, Depth>(s, from_image, top - (s.kernel_height - 1) / 2, left - (s.kernel_width - 1) / 2,
                            c, patch);
    load_filters<Tile, Depth>(s, w, first_filter, c, filters);
    __syncthreads();
    const float* filter = filters + k;
    for (int r = 0; r < s.kernel_height; ++r) {
      const float* from = patch + ((row + r) * patch_columns + column) * pixel_stride(Depth);
      for (int t = 0; t < s.kernel_width; ++t) {
        add_tap<Tile, Depth>(from, filter, sum);
        from += pixel_stride(Depth);
        filter += Depth * Tile::kFilterStride;
      }
    }
  }
  if (top + row >= s.height) return;
  float* to =
      y + ((image * s.height + top + row) * s.width + left + column) * s.out_channels + first_filter + k;
#pragma unroll
  for (int i = 0; i < Tile::kPixels; ++i, to += s.out_channels) {
    if (left + column + i >= s.width) return;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (first_filter + k + j < s.out_channels) to[j] = sum[i][j];
    }
  }
}

inline constexpr std::int64_t kMaximumSharedBytes = 48 << 10;  // what a kernel may have without asking

/// One way to run the kernel. The tiles are lines of code, so the choice is among pointers to functions.
struct Choice {
  bool narrow;
  int depth;
  std::int64_t (*shared_bytes)(const OpShape&);
  void (*launch)(const OpCall&);
};

template <class Tile, int Depth>
std::int64_t shared_bytes(const OpShape& s) {
  const std::int64_t filters = std::int64_t{s.kernel_height} * s.kernel_width * Depth * Tile::kFilterStride;
  const std::int64_t patch = std::int64_t{Tile::kRows + s.kernel_height - 1} *
                             (Tile::kColumns + s.kernel_width - 1) * pixel_stride(Depth);
  return (filters + patch) * static_cast<std::int64_t>(sizeof(float));
}

template <class Tile, int Depth>
void launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const std::int64_t across = (s.width + Tile::kColumns - 1) / Tile::kColumns;
  const std::int64_t down = (s.height + Tile::kRows - 1) / Tile::kRows;
  const dim3 blocks(static_cast<unsigned>(s.batch * down * across),
                    static_cast<unsigned>((s.out_channels + Tile::kChannels - 1) / Tile::kChannels));
  run_kernel(call, {blocks, Tile::kThreads, static_cast<std::size_t>(shared_bytes<Tile, Depth>(s))},
             conv2d_forward_tiled<Tile, Depth>, plain_shape(s), Name::input, Name::weights, Name::output);
}

template <class Tile, int Depth>
constexpr Choice choice() {
  return {Tile::kChannelThreads == 1, Depth, shared_bytes<Tile, Depth>, launch<Tile, Depth>};
}
constexpr std::array kChoices{choice<WideTile, 8>(),   choice<WideTile, 4>(),   choice<WideTile, 1>(),
                              choice<NarrowTile, 8>(), choice<NarrowTile, 4>(), choice<NarrowTile, 1>()};

/// The first choice that suits the channels and fits; nullptr if none fits.
const Choice* choose(const OpShape& s) {
  for (const Choice& each : kChoices) {
    if (!each.narrow && s.out_channels <= 16) continue;
    if (each.depth > 1 && each.depth / 2 >= s.in_channels) continue;
    if (each.shared_bytes(s) <= kMaximumSharedBytes) return &each;
  }
  return nullptr;
}

std::string refuses(const OpShape& s) {
  if (!is_plain(s)) return refuses_unless_plain(s);
  if (choose(s) != nullptr) return "";
  return "a " + std::to_string(s.kernel_height) + "x" + std::to_string(s.kernel_width) +
         " kernel does not fit the 48 KiB of shared memory of a block";
}

void forward(const OpCall& call) {
  choose(call.shape)->launch(call);
}

}  // namespace

Variant tiled_forward() {
  return cuda_variant(
      Op::conv2d_forward, "tiled", forward,
      "Blocks stage a patch of the input and their filters in shared memory; threads hold 4x4 "
      "results in registers.",
      {.precisions = {core::Precision::fp32}, .presets = {{"tiled", true}}, .refuses = refuses});
}

}  // namespace warpscope::ops::conv2d
