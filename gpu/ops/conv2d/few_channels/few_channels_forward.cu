// conv2d.forward and backward_input of few_channels.h: the same product, of x with the weights or of dy with the turned
// weights. A block keeps the weights of 64 filters (32 where there are no more) as the fragments of its products in
// shared memory and takes tiles in turn; each of its four warps has 32 pixels, whose fragments it reads from the patch
// as they lie there. Filters are ordered so that a lane's results of four products are eight neighbours: it writes 16
// bytes at once.
//
// GELU and its derivative are long: a loop does them to what a lane has just written, rounded, as the backward pass
// reads it.
// Limits: compute capability 8.0; weights and patch in 48 KB of shared memory.

#include <type_traits>

#include "gpu/ops/activated.cuh"
#include "gpu/ops/conv2d/few_channels/few_channels.cuh"
#include "gpu/ops/conv2d/mma_plan.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::few_channels {
namespace {

constexpr int kForwardThreads = 128;
constexpr int kWarpPixels = 32;
constexpr int kTiles16 = kWarpPixels / 16;
constexpr int kForwardBlocks = 4;  // of a multiprocessor
constexpr int kTogether = 4;       // fragments whose results of a lane are 16 bytes

/// In forward: element `element` of a tap of a filter as it is stored; the bias is that of the first tap's one.
struct ForwardWeights {
  const Half* __restrict__ w;
  const Half* __restrict__ bias;

  __device__ __forceinline__ unsigned operator()(const Problem& q, int filter, int tap, int element) const {
    if (filter >= q.filters || tap >= q.taps()) return 0;
    if (element < q.channels) return w[(filter * q.taps() + tap) * q.channels + element];
    return element == kMostChannels && tap == 0 && bias != nullptr ? bias[filter] : 0u;
  }
};

/// In backward_input, whose filters are the input's channels and whose elements are those of dy.
struct TurnedWeights {
  const Half* __restrict__ w;

  __device__ __forceinline__ unsigned operator()(const Problem& q, int filter, int tap, int element) const {
    if (filter >= q.filters || tap >= q.taps() || element >= q.channels) return 0;
    return w[((element + 1) * q.taps() - 1 - tap) * q.filters + filter];
  }
};

/// The weights as lanes take them: (step, fragment, lane), two words each.
template <int kFragments, class WeightOf>
__device__ __forceinline__ void arrange_weights(const Problem& q, const WeightOf& weight_of, int first_filter,
                                                uint2* arranged) {
  const int steps = (q.taps() + kStepTaps - 1) / kStepTaps;
  for (int i = static_cast<int>(threadIdx.x); i < steps * kFragments * 32; i += kForwardThreads) {
    const int lane = i % 32;
    const int fragment = i / 32 % kFragments;
    const int step = i / 32 / kFragments;
    const int column = lane / 4;
    const int filter = first_filter + 8 * kTogether * (fragment / kTogether) + 2 * kTogether * (column / 2) +
                       2 * (fragment % kTogether) + column % 2;
    unsigned words[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int word = lane % 4 + 4 * half;
      const int tap = step * kStepTaps + word / 2;
      const int element = word % 2 * 2;
      words[half] = weight_of(q, filter, tap, element) | weight_of(q, filter, tap, element + 1) << 16;
    }
    arranged[i] = {words[0], words[1]};
  }
}

/// Where each step's words lie from a pixel's first tap on, in bytes. What stands behind the last tap is the first
/// one's, whose weights there are zero.
__device__ __forceinline__ void write_offsets(const Problem& q, int* offsets) {
  const int words = (q.taps() + kStepTaps - 1) / kStepTaps * 2 * kStepTaps;
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kForwardThreads) {
    const int tap = i / 2 < q.taps() ? i / 2 : 0;
    const int row = tap / q.kernel_width;
    const int column = tap - row * q.kernel_width;
    offsets[i] = (row * q.patch_columns + column) * q.dilation * kPixelBytes + i % 2 * 4;
  }
}

template <int kFragments>
using WarpSums = float[kTiles16][kFragments][4];

template <class Math, int kFragments>
__device__ __forceinline__ void multiply_taps(WarpSums<kFragments>& sums, const Problem& q,
                                              const uint2* __restrict__ weights,
                                              const int* __restrict__ offsets, mma::SharedAddress patch,
                                              int warp, int lane) {
  mma::SharedAddress first[kTiles16][2];
#pragma unroll
  for (int t = 0; t < kTiles16; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int pixel = warp * kWarpPixels + 16 * t + 8 * half + lane / 4;
      first[t][half] = patch + static_cast<unsigned>(patch_place(q, pixel) * kPixelBytes);
    }
  }
  const int steps = (q.taps() + kStepTaps - 1) / kStepTaps;
  for (int step = 0; step < steps; ++step) {
    const auto low = static_cast<unsigned>(offsets[8 * step + lane % 4]);
    const auto high = static_cast<unsigned>(offsets[8 * step + 4 + lane % 4]);
    unsigned a[kTiles16][4];
#pragma unroll
    for (int t = 0; t < kTiles16; ++t) {
      a[t][0] = mma::load_word(first[t][0] + low);
      a[t][1] = mma::load_word(first[t][1] + low);
      a[t][2] = mma::load_word(first[t][0] + high);
      a[t][3] = mma::load_word(first[t][1] + high);
    }
#pragma unroll
    for (int j = 0; j < kFragments; ++j) {
      const uint2 words = weights[(step * kFragments + j) * 32 + lane];
      const unsigned b[2] = {words.x, words.y};
#pragma unroll
      for (int t = 0; t < kTiles16; ++t) mma::multiply_add(Math{}, sums[t][j], a[t], b);
    }
  }
}

