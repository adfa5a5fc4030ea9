// conv2d.forward, variant `hopper_pooled`: over `hopper` it adds the max pooling in threes behind a convolution of one
// dimension, on the sums in registers: what is pooled is never stored. The places of the largest are stored as
// maxpool2d.h says. The kernel: hopper_line_pooled.cu; limits: hopper_lines.h; built as sm_90a. Source: the files named.

#include <string>
#include <vector>

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/conv2d_variants.h"
#include "gpu/ops/conv2d/fused/hopper_lines.h"
#include "gpu/ops/conv2d/fused/hopper_maps.h"

namespace warpscope::ops::conv2d {
namespace fused {
namespace {

bool has_line_window(const OpShape& call) {
  return call.window_height == 1 && call.window_width == hopper::kLineWindow;
}

bool is_pooled_line(const OpShape& s) {
  return s.stride == 1 && s.dilation == 1 && hopper::line_pooled::takes(shape_of(s));
}

/// Other layers have no pooling that this chain is made for.
bool takes_pooling(const OpShape& its, OpShape& call) {
  take_window(its, call);
  return has_line_window(call) && is_pooled_line(call);
}

OpShape shape_of_pooling(const OpShape& call) {
  OpShape shape = result_shape(call);
  shape.kernel_height = call.window_height;
  shape.kernel_width = call.window_width;
  return shape;
}

/// conv2d.forward [bias.forward] [relu.forward] maxpool2d.forward.
std::vector<Link> pooled_line_chain() {
  return {{.op = Op::conv2d_forward, .renames = {{Name::output, Name::product}}},
          {.op = Op::bias_forward,
           .renames = {{Name::input, Name::product}, {Name::output, Name::biased}},
           .optional = true,
           .without = Rename{Name::product, Name::biased},
           .shape = result_shape},
          {.op = Op::relu_forward,
           .renames = {{Name::input, Name::biased}, {Name::output, Name::activated}},
           .optional = true,
           .without = Rename{Name::biased, Name::activated},
           .shape = result_shape},
          {.op = Op::maxpool2d_forward,
           .renames = {{Name::input, Name::activated}},
           .shape = shape_of_pooling,
           .takes = takes_pooling}};
}

std::string refuses_pooled_line(const OpShape& s) {
  if (!is_pooled_line(s)) {
    return "takes convolutions of one dimension with 3, 5 or 7 taps, stride 1 and channels in multiples of "
           "64 up to "
           "1024, of three positions at least";
  }
  const bool pools = s.covered.has(Op::maxpool2d_forward);
  return pools && !has_line_window(s) ? "takes pooling in windows of 3 positions of a row" : "";
}

}  // namespace
}  // namespace fused

Variant hopper_pooled_forward() {
  using namespace fused;
  Variant variant = chain_variant(
      Op::conv2d_forward, "hopper_pooled",
      "As hopper of one dimension, with the max pooling in threes behind it: only what is pooled is "
      "written.");
  variant.precisions = {core::Precision::tf32, core::Precision::fp16, core::Precision::bf16};
  variant.minimum_compute_capability = 90;
  variant.maximum_compute_capability = 90;
  variant.chain = pooled_line_chain();
  variant.formats.clear();
  variant.launch = [](const OpCall& call) { hopper::line_pooled::launch(call_of(call)); };
  variant.refuses = refuses_pooled_line;
  return variant;
}

}  // namespace warpscope::ops::conv2d
