#include "gpu/ops/augment/augment.h"

#include <array>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::augment {
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
/// Scaling, brightness, contrast, saturation and mixing, about.
double flops(const OpShape& s) {
  constexpr double kEach = 16;
  return kEach * static_cast<double>(sizes::input(s));
}
/// Of the longest chain of roundings: brightness, contrast, saturation, the share of the batch.
std::int64_t roundings(const OpShape&) {
  return 16;
}
constexpr std::array kAugment{Operand{Name::images, Access::read, Role::byte, data_set},
                              Operand{Name::order, Access::read, Role::index, sizes::count},
                              Operand{Name::control, Access::read, Role::control, sizes::step_control},
                              Operand{Name::output, Access::write, Role::activation, sizes::input}};

}  // namespace

OpContract augment_contract() {
  return {.name = "batch.augment",
          .summary = "pick the batch's images, mirror, shift, recolour, cut out and mix them at random",
          .operands = kAugment,
          .flops = flops,
          .terms = roundings,
          .describe = sizes::describe_images,
          .variants = variants,
          .tests = augment_tests,
          .touched = picked};
}

}  // namespace warpscope::ops::augment
