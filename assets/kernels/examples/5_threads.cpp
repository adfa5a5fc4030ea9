// Threads: the pixels are shared between all cores.
//
// conv2d.forward, 5 of 5. The kernel of 4_vectors; each thread computes its own range of pixels, so that no two write
// the same element and each sum is added in the same order however many threads there are: the bits are the same. All
// read the same copy of the weights. Small calls stay on one thread, since starting another takes longer than they do.

#include <algorithm>
#include <thread>
#include <vector>

#include <warpscope/conv2d.forward.h>

using warpscope::kernel::Call;

constexpr Index kPixels = 6;
#if defined(__AVX512F__)
constexpr Index kChannels = 32;
#else
constexpr Index kChannels = 16;
#endif

/// The patches of the pixels from `first` on, as terms of kPixels values each.
static void copy_patches(const Call& call, Index first, float* to) {
  const Index padding_rows = call.valid ? 0 : call.dilation * (call.kernel_height - 1) / 2;
  const Index padding_columns = call.valid ? 0 : call.dilation * (call.kernel_width - 1) / 2;
  const Index rows = call.output.extent(1), columns = call.output.extent(2);
  for (Index p = 0; p < kPixels; ++p) {
    const Index pixel = first + p;
    const Index n = pixel / (rows * columns), i = pixel / columns % rows, j = pixel % columns;
    float* at = to + p;
    for (Index r = 0; r < call.kernel_height; ++r) {
      const Index h = i * call.stride + r * call.dilation - padding_rows;
      for (Index s = 0; s < call.kernel_width; ++s) {
        const Index w = j * call.stride + s * call.dilation - padding_columns;
        const bool inside = n < call.batch && h >= 0 && h < call.height && w >= 0 && w < call.width;
        for (Index c = 0; c < call.in_channels; ++c, at += kPixels)
          *at = inside ? call.input(n, h, w, c) : 0.0f;
      }
    }
  }
}

/// The weights in groups of kChannels channels, in each term by term; zeros behind the last channel.
static std::vector<float> grouped_weights(const Call& call) {
  const Index terms = call.weights.size() / call.out_channels;
  const Index groups = (call.out_channels + kChannels - 1) / kChannels;
  std::vector<float> weights(static_cast<std::size_t>(groups * terms * kChannels));
  for (Index k = 0; k < call.out_channels; ++k) {
    float* const to = &weights[static_cast<std::size_t>(k / kChannels * terms * kChannels + k % kChannels)];
    for (Index t = 0; t < terms; ++t) to[t * kChannels] = call.weights[k * terms + t];
  }
  return weights;
}

/// As many floats as a register of this processor holds.
#if defined(__AVX512F__)
using Vector = float __attribute__((vector_size(64), aligned(4), may_alias));
#elif defined(__AVX__)
using Vector = float __attribute__((vector_size(32), aligned(4), may_alias));
#else
using Vector = float __attribute__((vector_size(16), aligned(4), may_alias));
#endif
constexpr Index kLanes = sizeof(Vector) / sizeof(float);
constexpr Index kVectors = kChannels / kLanes;

/// The sums of a tile. What has a name of its own and is indexed by constants only stays in registers.
static void multiply(Index terms, const float* patches, const float* weights,
                     float (&result)[kPixels][kChannels]) {
  Vector sums[kPixels][kVectors] = {};
  for (Index t = 0; t < terms; ++t, patches += kPixels, weights += kChannels) {
    Vector row[kVectors];
#pragma GCC unroll 8
    for (Index v = 0; v < kVectors; ++v) row[v] = reinterpret_cast<const Vector*>(weights)[v];
#pragma GCC unroll 8
    for (Index p = 0; p < kPixels; ++p) {
#pragma GCC unroll 8
      for (Index v = 0; v < kVectors; ++v) sums[p][v] += patches[p] * row[v];
    }
  }
#pragma GCC unroll 8
  for (Index p = 0; p < kPixels; ++p) {
#pragma GCC unroll 8
    for (Index v = 0; v < kVectors; ++v) reinterpret_cast<Vector*>(result[p])[v] = sums[p][v];
  }
}

WARPSCOPE_KERNEL(call) {
  const Index terms = call.weights.size() / call.out_channels;
  const Index pixels = call.output.size() / call.out_channels;
  const std::vector<float> weights = grouped_weights(call);
  const Index tiles = (pixels + kPixels - 1) / kPixels;
  const auto compute = [&](Index begin, Index end) {
    std::vector<float> patches(static_cast<std::size_t>(terms * kPixels));
    for (Index first = begin * kPixels; first < std::min(end * kPixels, pixels); first += kPixels) {
      copy_patches(call, first, patches.data());
      for (Index k = 0; k < call.out_channels; k += kChannels) {
        float sums[kPixels][kChannels];
        multiply(terms, patches.data(), &weights[static_cast<std::size_t>(k * terms)], sums);
        for (Index p = 0; p < std::min(kPixels, pixels - first); ++p) {
          for (Index e = 0; e < std::min(kChannels, call.out_channels - k); ++e)
            call.output[(first + p) * call.out_channels + k + e] = sums[p][e];
        }
      }
    }
  };
  constexpr Index kLeastProducts = 2'000'000;  // of a thread
  const Index most = std::max<Index>(1, pixels * terms * call.out_channels / kLeastProducts);
  const Index threads = std::clamp<Index>(std::thread::hardware_concurrency(), 1, most);
  std::vector<std::jthread> others;
  for (Index i = 1; i < threads; ++i)
    others.emplace_back(compute, tiles * i / threads, tiles * (i + 1) / threads);
  compute(0, tiles / threads);
}
