// conv2d, variants `hopper_pooled` of forward and `hopper_unpooled` of backward_input: over `hopper` they add, of
// convolutions of one dimension, the max pooling in threes behind forward and the gradient of the one before
// backward_input, both on the sums in registers. What is not pooled is not stored, and the pooled gradient is not
// either. The places of the largest are stored as maxpool2d.cpp says. The kernels: hopper_line_pooled.cu,
// hopper_line_unpooled.cu; limits: hopper_lines.h; built as sm_90a. Source: the files named.

#include <string>
#include <vector>

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_lines.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_maps.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace fused {
namespace {

using hopper::kLineWindow;

bool has_line_window(const OpShape& call) {
  return call.window_height == 1 && call.window_width == kLineWindow;
}

template <bool (*Takes)(const ChainShape&)>
bool is_line(const OpShape& s) {
  return s.stride == 1 && s.dilation == 1 && Takes(shape_of(s));
}

/// Other layers have no pooling that this chain is made for.
bool takes_pooling(const OpShape& its, OpShape& call) {
  take_window(its, call);
  return has_line_window(call) && is_line<hopper::line_pooled::takes>(call);
}

/// The same, of one whose windows all positions fill: nothing else tells how many there were.
bool takes_unpooling(const OpShape& its, OpShape& call) {
  take_window(its, call);
  return has_line_window(call) && is_line<hopper::line_unpooled::takes>(call) &&
         its.width == kLineWindow * call.width;
}

OpShape shape_of_pooling(const OpShape& call) {
  OpShape shape = result_shape(call);
  shape.kernel_height = call.window_height;
  shape.kernel_width = call.window_width;
  return shape;
}

OpShape shape_of_unpooling(const OpShape& call) {
  OpShape shape = window_shape(call);
  shape.height *= call.window_height;
  shape.width *= call.window_width;
  return shape;
}

/// conv2d.forward [bias.forward] [relu.forward] maxpool2d.forward.
std::vector<Link> pooled_line_chain() {
  return {{.op = Op::conv2d_forward, .renames = {{Name::output, Name::product}}},
          optional_link(Op::bias_forward, Name::product, Name::biased, result_shape),
          optional_link(Op::relu_forward, Name::biased, Name::activated, result_shape),
          {.op = Op::maxpool2d_forward,
           .renames = {{Name::input, Name::activated}},
           .shape = shape_of_pooling,
           .takes = takes_pooling}};
}

/// conv2d.backward_input [relu.backward] maxpool2d.backward. The ReLU's output is the convolution's input, pooled.
std::vector<Link> unpooled_line_chain() {
  return {{.op = Op::conv2d_backward_input, .renames = {{Name::input_gradient, Name::unmasked_gradient}}},
          {.op = Op::relu_backward,
           .renames = {{Name::output, Name::input},
                       {Name::output_gradient, Name::unmasked_gradient},
                       {Name::input_gradient, Name::product_gradient}},
           .optional = true,
           .without = Rename{Name::unmasked_gradient, Name::product_gradient},
           .shape = input_shape},
          {.op = Op::maxpool2d_backward,
           .renames = {{Name::output_gradient, Name::product_gradient}},
           .shape = shape_of_unpooling,
           .takes = takes_unpooling}};
}

std::string refuses_other_windows(const OpShape& s, Op pooling) {
  return s.covered.has(pooling) && !has_line_window(s) ? "takes pooling in windows of 3 positions of a row"
                                                       : "";
}

constexpr const char* kLines =
    "takes convolutions of one dimension with 3, 5 or 7 taps, stride 1 and channels in multiples of 64 up to "
    "1024";

std::string refuses_pooled(const OpShape& s) {
  if (!is_line<hopper::line_pooled::takes>(s)) return std::string(kLines) + ", of three positions at least";
  return refuses_other_windows(s, Op::maxpool2d_forward);
}

std::string refuses_unpooled(const OpShape& s) {
  if (!is_line<hopper::line_unpooled::takes>(s)) return kLines;
  return refuses_other_windows(s, Op::maxpool2d_backward);
}

Variant line_variant(Op op, const char* name, const char* summary) {
  Variant variant = chain_variant(op, name, summary);
  variant.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16};
  variant.minimum_compute_capability = 90;
  variant.maximum_compute_capability = 90;
  variant.formats.clear();
  return variant;
}

}  // namespace
}  // namespace fused

Variant hopper_pooled_forward() {
  using namespace fused;
  Variant variant =
      line_variant(Op::conv2d_forward, "hopper_pooled",
                   "As hopper of one dimension, with the max pooling in threes behind it: only what "
                   "is pooled is written.");
  variant.chain = pooled_line_chain();
  variant.launch = [](const OpCall& call) { hopper::line_pooled::launch(call_of(call)); };
  variant.refuses = refuses_pooled;
  return variant;
}

Variant hopper_unpooled_backward_input() {
  using namespace fused;
  Variant variant =
      line_variant(Op::conv2d_backward_input, "hopper_unpooled",
                   "As hopper of one dimension, with the gradient of the max pooling in threes before "
                   "it: what is pooled is not written.");
  variant.chain = unpooled_line_chain();
  variant.launch = [](const OpCall& call) { hopper::line_unpooled::launch(call_of(call)); };
  variant.workspace_bytes = [](const OpShape& shape, core::Precision precision) {
    return hopper::line_backward_input::workspace(shape_of(shape), precision);
  };
  variant.refuses = refuses_unpooled;
  return variant;
}

}  // namespace warpscope::ops::conv2d
