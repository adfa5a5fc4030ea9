// gelu, variant `onednn`: oneDNN's elementwise kernels. Over `loops` they add wide vectors, an error function without
// calls, and all cores. Limits: FP32, and BF16 where the CPU has it. Source: oneDNN's documentation, "Eltwise".

#include "gpu/ops/onednn_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::gelu {
namespace {

using dnnl::memory;

constexpr auto kGelu = dnnl::algorithm::eltwise_gelu_erf;

memory::desc vector_of(const OpShape& shape, core::Precision precision) {
  return memory::desc({sizes::input(shape)}, onednn::storage(precision), memory::format_tag::a);
}

std::unique_ptr<Prepared> prepare_forward(const OpCall& call) {
  return onednn::make_program(Op::gelu_forward, [&](onednn::Program& program) {
    const auto layout = vector_of(call.shape, call.precision);
    program.add<dnnl::eltwise_forward>(onednn::describe_elements(program, kGelu, layout),
                                       {{DNNL_ARG_SRC, program.operand(Name::input, layout)},
                                        {DNNL_ARG_DST, program.operand(Name::output, layout)}});
  });
}

std::unique_ptr<Prepared> prepare_backward(const OpCall& call) {
  return onednn::make_program(Op::gelu_backward, [&](onednn::Program& program) {
    const auto layout = vector_of(call.shape, call.precision);
    program.add<dnnl::eltwise_backward>(onednn::describe_elements_backward(program, kGelu, layout),
                                        {{DNNL_ARG_SRC, program.operand(Name::input, layout)},
                                         {DNNL_ARG_DIFF_DST, program.operand(Name::output_gradient, layout)},
                                         {DNNL_ARG_DIFF_SRC, program.operand(Name::input_gradient, layout)}});
  });
}

constexpr const char* kSummary = "oneDNN's elementwise kernels: adds wide vectors and all cores.";

}  // namespace

Variant onednn_forward() {
  return onednn::variant(Op::gelu_forward, prepare_forward, kSummary);
}
Variant onednn_backward() {
  return onednn::variant(Op::gelu_backward, prepare_backward, kSummary);
}

}  // namespace warpscope::ops::gelu
