// relu, variant `onednn`: oneDNN's elementwise kernels. Over `loops` they add wide vectors and all cores.
//
// forward is max(0, x) of oneDNN's binary primitive, zeros first: its own ReLU, and max(x, 0), turn NaN into
// 0, which would hide a diverged training. The zeros are short and stay in cache; the tensor goes through in
// pieces. Limits: FP32, and BF16 where the CPU has it. In backward a NaN in y lets dy through, as in PyTorch.
// Source: oneDNN's documentation, "Binary" and "Eltwise".

#include <cstdint>
#include <cstring>

#include "gpu/ops/onednn_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::relu {
namespace {

using dnnl::memory;

constexpr auto kRelu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
constexpr std::int64_t kPiece = 1 << 18;  // at most 1 MiB of zeros: fits the second-level cache

std::int64_t elements(const OpShape& s) {
  return s.batch * s.height * s.width * s.in_channels;
}

memory::desc vector_of(std::int64_t size, core::Precision precision) {
  return memory::desc({size}, onednn::storage(precision), memory::format_tag::a);
}

void add_pieces(onednn::Program& program, core::Precision precision, std::int64_t first, std::int64_t end,
                std::int64_t piece) {
  const auto layout = vector_of(piece, precision);
  const std::size_t element = layout.get_size() / static_cast<std::size_t>(piece);
  const auto description =
      onednn::describe<dnnl::binary>(program, dnnl::algorithm::binary_max, layout, layout, layout);
  const auto zeros = program.scratch(layout);
  std::memset(zeros.get_data_handle(), 0, layout.get_size());
  for (std::int64_t i = first; i < end; i += piece) {
    const std::size_t offset = static_cast<std::size_t>(i) * element;
    program.add<dnnl::binary>(description, {{DNNL_ARG_SRC_0, zeros},
                                            {DNNL_ARG_SRC_1, program.operand(Name::input, layout, offset)},
                                            {DNNL_ARG_DST, program.operand(Name::output, layout, offset)}});
  }
}

std::unique_ptr<Prepared> prepare_forward(const OpCall& call) {
  return onednn::make_program(Op::relu_forward, [&](onednn::Program& program) {
    const std::int64_t all = elements(call.shape);
    const std::int64_t whole = all - all % kPiece;
    if (whole > 0) add_pieces(program, call.precision, 0, whole, kPiece);
    if (whole < all) add_pieces(program, call.precision, whole, all, all - whole);
  });
}

std::unique_ptr<Prepared> prepare_backward(const OpCall& call) {
  return onednn::make_program(Op::relu_backward, [&](onednn::Program& program) {
    const auto layout = vector_of(elements(call.shape), call.precision);
    program.add<dnnl::eltwise_backward>(onednn::describe_elements_backward(program, kRelu, layout),
                                        {{DNNL_ARG_DST, program.operand(Name::output, layout)},
                                         {DNNL_ARG_DIFF_DST, program.operand(Name::output_gradient, layout)},
                                         {DNNL_ARG_DIFF_SRC, program.operand(Name::input_gradient, layout)}});
  });
}

constexpr const char* kSummary = "oneDNN's elementwise kernels: adds wide vectors and all cores.";

}  // namespace

Variant onednn_forward() {
  return onednn::variant(Op::relu_forward, prepare_forward, kSummary);
}
Variant onednn_backward() {
  return onednn::variant(Op::relu_backward, prepare_backward, kSummary);
}

}  // namespace warpscope::ops::relu
