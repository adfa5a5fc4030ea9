// linear, variant `onednn`: oneDNN's matrix product, vectorised and on all cores. Over `loops` it adds cache
// blocking, FMA in registers and threads. A transposed operand is described by its strides and not copied.
// The bias gradient is a product of a row of ones with the gradient. Limits: FP32, and BF16 where the CPU has
// it, with parameter gradients in FP32; the last bits depend on the number of threads, and are the same from
// run to run on one machine. Source: linear.cpp; oneDNN's documentation, "Matrix Multiplication".

#include "gpu/ops/onednn_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {
namespace {

using dnnl::memory;

constexpr auto kF32 = memory::data_type::f32;

memory::desc rows(memory::dim height, memory::dim width, memory::data_type type) {
  return memory::desc({height, width}, type, memory::format_tag::ab);
}

/// The transpose of a row-major (width, height) matrix, where it lies.
memory::desc transposed(memory::dim height, memory::dim width, memory::data_type type) {
  return memory::desc({height, width}, type, memory::format_tag::ba);
}

/// An operand and how it is read.
struct Matrix {
  Name operand;
  memory::desc layout;
};

void add_product(onednn::Program& program, const Matrix& left, const Matrix& right, const Matrix& result) {
  program.add<dnnl::matmul>(onednn::describe<dnnl::matmul>(program, left.layout, right.layout, result.layout),
                            {{DNNL_ARG_SRC, program.operand(left.operand, left.layout)},
                             {DNNL_ARG_WEIGHTS, program.operand(right.operand, right.layout)},
                             {DNNL_ARG_DST, program.operand(result.operand, result.layout)}});
}

std::unique_ptr<Prepared> prepare_forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto type = onednn::storage(call.precision);
  return onednn::make_program(Op::linear_forward, [&](onednn::Program& program) {
    add_product(program, {Name::input, rows(s.batch, s.in_channels, type)},
                {Name::weights, transposed(s.in_channels, s.out_channels, type)},
                {Name::output, rows(s.batch, s.out_channels, type)});
  });
}

std::unique_ptr<Prepared> prepare_backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto type = onednn::storage(call.precision);
  return onednn::make_program(Op::linear_backward_input, [&](onednn::Program& program) {
    add_product(program, {Name::output_gradient, rows(s.batch, s.out_channels, type)},
                {Name::weights, rows(s.out_channels, s.in_channels, type)},
                {Name::input_gradient, rows(s.batch, s.in_channels, type)});
  });
}

std::unique_ptr<Prepared> prepare_backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const auto type = onednn::storage(call.precision);
  return onednn::make_program(Op::linear_backward_weights, [&](onednn::Program& program) {
    add_product(program, {Name::output_gradient, transposed(s.out_channels, s.batch, type)},
                {Name::input, rows(s.batch, s.in_channels, type)},
                {Name::weights_gradient, rows(s.out_channels, s.in_channels, kF32)});
  });
}

std::unique_ptr<Prepared> prepare_backward_bias(const OpCall& call) {
  return onednn::make_program(Op::linear_backward_bias, [&](onednn::Program& program) {
    onednn::add_row_sums(program, call.shape.batch, call.shape.out_channels, call.precision,
                         Name::output_gradient, Name::bias_gradient);
  });
}

constexpr const char* kSummary =
    "oneDNN's matrix product on all cores: adds cache blocking, FMA in registers and threads.";

}  // namespace

Variant onednn_forward() {
  return onednn::variant(Op::linear_forward, prepare_forward, kSummary);
}
Variant onednn_backward_input() {
  return onednn::variant(Op::linear_backward_input, prepare_backward_input, kSummary);
}
Variant onednn_backward_weights() {
  return onednn::variant(Op::linear_backward_weights, prepare_backward_weights, kSummary);
}
Variant onednn_backward_bias() {
  return onednn::variant(Op::linear_backward_bias, prepare_backward_bias, kSummary);
}

}  // namespace warpscope::ops::linear
