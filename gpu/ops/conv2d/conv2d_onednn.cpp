// conv2d, variants `onednn` and `onednn_fused` (bias and ReLU in its epilogue): oneDNN's direct convolutions,
// vectorised and on all cores. Over `loops` it adds cache blocking, FMA in registers and threads. Activations
// stay NHWC; weights are reordered inside the call, into memory of the prepared program, when the primitive
// wants another order. The bias gradient is a product of a row of ones with the gradient, because oneDNN's
// reduction over the outer dimension is not vectorised.
// Limits: FP32, and BF16 where the CPU has it, with weight gradients in FP32; the last bits depend on the
// number of threads, and are the same from run to run on one machine. Source: E. Georganas et al., "Anatomy
// of High-Performance Deep Learning Convolutions on SIMD Architectures" (2018).

#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/taps_along.h"
#include "gpu/ops/onednn_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

using dnnl::memory;

constexpr auto kF32 = memory::data_type::f32;
// Not "auto": that may choose Winograd, whose errors exceed the tolerance.
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

/// The memory of one convolution as oneDNN names it. Weights are (K, C, R, S) in oneDNN's order of
/// dimensions, in memory (K, R, S, C) as kept here, or in an order of the primitive's choice.
struct Layout {
  memory::desc input;
  memory::desc output;
  memory::desc kept_weights;
  memory::desc any_weights;
  memory::dims strides;
  memory::dims dilation;  ///< pixels between taps: none where they lie side by side
  memory::dims padding;

  Layout(const OpShape& s, memory::data_type type, memory::data_type weights)
      : input(onednn::nhwc(s.batch, s.height, s.width, s.in_channels, type)),
        output(onednn::nhwc(s.batch, output_height(s), output_width(s), s.out_channels, type)),
        kept_weights({s.out_channels, s.in_channels, s.kernel_height, s.kernel_width}, weights,
                     memory::format_tag::ohwi),
        any_weights({s.out_channels, s.in_channels, s.kernel_height, s.kernel_width}, weights,
                    memory::format_tag::any),
        strides{s.stride, s.stride},
        dilation{s.dilation - 1, s.dilation - 1},
        padding{padding_of(s, s.kernel_height), padding_of(s, s.kernel_width)} {}
};

dnnl::convolution_forward::primitive_desc describe_forward(const onednn::Program& program,
                                                           const Layout& layout) {
  return onednn::describe<dnnl::convolution_forward>(
      program, dnnl::prop_kind::forward_training, kDirect, layout.input, layout.any_weights, layout.output,
      layout.strides, layout.dilation, layout.padding, layout.padding);
}

std::unique_ptr<Prepared> prepare_forward(const OpCall& call) {
  const auto type = onednn::storage(call.precision);
  return onednn::make_program(Op::conv2d_forward, [&](onednn::Program& program) {
    const Layout layout(call.shape, type, type);
    const auto description = describe_forward(program, layout);
    const auto kept = program.operand(Name::weights, layout.kept_weights);
    const auto weights = program.add_reorder_to(description.weights_desc(), kept);
    program.add<dnnl::convolution_forward>(description,
                                           {{DNNL_ARG_SRC, program.operand(Name::input, layout.input)},
                                            {DNNL_ARG_WEIGHTS, weights},
                                            {DNNL_ARG_DST, program.operand(Name::output, layout.output)}});
  });
}

/// The attributes of a call whose last covered op is a ReLU.
dnnl::primitive_attr with_relu() {
  dnnl::post_ops after;
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
#else
  after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
#endif
  dnnl::primitive_attr attributes = onednn::user_scratchpad();
  attributes.set_post_ops(after);
  return attributes;
}

