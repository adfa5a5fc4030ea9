// global_average_pool, variant `onednn`: oneDNN's average pooling with a window of the whole image. Over `loops` it
// adds wide vectors and all cores. Limits: FP32, and BF16 where the CPU has it. Source: oneDNN's documentation,
// "Pooling".

#include "gpu/ops/onednn_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::global_average_pool {
namespace {

using dnnl::memory;

constexpr auto kAverage = dnnl::algorithm::pooling_avg_exclude_padding;

struct Layout {
  memory::desc image;
  memory::desc means;
  memory::dims window;
  memory::dims none{0, 0};

  Layout(const OpShape& s, memory::data_type type)
      : image(onednn::nhwc(s.batch, s.height, s.width, s.in_channels, type)),
        means(onednn::nhwc(s.batch, 1, 1, s.in_channels, type)),
        window{s.height, s.width} {}
};

// The stride is the window; version 3 has dilations too.
auto describe_forward(const onednn::Program& program, const Layout& at) {
  constexpr auto kTraining = dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
  return onednn::describe<dnnl::pooling_forward>(program, kTraining, kAverage, at.image, at.means, at.window,
                                                 at.window, at.none, at.none, at.none);
#else
  return onednn::describe<dnnl::pooling_forward>(program, kTraining, kAverage, at.image, at.means, at.window,
                                                 at.window, at.none, at.none);
#endif
}

auto describe_backward(const onednn::Program& program, const Layout& at) {
  const auto hint = describe_forward(program, at);
#if DNNL_VERSION_MAJOR >= 3
  return onednn::describe_backward<dnnl::pooling_backward>(program, hint, kAverage, at.image, at.means,
                                                           at.window, at.window, at.none, at.none, at.none);
#else
  return onednn::describe_backward<dnnl::pooling_backward>(program, hint, kAverage, at.image, at.means,
                                                           at.window, at.window, at.none, at.none);
#endif
}

std::unique_ptr<Prepared> prepare_forward(const OpCall& call) {
  return onednn::make_program(Op::global_average_pool_forward, [&](onednn::Program& program) {
    const Layout layout(call.shape, onednn::storage(call.precision));
    program.add<dnnl::pooling_forward>(describe_forward(program, layout),
                                       {{DNNL_ARG_SRC, program.operand(Name::input, layout.image)},
                                        {DNNL_ARG_DST, program.operand(Name::output, layout.means)}});
  });
}

std::unique_ptr<Prepared> prepare_backward(const OpCall& call) {
  return onednn::make_program(Op::global_average_pool_backward, [&](onednn::Program& program) {
    const Layout layout(call.shape, onednn::storage(call.precision));
    program.add<dnnl::pooling_backward>(
        describe_backward(program, layout),
        {{DNNL_ARG_DIFF_DST, program.operand(Name::output_gradient, layout.means)},
         {DNNL_ARG_DIFF_SRC, program.operand(Name::input_gradient, layout.image)}});
  });
}

constexpr const char* kSummary =
    "oneDNN's average pooling over the whole image: adds wide vectors and all cores.";

}  // namespace

Variant onednn_forward() {
  return onednn::variant(Op::global_average_pool_forward, prepare_forward, kSummary);
}
Variant onednn_backward() {
  return onednn::variant(Op::global_average_pool_backward, prepare_backward, kSummary);
}

}  // namespace warpscope::ops::global_average_pool
