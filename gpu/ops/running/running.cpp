// running.begin and running.end: the running statistics of batch norms, the numbers of a network that no optimizer
// learns, in a step whose micro-batches are shared by ranks. Each micro-batch begins with those from before the step,
// and the step leaves the mean of what they made of them, so that the number of ranks does not show.
//
//   running.begin:  control.micro_batch == 0:  saved = running;  otherwise running = saved
//   running.end:    running = sums
//
// OpShape: count = numbers.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::running {
namespace {

constexpr std::array kBegin{Operand{Name::control, Access::read, Role::control, sizes::step_control},
                            Operand{Name::running, Access::update, Role::parameter, sizes::count},
                            Operand{Name::saved, Access::update, Role::parameter, sizes::count}};
constexpr std::array kEnd{Operand{Name::sums, Access::read, Role::gradient, sizes::count},
                          Operand{Name::running, Access::write, Role::parameter, sizes::count}};

}  // namespace

OpContract begin_contract() {
  return {.name = "running.begin",
          .summary = "running statistics as they were before the step",
          .operands = kBegin,
          .describe = sizes::describe_parameters,
          .scope = Scope::parameters};
}

OpContract end_contract() {
  return {.name = "running.end",
          .summary = "running statistics of the whole step",
          .operands = kEnd,
          .describe = sizes::describe_parameters,
          .scope = Scope::parameters};
}

WARPSCOPE_VARIANTS(reference_begin(), reference_end(), loops_begin(),
                   loops_end() WARPSCOPE_IF_CUDA(, naive_begin(), naive_end()))

}  // namespace warpscope::ops::running