std::unique_ptr<Prepared> prepare_forward_fused(const OpCall& call) {
  if (!call.shape.covered.has(Op::bias_forward)) return prepare_forward(call);
  const auto type = onednn::storage(call.precision);
  return onednn::make_program(Op::conv2d_forward, [&](onednn::Program& program) {
    const Layout layout(call.shape, type, type);
    const memory::desc bias({call.shape.out_channels}, type, memory::format_tag::a);
    const auto description = onednn::describe_with<dnnl::convolution_forward>(
        call.shape.covered.has(Op::relu_forward) ? with_relu() : onednn::user_scratchpad(), program,
        dnnl::prop_kind::forward_training, kDirect, layout.input, layout.any_weights, bias, layout.output,
        layout.strides, layout.dilation, layout.padding, layout.padding);
    const auto kept = program.operand(Name::weights, layout.kept_weights);
    const auto weights = program.add_reorder_to(description.weights_desc(), kept);
    program.add<dnnl::convolution_forward>(description,
                                           {{DNNL_ARG_SRC, program.operand(Name::input, layout.input)},
                                            {DNNL_ARG_WEIGHTS, weights},
                                            {DNNL_ARG_BIAS, program.operand(Name::bias, bias)},
                                            {DNNL_ARG_DST, program.operand(Name::output, layout.output)}});
  });
}

/// oneDNN's BF16 convolutions take output channels in pairs. The gradient of the input through one tap (seen in
/// 2.6) multiplies what lies behind the last of an odd number.
bool is_wrong_in_bf16(const OpShape& shape) {
  const bool one_tap = shape.kernel_height == 1 && shape.kernel_width == 1;
  return one_tap && shape.stride == 1 && shape.out_channels % 2 != 0;
}

/// Through one tap: a product of pixels by output channels with output by input channels.
void add_product(onednn::Program& program, const OpShape& shape, memory::data_type type) {
  const memory::dim pixels = sizes::pixels(shape);
  const auto matrix = [&](memory::dim rows, memory::dim columns) {
    return memory::desc({rows, columns}, type, memory::format_tag::ab);
  };
  const auto dy = matrix(pixels, shape.out_channels);
  const auto weights = matrix(shape.out_channels, shape.in_channels);
  const auto dx = matrix(pixels, shape.in_channels);
  program.add<dnnl::matmul>(onednn::describe<dnnl::matmul>(program, dy, weights, dx),
                            {{DNNL_ARG_SRC, program.operand(Name::output_gradient, dy)},
                             {DNNL_ARG_WEIGHTS, program.operand(Name::weights, weights)},
                             {DNNL_ARG_DST, program.operand(Name::input_gradient, dx)}});
}

std::unique_ptr<Prepared> prepare_backward_input(const OpCall& call) {
  const auto type = onednn::storage(call.precision);
  if (call.precision == core::Precision::bf16 && is_wrong_in_bf16(call.shape)) {
    return onednn::make_program(Op::conv2d_backward_input,
                                [&](onednn::Program& program) { add_product(program, call.shape, type); });
  }
  return onednn::make_program(Op::conv2d_backward_input, [&](onednn::Program& program) {
    const Layout layout(call.shape, type, type);
    const auto description = onednn::describe_backward<dnnl::convolution_backward_data>(
        program, describe_forward(program, layout), kDirect, layout.input, layout.any_weights, layout.output,
        layout.strides, layout.dilation, layout.padding, layout.padding);
    const auto kept = program.operand(Name::weights, layout.kept_weights);
    const auto weights = program.add_reorder_to(description.weights_desc(), kept);
    program.add<dnnl::convolution_backward_data>(
        description, {{DNNL_ARG_DIFF_DST, program.operand(Name::output_gradient, layout.output)},
                      {DNNL_ARG_WEIGHTS, weights},
                      {DNNL_ARG_DIFF_SRC, program.operand(Name::input_gradient, layout.input)}});
  });
}

/// Whether a tap along one axis reads only padding.
bool has_idle_tap(const TapsAlong& along, int kernel, int inputs, int outputs) {
  for (int tap = 0; tap < kernel; ++tap) {
    if (along.first_output(tap) >= along.end_output(tap, inputs, outputs)) return true;
  }
  return false;
}
bool has_idle_tap(const OpShape& s) {
  return has_idle_tap(row_taps(s), s.kernel_height, s.height, output_height(s)) ||
         has_idle_tap(column_taps(s), s.kernel_width, s.width, output_width(s));
}

