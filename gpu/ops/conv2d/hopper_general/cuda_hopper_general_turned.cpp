// conv2d.backward_weights, variant `hopper_general_turned`: over `hopper_general` it adds TF32, whose operands wgmma
// takes only with what is summed innermost. x and dy are turned in the workspace first (hopper_general_turned.h), which
// is worth while where the product over them is long enough. What is left over of batches that 32 does not divide is
// kept small by strips of images, chosen here.
//
// Limits: channels in multiples of 8, 32 and more each way, stride 1 or 2, kernels of at most 15x15, turned operands of
// at most 1 GiB; so many taps and channels that turning pays.

#include <algorithm>
#include <limits>
#include <utility>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/conv2d/hopper_general/hopper_general_turned.h"
#include "gpu/ops/planned_processors.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace hopper_general {
namespace {

constexpr int kMostStrips = 64;              // of an image: 32 fill the lanes, more leave less over
constexpr std::int64_t kStripImages = 4096;  // of more images less than a hundredth of the lanes is left over
constexpr std::int64_t kMostTurnedBytes = std::int64_t{1} << 30;
constexpr double kTf32ProductsPerCycle = kProductsPerCycle / 2;

std::int64_t bytes_of(const TurnedTensor& tensor) {
  return static_cast<std::int64_t>(sizeof(float)) * tensor.elements();
}

/// x and dy, and where the first tap reads for the first pixel of a strip.
struct TurnedPair {
  TurnedTensor input;
  TurnedTensor gradient;
  int lower_down = 0;
  int lower_across = 0;

  std::int64_t bytes() const { return bytes_of(input) + bytes_of(gradient); }
  std::int64_t stages() const { return gradient.chunks() * gradient.pixels(); }
};

/// The strips of dy and x along an axis of `inputs` in `count` strips. One strip of x is x as it is: the zeros around
/// it take no memory.
struct StripPair {
  Strips gradient;
  Strips input;
  int lower = 0;
};

StripPair cut_axis(const AxisTaps& axis, int step, int inputs, int count) {
  StripPair made;
  const int outputs = static_cast<int>(divide_up(axis.extent, count));
  made.gradient = {.extent = axis.extent, .count = count, .first = 0, .apart = outputs, .length = outputs};
  if (count == 1) {
    made.input = {.extent = inputs, .count = 1, .first = 0, .apart = 0, .length = inputs};
    made.lower = axis.lower;
    return made;
  }
  made.input = {.extent = inputs,
                .count = count,
                .first = axis.lower,
                .apart = outputs * step,
                .length = (outputs - 1) * step + (axis.count - 1) * axis.shift + 1};
  return made;
}

TurnedPair cut_pair(const OpShape& s, const Problem& forward, int strips_down, int strips_across) {
  const Lattice& all = forward.lattices[0];
  const StripPair down = cut_axis(all.down, forward.read_step, s.height, strips_down);
  const StripPair across = cut_axis(all.right, forward.read_step, s.width, strips_across);
  const auto lanes = static_cast<int>(s.batch) * strips_down * strips_across;
  return {.input = {.lanes = lanes, .channels = s.in_channels, .down = down.input, .across = across.input},
          .gradient = {.lanes = lanes,
                       .channels = s.out_channels,
                       .down = down.gradient,
                       .across = across.gradient},
          .lower_down = down.lower,
          .lower_across = across.lower};
}

/// Whether `count` strips of rows, or columns, all have some.
bool fills(int extent, int count) {
  const std::int64_t length = divide_up(extent, count);
  return divide_up(extent, length) == count;
}

/// Estimated cycles of the product and of turning, on all multiprocessors.
double cycles_of(const OpShape& s, const TurnedPair& pair) {
  constexpr double kTurnedBytesPerCycle = 2000.0;  // that are read and written
  const double products = static_cast<double>(pair.stages()) * kLanes * s.in_channels * s.out_channels *
                          s.kernel_height * s.kernel_width;
  return products / (kTf32ProductsPerCycle * kPlannedProcessors) +
         2.0 * static_cast<double>(pair.bytes()) / kTurnedBytesPerCycle;
}

/// The strips that are estimated to take the least time.
TurnedPair choose_strips(const OpShape& s) {
  const Problem forward = forward_problem(s, core::Precision::tf32);
  TurnedPair best = cut_pair(s, forward, 1, 1);
  if (s.batch > kStripImages) return best;
  double least = cycles_of(s, best);
  for (int down = 1; down <= std::min(kMostStrips, forward.rows); ++down) {
    if (!fills(forward.rows, down)) continue;
    for (int across = 1; across <= std::min(kMostStrips / down, forward.columns); ++across) {
      if (!fills(forward.columns, across)) continue;
      const TurnedPair pair = cut_pair(s, forward, down, across);
      const double cycles = cycles_of(s, pair);
      if (cycles >= least) continue;
      least = cycles;
      best = pair;
    }
  }
  return best;
}

/// Estimated cycles of a stage of a block.
double turned_stage_cycles(const WeightsTile& tile) {
  const double rows = static_cast<double>(tile.units()) * kUnitRows;
  return std::max(rows * tile.columns * kLanes / kTf32ProductsPerCycle,
                  (rows + tile.columns) * kRowBytes / kBytesPerCycle);
}

/// Boxes of one pixel of a chunk, so many channels. Dimensions: lane, channel, column, row, chunk.
CUtensorMap map_turned(const TurnedTensor& t, const void* data, int box_channels) {
  const auto unsigned_of = [](std::int64_t value) { return static_cast<cuuint64_t>(value); };
  const cuuint64_t sizes[] = {kLanes, unsigned_of(t.channels), unsigned_of(t.across.length),
                              unsigned_of(t.down.length), unsigned_of(t.chunks())};
  const cuuint64_t pixel = unsigned_of(std::int64_t{kRowBytes} * t.channels);
  const cuuint64_t row = pixel * sizes[2];
  const cuuint64_t strides[] = {kRowBytes, pixel, row, row * sizes[3]};
  const cuuint32_t box[] = {kLanes, static_cast<cuuint32_t>(box_channels), 1, 1, 1};
  return fused::hopper::map_tiled(data, 5, sizes, strides, box, core::Precision::tf32);
}

void backward_weights_turned(const OpCall& call) {
  const TurnedPlan plan = plan_turned(call.shape);
  auto* const memory = static_cast<std::byte*>(call.workspace);
  void* const input = memory + plan.input_at;
  void* const gradient = memory + plan.gradient_at;
  turn(call, plan.input, call.operand<const void>(Name::input), input);
  turn(call, plan.gradient, call.operand<const void>(Name::output_gradient), gradient);
  const WeightsTile& tile = plan.weights.tile;
  const WeightsMaps maps{
      .input = map_turned(plan.input, input, tile.taps_in_rows ? tile.slice : tile.columns),
      .gradient = map_turned(plan.gradient, gradient, tile.taps_in_rows ? tile.columns : tile.slice)};
  launch_turned_weights(call, plan.weights, maps);
  add_weight_splits(call, plan.weights.problem);
}

std::size_t turned_workspace(const OpShape& s, core::Precision) {
  return plan_turned(s).bytes;
}

}  // namespace

