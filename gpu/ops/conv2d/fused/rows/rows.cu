// conv2d, variants `gather_rows` and `scatter_rows`: rows.h. Over the product of one-hot characters and weights they
// add that nothing is multiplied with zeros, C times fewer additions, and that the one-hot characters are never
// written.
//
// gather_rows: a first kernel makes rows of the weights. A thread then adds, in FP32, 16 bytes of the row of each tap:
// 4 or 8 filters of one pixel; a block takes 64 filters, so that the rows that it reads again and again stay in the
// cache. Bias and ReLU are done to the sums. Bound by that cache. scatter_rows: row_sums.cuh, a table in shared memory
// for each tap, channel group and span of pixels, added by a second kernel in a fixed order. Bound by reading dy once a
// tap. Limits: first layers over one_hot; filters that do not fill whole vectors go one by one. At most 56 KB of shared
// memory. Source: rows.h; "CUDA C++ Programming Guide".

#include <algorithm>
#include <cstdint>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/fused/rows/rows.h"
#include "gpu/ops/conv2d/fused/rows/rows_text.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/row_sums.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/vectorized.cuh"

namespace warpscope::ops::conv2d {
namespace fused::rows {
namespace {

constexpr int kBlockFilters = 64;

/// rows (taps, C + 1, K) of weights (K, taps, C).
template <class T>
__global__ void conv2d_rows_of_weights(unsigned count, int characters, int filters, int taps,
                                       const T* __restrict__ weights, T* __restrict__ rows) {
  for (unsigned e = first_element<unsigned>(); e < count; e += element_stride<unsigned>()) {
    const auto filter = static_cast<int>(e % static_cast<unsigned>(filters));
    const auto row = static_cast<int>(e / static_cast<unsigned>(filters));
    const int symbol = row % (characters + 1);
    const int tap = row / (characters + 1);
    rows[e] = symbol == 0 ? from_float<T>(0.0f)
                          : weights[(std::int64_t{filter} * taps + tap) * characters + symbol - 1];
  }
}

/// W filters a thread; `lanes` threads of a block lie along the filters, a power of two.
template <int W, class T>
__global__ void __launch_bounds__(kElementThreads)
    conv2d_forward_gather_rows(std::int64_t pixels, int filters, int kernel_height, int lanes,
                               const Text<T> text, const T* __restrict__ rows, const T* __restrict__ bias,
                               bool relu, T* __restrict__ y) {
  const int filter = (static_cast<int>(blockIdx.y) * lanes + static_cast<int>(threadIdx.x) % lanes) * W;
  if (filter >= filters) return;
  float first[W] = {};
  if (bias != nullptr) load_floats(bias + filter, first);
  const std::int64_t step = std::int64_t{gridDim.x} * (blockDim.x / lanes);
  const int row_elements = filters * (text.characters + 1);
  for (std::int64_t p = std::int64_t{blockIdx.x} * (blockDim.x / lanes) + threadIdx.x / lanes; p < pixels;
       p += step) {
    const auto at = text.pixel(p);
    const T* tap = rows + filter;
    float sums[W];
#pragma unroll
    for (int i = 0; i < W; ++i) sums[i] = first[i];
    for (int r = 0; r < kernel_height; ++r) {
      for (int s = 0; s < text.kernel_width; ++s, tap += row_elements) {
        float row[W];
        load_floats(tap + text.symbol(at, r, s) * filters, row);
#pragma unroll
        for (int i = 0; i < W; ++i) sums[i] += row[i];
      }
    }
#pragma unroll
    for (int i = 0; i < W; ++i) sums[i] = relu && sums[i] <= 0.0f ? 0.0f : sums[i];  // a NaN stays
    store_floats(y + p * filters + filter, sums);
  }
}

template <int W, class T>
void launch_gather(const OpCall& call, const T* rows, const T* bias, T* y) {
  constexpr std::int64_t kMostBlocks = 2048;  // along the pixels
  const OpShape& s = call.shape;
  int lanes = 1;
  while (lanes * W < kBlockFilters && lanes * W < s.out_channels) lanes *= 2;
  const std::int64_t pixels = sizes::output_pixels(s);
  const std::int64_t at_once = kElementThreads / static_cast<unsigned>(lanes);
  const dim3 grid(static_cast<unsigned>(std::min((pixels + at_once - 1) / at_once, kMostBlocks)),
                  static_cast<unsigned>((s.out_channels + lanes * W - 1) / (lanes * W)));
  run_kernel(call, {grid}, conv2d_forward_gather_rows<W, T>, pixels, s.out_channels, s.kernel_height, lanes,
             text_of<T>(call), rows, bias, call.covers(Op::relu_forward), y);
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&]<class T>(T) {
    const T* bias = call.covers(Op::bias_forward) ? call.operand<const T>(Name::bias) : nullptr;
    T* y = call.operand<T>(Name::output);
    auto* rows = static_cast<T*>(call.workspace);
    const std::int64_t count = elements_of(s);
    run_elements(call, count, conv2d_rows_of_weights<T>, count, s.in_channels, s.out_channels, taps_of(s),
                 Name::weights, rows);
    if (s.out_channels % kWide<T> == 0 && aligned_16(rows, bias, y)) {
      launch_gather<kWide<T>>(call, rows, bias, y);
    } else {
      launch_gather<1>(call, rows, bias, y);
    }
  });
}

std::size_t forward_workspace(const OpShape& s, core::Precision precision) {
  const bool wide = precision == core::Precision::fp32 || precision == core::Precision::tf32;
  return static_cast<std::size_t>(elements_of(s)) * (wide ? 4 : 2);
}

row_sums::Sums sums_of(const OpShape& s) {
  return {sizes::output_pixels(s), s.out_channels, s.in_channels + 1, taps_of(s)};
}

/// To dw (K, taps, C).
struct Store {
  float* dw;
  int taps, characters;
  __device__ __forceinline__ void operator()(int tap, int row, int channel, float sum) const {
    if (row > 0) dw[(std::int64_t{channel} * taps + tap) * characters + row - 1] = sum;
  }
};

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&]<class T>(T) {
    row_sums::launch<T>(call, sums_of(s), text_of<T>(call),
                        Store{call.operand<float>(Name::weights_gradient), taps_of(s), s.in_channels});
  });
}

std::size_t backward_workspace(const OpShape& s, core::Precision) {
  return sizeof(float) * static_cast<std::size_t>(row_sums::partial_elements(sums_of(s)));
}

Variant variant(Op op, const char* name, std::vector<Link> chain, const char* summary,
                void (*launch)(const OpCall&), std::size_t (*workspace)(const OpShape&, core::Precision)) {
  return cuda_variant(op, name, launch, summary,
                      {.chain = std::move(chain), .workspace_bytes = workspace, .refuses = refuses});
}

}  // namespace
}  // namespace fused::rows

Variant gather_rows_forward() {
  using namespace fused::rows;
  return variant(Op::conv2d_forward, "gather_rows", forward_chain(),
                 "One-hot characters pick rows of weights, which are added; bias and ReLU in the same pass.",
                 forward, forward_workspace);
}
Variant scatter_rows_backward_weights() {
  using namespace fused::rows;
  return variant(Op::conv2d_backward_weights, "scatter_rows", backward_weights_chain(),
                 "Gradients are added to the row of their one-hot character, in tables in shared memory.",
                 backward_weights, backward_workspace);
}

}  // namespace warpscope::ops::conv2d