/// With one tap and a stride oneDNN (seen in 2.6) writes past the scratch memory that it asks for.
std::string refuses_backward_weights(const OpShape& s) {
  const bool one_tap = s.kernel_height == 1 && s.kernel_width == 1;
  return one_tap && s.stride > 1 ? "oneDNN spoils memory where a kernel of one tap has a stride" : "";
}

std::unique_ptr<Prepared> prepare_backward_weights(const OpCall& call) {
  const auto kept_type = onednn::storage(call.precision);
  // In BF16 oneDNN (seen in 2.6) leaves what it finds in memory in the gradients of taps that read nothing.
  const auto type = has_idle_tap(call.shape) ? kF32 : kept_type;
  return onednn::make_program(Op::conv2d_backward_weights, [&](onednn::Program& program) {
    const Layout forward_layout(call.shape, type, type);
    const Layout layout(call.shape, type, kF32);
    const Layout kept_layout(call.shape, kept_type, kF32);
    const auto description = onednn::describe_backward<dnnl::convolution_backward_weights>(
        program, describe_forward(program, forward_layout), kDirect, layout.input, layout.any_weights,
        layout.output, layout.strides, layout.dilation, layout.padding, layout.padding);
    const auto input = program.operand(Name::input, kept_layout.input);
    const auto output_gradient = program.operand(Name::output_gradient, kept_layout.output);
    const auto kept = program.operand(Name::weights_gradient, layout.kept_weights);
    const bool same_layout = description.diff_weights_desc() == layout.kept_weights;
    const auto gradient = same_layout ? kept : program.scratch(description.diff_weights_desc());
    program.add<dnnl::convolution_backward_weights>(
        description, {{DNNL_ARG_SRC, program.add_reorder_to(layout.input, input)},
                      {DNNL_ARG_DIFF_DST, program.add_reorder_to(layout.output, output_gradient)},
                      {DNNL_ARG_DIFF_WEIGHTS, gradient}});
    if (!same_layout) program.add_reorder(gradient, kept);
  });
}

std::unique_ptr<Prepared> prepare_backward_bias(const OpCall& call) {
  return onednn::make_program(Op::conv2d_backward_bias, [&](onednn::Program& program) {
    onednn::add_row_sums(program, sizes::output_pixels(call.shape), call.shape.out_channels, call.precision,
                         Name::output_gradient, Name::bias_gradient);
  });
}

Variant onednn_variant(Op op, std::unique_ptr<Prepared> (*prepare)(const OpCall&)) {
  Variant made = onednn::variant(
      op, prepare, "oneDNN's vector code on all cores: adds cache blocking, FMA in registers and threads.");
  made.presets = {{"onednn", true}};
  return made;
}

}  // namespace

Variant onednn_forward() {
  return onednn_variant(Op::conv2d_forward, prepare_forward);
}
Variant onednn_fused_forward() {
  Variant variant = onednn_variant(Op::conv2d_forward, prepare_forward_fused);
  variant.name = "onednn_fused";
  variant.chain = bias_and_relu_after(Op::conv2d_forward);
  variant.presets = {{"onednn"}};
  variant.summary = "oneDNN's convolution with bias and ReLU done to the sums before they are written.";
  return variant;
}
Variant onednn_backward_input() {
  return onednn_variant(Op::conv2d_backward_input, prepare_backward_input);
}
Variant onednn_backward_weights() {
  Variant variant = onednn_variant(Op::conv2d_backward_weights, prepare_backward_weights);
  variant.refuses = refuses_backward_weights;
  return variant;
}
Variant onednn_backward_bias() {
  return onednn_variant(Op::conv2d_backward_bias, prepare_backward_bias);
}

}  // namespace warpscope::ops::conv2d
