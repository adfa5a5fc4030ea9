// add.forward, variant `onednn`: oneDNN's binary addition. Over `loops` it adds wide vectors and all cores. Limits:
// FP32, and BF16 where the CPU has it. Source: oneDNN's documentation, "Binary".

#include "gpu/ops/add/add.h"
#include "gpu/ops/onednn_support.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::add {
namespace {

std::unique_ptr<Prepared> prepare(const OpShape& s, core::Precision precision, core::Device&) {
  return onednn::make_program(Op::add_forward, [&](onednn::Program& program) {
    const auto image = onednn::nhwc(s.batch, s.height, s.width, s.in_channels, onednn::storage(precision));
    program.add<dnnl::binary>(
        onednn::describe<dnnl::binary>(program, dnnl::algorithm::binary_add, image, image, image),
        {{DNNL_ARG_SRC_0, program.operand(Name::input, image)},
         {DNNL_ARG_SRC_1, program.operand(Name::addend, image)},
         {DNNL_ARG_DST, program.operand(Name::output, image)}});
  });
}

}  // namespace

Variant onednn_forward() {
  return {.op = Op::add_forward,
          .name = "onednn",
          .precisions = onednn::precisions(),
          .presets = {{"onednn"}},
          .summary = "oneDNN's addition: adds wide vectors and all cores.",
          .launch = onednn::launch<Op::add_forward>,
          .prepare = prepare};
}

}  // namespace warpscope::ops::add
