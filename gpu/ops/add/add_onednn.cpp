// add.forward, variant `onednn`: oneDNN's binary addition. Over `loops` it adds wide vectors and all cores. Limits:
// FP32, and BF16 where the CPU has it. Source: oneDNN's documentation, "Binary".

#include "gpu/ops/onednn_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::add {
namespace {

std::unique_ptr<Prepared> prepare(const OpCall& call) {
  const OpShape& s = call.shape;
  return onednn::make_program(Op::add_forward, [&](onednn::Program& program) {
    const auto image =
        onednn::nhwc(s.batch, s.height, s.width, s.in_channels, onednn::storage(call.precision));
    program.add<dnnl::binary>(
        onednn::describe<dnnl::binary>(program, dnnl::algorithm::binary_add, image, image, image),
        {{DNNL_ARG_SRC_0, program.operand(Name::input, image)},
         {DNNL_ARG_SRC_1, program.operand(Name::addend, image)},
         {DNNL_ARG_DST, program.operand(Name::output, image)}});
  });
}

}  // namespace

Variant onednn_forward() {
  return onednn::variant(Op::add_forward, prepare, "oneDNN's addition: adds wide vectors and all cores.");
}

}  // namespace warpscope::ops::add
