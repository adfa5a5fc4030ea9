// relu, variant `onednn`: oneDNN's elementwise kernels. Over `loops` they add wide vectors and all cores.
//
// forward is max(0, x) of oneDNN's binary primitive, zeros first: its own ReLU, and max(x, 0), turn NaN into
// 0, which would hide a diverged training. The zeros are short and stay in cache; the tensor goes through in
// pieces. Limits: FP32. In backward a NaN in y lets dy through, as in PyTorch. Source: oneDNN's
// documentation, "Binary" and "Eltwise".

#include <algorithm>
#include <cstdint>

#include "gpu/ops/onednn_support.h"
#include "gpu/ops/relu/relu.h"
#include "gpu/ops/relu/relu_variants.h"

namespace warpscope::ops::relu {
namespace {

using dnnl::memory;

constexpr std::int64_t kPiece = 1 << 18;  // 1 MiB of zeros: fits the second-level cache

std::int64_t elements(const OpShape& s) {
  return s.batch * s.height * s.width * s.in_channels;
}

memory::desc vector_of(std::int64_t size) {
  return memory::desc({size}, memory::data_type::f32, memory::format_tag::a);
}

void add_pieces(onednn::Program& program, std::int64_t first, std::int64_t end, std::int64_t piece) {
  const auto layout = vector_of(piece);
  const auto description =
      onednn::describe<dnnl::binary>(program, dnnl::algorithm::binary_max, layout, layout, layout);
  const auto zeros = program.scratch(layout);
  std::fill_n(static_cast<float*>(zeros.get_data_handle()), piece, 0.0f);
  for (std::int64_t i = first; i < end; i += piece) {
    const std::size_t offset = static_cast<std::size_t>(i) * sizeof(float);
    program.add<dnnl::binary>(description, {{DNNL_ARG_SRC_0, zeros},
                                            {DNNL_ARG_SRC_1, program.operand(kForwardInput, layout, offset)},
                                            {DNNL_ARG_DST, program.operand(kForwardOutput, layout, offset)}});
  }
}

std::unique_ptr<Prepared> prepare_forward(const OpShape& shape, core::Precision, core::Device&) {
  return onednn::make_program(Op::relu_forward, [&](onednn::Program& program) {
    const std::int64_t all = elements(shape);
    const std::int64_t whole = all - all % kPiece;
    if (whole > 0) add_pieces(program, 0, whole, kPiece);
    if (whole < all) add_pieces(program, whole, all, all - whole);
  });
}

auto describe_relu(const onednn::Program& program, const memory::desc& layout) {
  constexpr auto kTraining = dnnl::prop_kind::forward_training;
  constexpr auto kRelu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
#if DNNL_VERSION_MAJOR >= 3
  return onednn::describe<dnnl::eltwise_forward>(program, kTraining, kRelu, layout, layout, 0.0f, 0.0f);
#else
  return onednn::describe<dnnl::eltwise_forward>(program, kTraining, kRelu, layout, 0.0f, 0.0f);
#endif
}

auto describe_relu_backward(const onednn::Program& program, const memory::desc& layout) {
  constexpr auto kRelu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
  const auto hint = describe_relu(program, layout);
#if DNNL_VERSION_MAJOR >= 3
  return onednn::describe_backward<dnnl::eltwise_backward>(program, hint, kRelu, layout, layout, layout, 0.0f,
                                                           0.0f);
#else
  return onednn::describe_backward<dnnl::eltwise_backward>(program, hint, kRelu, layout, layout, 0.0f, 0.0f);
#endif
}

std::unique_ptr<Prepared> prepare_backward(const OpShape& shape, core::Precision, core::Device&) {
  return onednn::make_program(Op::relu_backward, [&](onednn::Program& program) {
    const auto layout = vector_of(elements(shape));
    program.add<dnnl::eltwise_backward>(
        describe_relu_backward(program, layout),
        {{DNNL_ARG_DST, program.operand(kBackwardOutput, layout)},
         {DNNL_ARG_DIFF_DST, program.operand(kBackwardOutputGradient, layout)},
         {DNNL_ARG_DIFF_SRC, program.operand(kBackwardInputGradient, layout)}});
  });
}

template <Op Which>
Variant onednn_variant(std::unique_ptr<Prepared> (*prepare)(const OpShape&, core::Precision, core::Device&)) {
  return {.op = Which,
          .name = "onednn",
          .precisions = {core::Precision::fp32},
          .summary = "oneDNN's elementwise kernels: adds wide vectors and all cores.",
          .launch = onednn::launch<Which>,
          .prepare = prepare};
}

}  // namespace

Variant onednn_forward() {
  return onednn_variant<Op::relu_forward>(prepare_forward);
}
Variant onednn_backward() {
  return onednn_variant<Op::relu_backward>(prepare_backward);
}

}  // namespace warpscope::ops::relu
