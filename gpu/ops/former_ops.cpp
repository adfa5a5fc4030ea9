#include "gpu/ops/former_ops.h"

#include <array>
#include <utility>

namespace warpscope::ops {

std::optional<FormerOp> former_op(std::string_view name) {
  using Row = std::pair<std::string_view, FormerOp>;
  static const std::array<Row, 3> kFormer{{{"block.forward",
                                            {.op = Op::conv2d_forward,
                                             .covers = {Op::bias_forward},
                                             .upsample = Op::upsample2d_forward,
                                             .relu = Op::relu_forward,
                                             .pool = Op::maxpool2d_forward}},
                                           {"block.backward_weights",
                                            {.op = Op::conv2d_backward_weights,
                                             .covers = {Op::conv2d_backward_bias},
                                             .upsample = Op::upsample2d_forward,
                                             .pool = Op::maxpool2d_backward}},
                                           {"block.backward_input",
                                            {.op = Op::conv2d_backward_input,
                                             .covers = {},
                                             .upsample = Op::upsample2d_backward,
                                             .pool = Op::maxpool2d_backward,
                                             .masked = Op::relu_backward}}}};
  for (const auto& [former, now] : kFormer) {
    if (former == name) return now;
  }
  return std::nullopt;
}

OpShape shape_now(const FormerOp& former, OpShape shape, const FormerFlags& flags) {
  shape.covered = former.covers;
  const auto add = [&](bool set, const std::optional<Op>& op) {
    if (set && op) shape.covered.add(*op);
  };
  add(flags.upsample, former.upsample);
  add(flags.relu, former.relu);
  add(flags.pool, former.pool);
  add(flags.masked, former.masked);
  if (flags.upsample) {
    shape.height *= 2;
    shape.width *= 2;
  }
  return shape;
}

}  // namespace warpscope::ops
