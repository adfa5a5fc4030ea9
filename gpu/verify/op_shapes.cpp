#include "gpu/verify/op_shapes.h"

#include <algorithm>

#include "gpu/ops/op_tests.h"
#include "gpu/verify/reference.h"

namespace warpscope::verify {
namespace {

using ops::Op;
using ops::OpSet;
using ops::OpShape;
using ops::Variant;

/// Whether every operand has elements: a kernel may not fit a small image.
bool is_possible(Op op, const OpShape& shape) {
  const auto operands = ops::contract(op).operands;
  return std::ranges::all_of(operands, [&](const ops::Operand& each) { return each.elements(shape) > 0; });
}

/// Smaller images, then a smaller batch, then fewer channels, then fewer parameters, until it costs no more
/// than `most_flops` or is as small as can be.
OpShape within(Op op, OpShape shape, double most_flops) {
  while (ops::contract(op).flops(shape) > most_flops) {
    OpShape smaller = shape;
    (shape.height > shape.width ? smaller.height : smaller.width) -= 2;
    if (shape.height * shape.width > 9 && is_possible(op, smaller)) {
      shape = smaller;
    } else if (shape.batch > 1) {
      shape.batch = (shape.batch + 1) / 2;
    } else if (std::max(shape.in_channels, shape.out_channels) > 1) {
      (shape.in_channels > shape.out_channels ? shape.in_channels : shape.out_channels) /= 2;
    } else if (shape.count > 1) {
      shape.count /= 2;
    } else {
      break;
    }
  }
  return shape;
}

/// Whether the call notes in `field` what a covered op is like (Link::takes).
bool notes(const Variant& variant, const OpSet& covered, int OpShape::*field) {
  constexpr int kOther = 7;  // no field is so by itself
  OpShape its;
  its.in_channels = its.kernel_height = its.kernel_width = kOther;
  return std::ranges::any_of(variant.chain, [&](const ops::Link& link) {
    if (link.takes == nullptr || !covered.has(link.op)) return false;
    OpShape call;
    link.takes(its, call);
    return call.*field == kOther;
  });
}

/// The window of `given`, or, where that has none, 1x3 for lines and 2x2 for images.
void give_window(OpShape& shape, const OpShape& given) {
  const bool has = given.window_height != 1 || given.window_width != 1;
  shape.window_height = has ? given.window_height : std::min(shape.height, 2);
  shape.window_width = has ? given.window_width : shape.height == 1 ? 3 : 2;
}

void add_once(std::vector<OpShape>& calls, const std::optional<OpShape>& call) {
  if (call && std::ranges::find(calls, *call) == calls.end()) calls.push_back(*call);
}

}  // namespace

std::vector<OpShape> shapes_of(Op op) {
  return ops::tests_of(op).shapes();
}

std::vector<OpShape> random_shapes_of(Op op, int count, std::uint64_t seed, double most_flops) {
  ops::Random random(seed * 1000003 + static_cast<std::uint64_t>(op));
  std::vector<OpShape> shapes;
  for (int i = 0; i < count; ++i) {
    shapes.push_back(within(op, ops::tests_of(op).random_shape(random), most_flops));
  }
  return shapes;
}

std::vector<OpShape> large_shapes_of(Op op) {
  const auto large = ops::tests_of(op).large_shapes;
  return large == nullptr ? std::vector<OpShape>() : large();
}

std::optional<OpShape> fitted(const Variant& variant, OpShape shape, const OpSet& covered) {
  const OpShape given = shape;
  for (const int larger : {1, 2}) {
    shape = ops::by_itself(given);
    shape.covered = covered;
    shape.height *= larger;
    shape.width *= larger;
    if (notes(variant, covered, &OpShape::window_height)) give_window(shape, given);
    if (notes(variant, covered, &OpShape::patch_channels)) {
      shape.patch_channels = given.patch_channels != 0 ? given.patch_channels : 3;
    }
    if (misfit(variant, shape).empty()) return shape;
  }
  return std::nullopt;
}

std::vector<OpShape> calls_of(const Variant& variant, std::vector<OpShape> shapes,
                              const std::vector<OpShape>& large) {
  const auto more = ops::tests_of(variant.op).chain_shapes;
  if (!variant.chain.empty() && more != nullptr) {
    const auto around = more();
    shapes.insert(shapes.end(), around.begin(), around.end());
  }
  const auto sets = coverings(variant);
  std::vector<OpShape> calls;
  for (const OpShape& shape : shapes) {
    for (const OpSet& set : sets) add_once(calls, fitted(variant, shape, set));
  }
  for (const OpShape& shape : large) {
    add_once(calls, fitted(variant, shape, sets.front()));
    add_once(calls, fitted(variant, shape, sets.back()));
  }
  return calls;
}

}  // namespace warpscope::verify
