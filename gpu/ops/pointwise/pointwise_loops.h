#pragma once
// pointwise, variant `loops`: one loop over all elements in FP32, of which the compiler makes vectors; over pairs of
// them where the formula depends on the place. Limits: none on the shape; one thread.

#include <cstdint>
#include <string>

#include "gpu/ops/loops_storage.h"
#include "gpu/ops/pointwise/pointwise.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::pointwise {

template <class Formula, class T>
void run_loops(const OpCall& call) {
  const Formula formula(call);
  const auto each = begin(formula);
  const T* from = call.operand<const T>(Formula::kFrom);
  T* to = call.operand<T>(Formula::kTo);
  const std::int64_t elements = sizes::input(call.shape);
  if constexpr (kHasPlaces<Formula>) {
    const auto change = [&]<int W>(std::int64_t first, float(&&values)[W]) {
      for (int k = 0; k < W; ++k) values[k] = to_float(from[first + k]);
      each.apply(static_cast<std::uint64_t>(first), values);
      for (int k = 0; k < W; ++k) to[first + k] = from_float<T>(values[k]);
    };
    for (std::int64_t i = 0; i + 1 < elements; i += 2) change(i, {0.0f, 0.0f});
    if (elements % 2 != 0) change(elements - 1, {0.0f});
  } else if constexpr (kHasSecond<Formula>) {
    const T* second = second_of<T, Formula>(call);
    for (std::int64_t i = 0; i < elements; ++i)
      to[i] = from_float<T>(each(to_float(from[i]), to_float(second[i])));
  } else {
    for (std::int64_t i = 0; i < elements; ++i) to[i] = from_float<T>(each(to_float(from[i])));
  }
}

template <class Formula>
Variant loops(std::string (*refuses)(const OpShape&) = nullptr) {
  Variant made =
      loops_variant(Formula::kOp, by_storage<run_loops<Formula, float>, run_loops<Formula, BFloat16>>,
                    "A loop over all elements on one thread.");
  if (refuses != nullptr) made.refuses = refuses;
  return made;
}

}  // namespace warpscope::ops::pointwise
