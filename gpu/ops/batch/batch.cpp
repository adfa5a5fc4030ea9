#include "gpu/ops/batch/batch.h"

#include <array>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::batch {
namespace {

std::int64_t data_set(const OpShape& s) {
  return s.count * s.height * s.width * s.in_channels;
}
/// Of the data set only what is picked counts.
OpShape picked(const OpShape& s) {
  OpShape touched = s;
  touched.count = s.batch;
  return touched;
}
constexpr std::array kGather{Operand{Name::images, Access::read, Role::byte, data_set},
                             Operand{Name::order, Access::read, Role::index, sizes::count},
                             Operand{Name::control, Access::read, Role::control, sizes::step_control},
                             Operand{Name::output, Access::write, Role::activation, sizes::input}};

}  // namespace

OpContract gather_contract() {
  return {.name = "batch.gather",
          .summary = "pick the batch's images and scale bytes to [0, 1]",
          .operands = kGather,
          .flops = sizes::one_flop_each,
          .terms = sizes::one,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = gather_tests,
          .touched = picked};
}

}  // namespace warpscope::ops::batch
