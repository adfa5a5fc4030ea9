// gradients.allreduce, variant `loops`: each rank adds its part of the values of all, by a tree, and gives the others
// the result. Limits: none. Source: allreduce.cpp; ranks/group.h; R. Rabenseifner, "Optimization of Collective
// Reduction Operations" (2004): reduce-scatter, then all-gather.

#include <cstddef>
#include <span>

#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::allreduce {
namespace {

void gradients(const OpCall& call) {
  const ranks::Share& share = call.context->share;
  if (!share.sums) return;
  const auto add = [&](Name name, std::int64_t count) {
    share.sums->add({call.operand<float>(name), static_cast<std::size_t>(count)}, share.weight,
                    {ranks::Joint::gradients, "loops"});
    share.sums->check();
  };
  add(Name::gradients, call.shape.count);
  if (call.early) return;
  add(Name::metrics, step::kMetrics);
  add(Name::running, call.shape.in_channels);
}

}  // namespace

Variant loops_gradients() {
  return {.op = Op::gradients_allreduce,
          .name = "loops",
          .presets = {{"loops"}},
          .summary = "Each rank adds a part of the values of all, and gives the others the result.",
          .launch = gradients};
}

}  // namespace warpscope::ops::allreduce
