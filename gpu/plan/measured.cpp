#include "gpu/plan/measured.h"

#include <type_traits>

#include <fmt/format.h>

namespace warpscope::plan {

std::string call_key(ops::Op op, core::Precision precision, const ops::OpShape& shape) {
  const ops::OpShape own = ops::by_itself(shape);
  std::string key = fmt::format("{} {} {}x{}x{}x{}>{}", ops::to_string(op), core::to_string(precision),
                                own.batch, own.height, own.width, own.in_channels, own.out_channels);
  if (own.kernel_height != 1 || own.kernel_width != 1) {
    key += fmt::format(" {}x{}", own.kernel_height, own.kernel_width);
  }
  if (own.count != 1) key += fmt::format(" count={}", own.count);
  ops::visit_parameters(own, [&](ops::Parameter parameter, auto value, auto standard) {
    if (value == standard) return;
    const std::string_view name = ops::row_of(parameter).name;
    if constexpr (std::is_enum_v<decltype(value)>) {
      key += fmt::format(" {}={}", name, static_cast<int>(value));
    } else {
      key += fmt::format(" {}={}", name, value);
    }
  });
  return key;
}

std::string describe(const MeasuredChoice& choice) {
  return fmt::format("measured: {:.1f} \u00b5s, {} {:.1f} \u00b5s", choice.microseconds, choice.instead,
                     choice.instead_microseconds);
}

}  // namespace warpscope::plan