/// Where a call's results go; see ForwardTensors.
struct Written {
  Half* kept;
  Half* out;
  bool relu;
  Activation after;
};

template <class Math, int kFragments>
__device__ __forceinline__ void write_results(const WarpSums<kFragments>& sums, const Problem& q,
                                              const TilePlace& at, const Written& to, int first_filter,
                                              int warp, int lane) {
  constexpr int kGroups = kFragments / kTogether;
  const int filter = first_filter + 2 * kTogether * (lane % 4);
  Half* const written = to.kept != nullptr ? to.kept : to.out;
#pragma unroll
  for (int t = 0; t < kTiles16; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const TilePixel pixel(q, at, warp * kWarpPixels + 16 * t + 8 * half + lane / 4);
      if (!pixel.exists(q)) continue;
      Half* const line = written + pixel.element(q, at);
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const int mine = filter + 8 * kTogether * group;
        unsigned words[kTogether];
#pragma unroll
        for (int j = 0; j < kTogether; ++j) {
          float low = sums[t][kTogether * group + j][2 * half];
          float high = sums[t][kTogether * group + j][2 * half + 1];
          if (to.relu) {
            low = activations::Relu::value(low);
            high = activations::Relu::value(high);
          }
          words[j] = mma::narrow_pair(Math{}, low, high);
        }
        if (mine < q.filters)
          *reinterpret_cast<uint4*>(line + mine) = {words[0], words[1], words[2], words[3]};
      }
    }
  }
  with_kept_activation(to.after, [&]<class A>(A) {
#pragma unroll 1
    for (int i = 0; i < kTiles16 * 2 * kGroups; ++i) {
      const TilePixel pixel(q, at, warp * kWarpPixels + 8 * (i / kGroups) + lane / 4);
      const int mine = filter + 8 * kTogether * (i % kGroups);
      if (!pixel.exists(q) || mine >= q.filters) continue;
      const std::int64_t element = pixel.element(q, at) + mine;
      const uint4 words = *reinterpret_cast<const uint4*>(written + element);
      *reinterpret_cast<uint4*>(to.out + element) =
          changed_words<Math>(words, uint4{}, [](float z, float) { return A::value(z); });
    }
  });
}

/// Where the gradients of a call go; see GradientTensors.
struct Masked {
  const Half* addend;
  const Half* beside;
  Half* out;
  Activation after;
};

template <class Math, int kFragments>
__device__ __forceinline__ void write_results(const WarpSums<kFragments>& sums, const Problem& q,
                                              const TilePlace& at, const Masked& to, int first_filter,
                                              int warp, int lane) {
  constexpr int kGroups = kFragments / kTogether;
  const int channel = first_filter + 2 * kTogether * (lane % 4);
  const bool masks = to.after == Activation::relu;
#pragma unroll
  for (int t = 0; t < kTiles16; ++t) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const TilePixel pixel(q, at, warp * kWarpPixels + 16 * t + 8 * half + lane / 4);
      if (!pixel.exists(q)) continue;
      const std::int64_t first = pixel.element(q, at);
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const int mine = channel + 8 * kTogether * group;
        if (mine >= q.filters) continue;
        uint4 words;
        unsigned* const word = &words.x;
#pragma unroll
        for (int j = 0; j < kTogether; ++j) {
          const float(&sum)[4] = sums[t][kTogether * group + j];
          word[j] = mma::narrow_pair(Math{}, sum[2 * half], sum[2 * half + 1]);
        }
        if (to.addend != nullptr) {
          words = changed_words<Math>(words, __ldg(reinterpret_cast<const uint4*>(to.addend + first + mine)),
                                      [](float a, float b) { return a + b; });
        }
        if (masks) {
          words = changed_words<Math>(words, __ldg(reinterpret_cast<const uint4*>(to.beside + first + mine)),
                                      [](float dy, float y) { return activations::Relu::gradient(dy, y); });
        }
        *reinterpret_cast<uint4*>(to.out + first + mine) = words;
      }
    }
  }
  with_kept_activation(to.after, [&]<class A>(A) {
#pragma unroll 1
    for (int i = 0; i < kTiles16 * 2 * kGroups; ++i) {
      const TilePixel pixel(q, at, warp * kWarpPixels + 8 * (i / kGroups) + lane / 4);
      const int mine = channel + 8 * kTogether * (i % kGroups);
      if (!pixel.exists(q) || mine >= q.filters) continue;
      const std::int64_t element = pixel.element(q, at) + mine;
      auto* const out = reinterpret_cast<uint4*>(to.out + element);
      *out = changed_words<Math>(*out, __ldg(reinterpret_cast<const uint4*>(to.beside + element)),
                                 [](float dy, float z) { return A::gradient(dy, z); });
    }
  });
}

