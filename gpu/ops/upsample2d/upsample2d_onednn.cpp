// upsample2d, variant `onednn`: oneDNN's nearest-neighbour resampling by 2. Over `loops` it adds all cores.
// Limits: FP32, and BF16 where the CPU has it. Source: oneDNN's documentation, "Resampling": output i reads
// input round((i + 0.5) / 2 -
// 0.5), which is i / 2 rounded down.

#include "gpu/ops/onednn_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::upsample2d {
namespace {

constexpr auto kNearest = dnnl::algorithm::resampling_nearest;

struct Layout {
  dnnl::memory::desc small;
  dnnl::memory::desc large;
  std::vector<float> factors{2.0f, 2.0f};

  Layout(const OpShape& s, dnnl::memory::data_type type)
      : small(onednn::nhwc(s.batch, s.height, s.width, s.in_channels, type)),
        large(onednn::nhwc(s.batch, 2 * s.height, 2 * s.width, s.in_channels, type)) {}
};

dnnl::resampling_forward::primitive_desc describe_forward(const onednn::Program& program,
                                                          const Layout& layout) {
  return onednn::describe<dnnl::resampling_forward>(program, dnnl::prop_kind::forward_training, kNearest,
                                                    layout.factors, layout.small, layout.large);
}

std::unique_ptr<Prepared> prepare_forward(const OpCall& call) {
  return onednn::make_program(Op::upsample2d_forward, [&](onednn::Program& program) {
    const Layout layout(call.shape, onednn::storage(call.precision));
    program.add<dnnl::resampling_forward>(describe_forward(program, layout),
                                          {{DNNL_ARG_SRC, program.operand(Name::input, layout.small)},
                                           {DNNL_ARG_DST, program.operand(Name::output, layout.large)}});
  });
}

std::unique_ptr<Prepared> prepare_backward(const OpCall& call) {
  return onednn::make_program(Op::upsample2d_backward, [&](onednn::Program& program) {
    const Layout layout(call.shape, onednn::storage(call.precision));
    const auto description = onednn::describe_backward<dnnl::resampling_backward>(
        program, describe_forward(program, layout), kNearest, layout.factors, layout.small, layout.large);
    program.add<dnnl::resampling_backward>(
        description, {{DNNL_ARG_DIFF_DST, program.operand(Name::output_gradient, layout.large)},
                      {DNNL_ARG_DIFF_SRC, program.operand(Name::input_gradient, layout.small)}});
  });
}

constexpr const char* kSummary = "oneDNN's nearest-neighbour resampling: adds all cores.";

}  // namespace

Variant onednn_forward() {
  return onednn::variant(Op::upsample2d_forward, prepare_forward, kSummary);
}
Variant onednn_backward() {
  return onednn::variant(Op::upsample2d_backward, prepare_backward, kSummary);
}

}  // namespace warpscope::ops::upsample2d