TurnedPlan plan_turned(const OpShape& s) {
  const TurnedPair pair = choose_strips(s);
  TurnedPlan plan{.input = pair.input,
                  .gradient = pair.gradient,
                  .weights = plan_weights(s, static_cast<int>(pair.stages()), turned_stage_cycles)};
  WeightsProblem& problem = plan.weights.problem;
  problem.rows = pair.gradient.down.length;
  problem.columns = pair.gradient.across.length;
  problem.down.lower = pair.lower_down;
  problem.right.lower = pair.lower_across;
  plan.input_at = core::aligned(partial_bytes(problem));
  plan.gradient_at = core::aligned(plan.input_at + static_cast<std::size_t>(bytes_of(pair.input)));
  plan.bytes = plan.gradient_at + static_cast<std::size_t>(bytes_of(pair.gradient));
  return plan;
}

std::string refuses_turned_weights(const OpShape& s) {
  const std::string reason = refuses_weights_size(s);
  if (!reason.empty()) return reason;
  // Products of each element that is turned. With fewer the tensor cores of `mma` are done before the memory is: an
  // element takes 16 bytes of its bandwidth here.
  constexpr std::int64_t kLeastProducts = 240;
  const std::int64_t products = sizes::output(s) * s.kernel_height * s.kernel_width * s.in_channels;
  if (products / kLeastProducts < sizes::input(s) + sizes::output(s)) {
    return "leaves layers of so few taps and channels to kernels that turn no operands";
  }
  return choose_strips(s).bytes() <= kMostTurnedBytes ? ""
                                                      : "takes layers whose operands, turned, fit in 1 GiB";
}

}  // namespace hopper_general

Variant hopper_general_turned_backward_weights() {
  Variant more;
  hopper_general::limit(more);
  more.precisions = {core::Precision::tf32};
  more.chain = {{.op = Op::conv2d_backward_weights}, {.op = Op::conv2d_backward_bias, .optional = true}};
  more.workspace_bytes = hopper_general::turned_workspace;
  more.refuses = hopper_general::refuses_turned_weights;
  // Where `hopper` makes the layer's other calls they cover its pooling, and so does its call of this op.
  more.yields_to = [others = more.yields_to](const OpShape& shape) {
    constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();
    return hopper_general::leaves_to_hopper(shape) ? better_covered(shape, kAlways) : others(shape);
  };
  return cuda_variant(
      Op::conv2d_backward_weights, "hopper_general_turned", hopper_general::backward_weights_turned,
      "The product over the pixels in TF32: operands are turned first, so that images are innermost.",
      std::move(more));
}

}  // namespace warpscope::ops::conv2d