template <class Math, int kFragments, class WeightOf, class To>
__device__ __forceinline__ void multiply_tiles(const Problem& q, const Half* __restrict__ x,
                                               const WeightOf& weight_of, const To& to) {
  extern __shared__ __align__(16) unsigned char few_channels_shared[];
  const ForwardLayout layout = forward_layout(q, kFragments);
  auto* const weights = reinterpret_cast<uint2*>(few_channels_shared);
  auto* const offsets = reinterpret_cast<int*>(few_channels_shared + layout.offsets);
  auto* const patch = reinterpret_cast<uint2*>(few_channels_shared + layout.patch);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int first_filter = static_cast<int>(blockIdx.y) * 8 * kFragments;
  arrange_weights<kFragments>(q, weight_of, first_filter, weights);
  write_offsets(q, offsets);
  for (int tile = static_cast<int>(blockIdx.x); tile < q.tiles; tile += static_cast<int>(gridDim.x)) {
    const TilePlace at(q, tile);
    __syncthreads();  // the tile before is multiplied
    read_patch<Math, kForwardThreads>(Math{}, q, at, x,
                                      [&](int i, int, const uint2& words) { patch[i] = words; });
    __syncthreads();
    WarpSums<kFragments> sums = {};
    multiply_taps<Math, kFragments>(sums, q, weights, offsets, mma::shared_address(patch), warp, lane);
    write_results<Math, kFragments>(sums, q, at, to, first_filter, warp, lane);
  }
}

template <class Math, int kFragments>
__global__ void __launch_bounds__(kForwardThreads, kForwardBlocks)
    few_channels_forward(const __grid_constant__ Problem q, const Half* __restrict__ x,
                         const Half* __restrict__ w, const Half* __restrict__ bias, Written to) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  multiply_tiles<Math, kFragments>(q, x, ForwardWeights{w, bias}, to);
#endif
}

template <class Math, int kFragments>
__global__ void __launch_bounds__(kForwardThreads, kForwardBlocks)
    few_channels_backward_input(const __grid_constant__ Problem q, const Half* __restrict__ dy,
                                const Half* __restrict__ w, Masked to) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  multiply_tiles<Math, kFragments>(q, dy, TurnedWeights{w}, to);
#endif
}

template <int kFragments>
Launch launch_of(const Problem& q) {
  const int fill = tensor_cores::current_device().multiprocessors * kForwardBlocks;
  const auto slabs = static_cast<unsigned>(divide_up(q.filters, 8 * kFragments));
  const auto blocks = static_cast<unsigned>(q.tiles < fill ? q.tiles : fill);
  return {{blocks, slabs}, kForwardThreads, static_cast<std::size_t>(forward_layout(q, kFragments).bytes)};
}

/// Calls run(math, the number of fragments as a type) for a call of the product.
template <class Run>
void with_fragments(const Call& call, const Problem& q, Run run) {
  mma::with_16_bits(call.precision, [&](auto math) {
    if (forward_fragments(q) == kSlabFilters / 8)
      return run(math, std::integral_constant<int, kSlabFilters / 8>{});
    run(math, std::integral_constant<int, kFewFilters / 8>{});
  });
}

}  // namespace

void launch_forward(const Call& call, const Problem& q, const ForwardTensors& tensors) {
  const Written to{static_cast<Half*>(tensors.kept), static_cast<Half*>(tensors.output), tensors.relu,
                   tensors.after};
  with_fragments(call, q, [&](auto math, auto fragments) {
    run_kernel(call, "few channels", launch_of<fragments>(q), few_channels_forward<decltype(math), fragments>,
               q, tensors.input, tensors.weights, tensors.bias, to);
  });
}

void launch_backward_input(const Call& call, const Problem& q, const GradientTensors& tensors) {
  const Masked to{static_cast<const Half*>(tensors.addend), static_cast<const Half*>(tensors.beside),
                  static_cast<Half*>(tensors.input_gradient), tensors.after};
  with_fragments(call, q, [&](auto math, auto fragments) {
    run_kernel(call, "few channels", launch_of<fragments>(q),
               few_channels_backward_input<decltype(math), fragments>, q, tensors.output_gradient,
               tensors.weights, to);
  });
}

}  // namespace warpscope::ops::conv2d::few_channels
