// labels.gather: output[n] = labels[order[(control.position + n) mod count]] for n < batch; the labels of the
// images that batch.gather picks. OpShape: batch, count = images of the data set.

#include <array>

#include <fmt/format.h>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::labels {
namespace {

std::string describe_labels(const OpShape& s) {
  return fmt::format("{} labels", s.batch);
}
constexpr std::array kGather{Operand{Name::all_labels, Access::read, Role::byte, sizes::count},
                             Operand{Name::order, Access::read, Role::index, sizes::count},
                             Operand{Name::control, Access::read, Role::control, sizes::step_control},
                             Operand{Name::labels, Access::write, Role::byte, sizes::batch}};

}  // namespace

OpContract gather_contract() {
  return {.name = "labels.gather",
          .summary = "pick the batch's labels",
          .operands = kGather,
          .describe = describe_labels,
          .touched = sizes::picked};
}

WARPSCOPE_VARIANTS(reference_gather(), loops_gather() WARPSCOPE_IF_CUDA(, naive_gather()))

}  // namespace warpscope::ops::labels
