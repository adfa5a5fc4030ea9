#include "gpu/ops/former_ops.h"

#include <array>
#include <utility>

namespace warpscope::ops {
namespace {

constexpr std::array kFormerOps{FormerOp{.name = "block.forward",
                                         .op = Op::conv2d_forward,
                                         .covers = {Op::bias_forward},
                                         .upsample = Op::upsample2d_forward,
                                         .relu = Op::relu_forward,
                                         .pool = Op::maxpool2d_forward},
                                FormerOp{.name = "block.backward_weights",
                                         .op = Op::conv2d_backward_weights,
                                         .covers = {Op::conv2d_backward_bias},
                                         .upsample = Op::upsample2d_forward,
                                         .pool = Op::maxpool2d_backward},
                                FormerOp{.name = "block.backward_input",
                                         .op = Op::conv2d_backward_input,
                                         .covers = {},
                                         .upsample = Op::upsample2d_backward,
                                         .pool = Op::maxpool2d_backward,
                                         .masked = Op::relu_backward}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kFormerVariants{
    {{"wmma", "mma"}, {"wmma_fused", "mma_fused"}, {"hopper_small", "hopper"}}};

}  // namespace

std::span<const FormerOp> former_ops() {
  return kFormerOps;
}

std::optional<FormerOp> former_op(std::string_view name) {
  for (const FormerOp& former : kFormerOps) {
    if (former.name == name) return former;
  }
  return std::nullopt;
}

OpSet hidden_by(const FormerOp& former) {
  OpSet hidden = former.covers;
  hidden.add(former.op);
  for (const std::optional<Op>& op : {former.upsample, former.relu, former.pool, former.masked}) {
    if (op) hidden.add(*op);
  }
  return hidden;
}

std::string_view variant_now(std::string_view name) {
  for (const auto& [former, now] : kFormerVariants) {
    if (name == former) return now;
  }
  return name;
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

OpShape shape_now(Op op, OpShape shape) {
  const bool pools = op == Op::maxpool2d_forward || op == Op::maxpool2d_backward;
  if (pools && shape.kernel_height == 1 && shape.kernel_width == 1)
    shape.kernel_height = shape.kernel_width = 2;
  return shape;
}

}  // namespace warpscope::ops
