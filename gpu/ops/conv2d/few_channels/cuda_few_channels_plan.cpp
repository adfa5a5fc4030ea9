#include <algorithm>
#include <limits>
#include <utility>

#include "gpu/ops/conv2d/few_channels/few_channels.h"
#include "gpu/ops/conv2d/fused/narrow/narrow_sum.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d::few_channels {
namespace {

constexpr int kFilterStep = 8;  // 16 bytes
constexpr int kMostPatchPixels = 1024;
constexpr std::int64_t kMostPartialBytes = std::int64_t{128} << 20;

/// All but the tiles.
Problem untiled(const OpShape& s) {
  Problem q{};
  q.height = s.height;
  q.width = s.width;
  q.channels = s.in_channels;
  q.rows = output_height(s);
  q.columns = output_width(s);
  q.filters = s.out_channels;
  q.kernel_height = s.kernel_height;
  q.kernel_width = s.kernel_width;
  q.stride = s.stride;
  q.dilation = s.dilation;
  q.padding_down = padding_of(s, s.kernel_height);
  q.padding_right = padding_of(s, s.kernel_width);
  return q;
}

int reach(int outputs, int stride, int kernel, int dilation) {
  return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
}

void cut_tiles(Problem& q, int shift, std::int64_t batch) {
  q.tile_shift = shift;
  q.patch_rows = reach(q.tile_rows(), q.stride, q.kernel_height, q.dilation);
  q.patch_columns = (reach(q.tile_columns(), q.stride, q.kernel_width, q.dilation) + 1) / 2 * 2;
  q.across = static_cast<int>(divide_up(q.columns, q.tile_columns()));
  q.down = static_cast<int>(divide_up(q.rows, q.tile_rows()));
  q.tiles = static_cast<int>(batch) * q.across * q.down;
}

/// With the tiles that leave least empty, of equal ones those with the smallest patch.
Problem tiled(const Problem& whole, std::int64_t batch) {
  Problem best = whole;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int shift = kLeastTileShift; shift <= kMostTileShift; ++shift) {
    Problem q = whole;
    cut_tiles(q, shift, batch);
    const std::int64_t cost = std::int64_t{q.across} * q.down * (kTilePixels + q.patch_pixels());
    if (cost >= least) continue;
    least = cost;
    best = q;
  }
  return best;
}

Problem problem_of(const OpShape& s) {
  return tiled(untiled(s), s.batch);
}

/// backward_input, of stride 1: what lies outside of dy by the whole reach of a kernel, but for what lay outside of x.
Problem backward_input_problem(const OpShape& s) {
  Problem q = untiled(s);
  std::swap(q.height, q.rows);
  std::swap(q.width, q.columns);
  std::swap(q.channels, q.filters);
  q.padding_down = (s.kernel_height - 1) * s.dilation - q.padding_down;
  q.padding_right = (s.kernel_width - 1) * s.dilation - q.padding_right;
  return tiled(q, s.batch);
}

bool fits_forward(const Problem& q) {
  return q.patch_pixels() <= kMostPatchPixels &&
         forward_layout(q, forward_fragments(q)).bytes <= kSharedBytes;
}

std::string refuses_tensors(const OpShape& s) {
  if (s.batch < 1 || sizes::output(s) < 1) return "takes images of at least one pixel";
  const std::int64_t weights =
      std::int64_t{s.kernel_height} * s.kernel_width * s.in_channels * s.out_channels;
  const std::int64_t largest = std::max({sizes::input(s), sizes::output(s), weights});
  return largest > kMostElements ? "takes tensors of at most 2,000,000,000 elements" : "";
}

std::string refuses_size(const OpShape& s) {
  if (s.in_channels > kMostChannels || s.out_channels % kFilterStep != 0) {
    return "takes at most three input channels, and output channels in multiples of 8";
  }
  return refuses_tensors(s);
}

constexpr const char* kTooManyTaps =
    "takes kernels that fit 48 KB of shared memory together with the pixels they read";

int splits_of(const OpShape& s, const Problem& q) {
  const int slabs = static_cast<int>(divide_up(q.filters, kSlabFilters));
  const std::int64_t bytes =
      std::int64_t{s.out_channels} * (q.taps() * q.channels + 1) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t fit = std::max<std::int64_t>(1, kMostPartialBytes / bytes);
  const auto most = static_cast<int>(std::min<std::int64_t>(fit, fused::narrow::kSplits / slabs));
  return std::clamp(most, 1, q.tiles);
}

}  // namespace

std::string refuses_forward(const OpShape& s) {
  const std::string reason = refuses_size(s);
  if (!reason.empty()) return reason;
  return fits_forward(problem_of(s)) ? "" : kTooManyTaps;
}

std::string refuses_backward_input(const OpShape& s) {
  if (s.out_channels > kMostChannels || s.in_channels % kFilterStep != 0)
    return "takes at most three output channels, and input channels in multiples of 8";
  if (s.stride != 1) return "takes a stride of 1";
  const std::string reason = refuses_tensors(s);
  if (!reason.empty()) return reason;
  return fits_forward(backward_input_problem(s)) ? "" : kTooManyTaps;
}

std::string refuses_backward_weights(const OpShape& s) {
  const std::string reason = refuses_size(s);
  if (!reason.empty()) return reason;
  const Problem q = problem_of(s);
  const bool fits = q.patch_pixels() <= kMostPatchPixels && units_of(q).count <= kMostUnits &&
                    weights_layout(q).bytes <= kSharedBytes;
  return fits ? "" : kTooManyTaps;
}

std::size_t backward_weights_workspace(const OpShape& s) {
  const Problem q = problem_of(s);
  return sizeof(float) * static_cast<std::size_t>(splits_of(s, q)) * static_cast<std::size_t>(q.filters) *
         static_cast<std::size_t>(q.taps() * q.channels + 1);
}

void forward(const Call& call, const OpShape& shape, const ForwardTensors& tensors) {
  launch_forward(call, problem_of(shape), tensors);
}

void backward_input(const Call& call, const OpShape& shape, const GradientTensors& tensors) {
  launch_backward_input(call, backward_input_problem(shape), tensors);
}

void backward_weights(const Call& call, const OpShape& shape, const WeightsTensors& tensors) {
  const Problem problem = problem_of(shape);
  launch_weights(call, problem, splits_of(shape, problem), tensors);
}

}  // namespace warpscope::ops::conv2d::few_channels
