// add.forward, variant `reference`: the formula of add.cpp, added in double. Limits: none. Source: add.cpp.

#include <cstdint>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::add {
namespace {

template <class T>
void forward(const OpCall& call) {
  const T* a = call.operand<const T>(Name::input);
  const T* b = call.operand<const T>(Name::addend);
  T* y = call.operand<T>(Name::output);
  const std::int64_t elements = sizes::input(call.shape);
  for (std::int64_t i = 0; i < elements; ++i) y[i] = static_cast<T>(double{a[i]} + double{b[i]});
}

}  // namespace

Variant reference_forward() {
  return reference_variant(
      Op::add_forward, in_either_width<forward<float>, forward<double>>,
      "The formula element by element, added in double: what the others are held against.");
}

}  // namespace warpscope::ops::add
