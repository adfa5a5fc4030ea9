// dropout, variant `loops`: one loop over pairs of elements, which share 64 random bits. Over `reference` it adds that
// each number of the generator is drawn once. Limits: none on the shape; one thread. Source: dropout.h.

#include <cstdint>

#include "gpu/ops/dropout/dropout.h"
#include "gpu/ops/dropout/mask.h"
#include "gpu/ops/loops_storage.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::dropout {
namespace {

/// Both directions do the same.
template <class T, Name From, Name To>
void launch(const OpCall& call) {
  const OpShape& s = call.shape;
  const T* from = call.operand<const T>(From);
  T* to = call.operand<T>(To);
  const std::uint64_t key = key_of(*call.operand<const step::StepControl>(Name::control), s.salt);
  const std::uint32_t threshold = threshold_of(s);
  const auto scale = static_cast<float>(scale_of(s));
  // A product, not a choice: what is not finite must not be dropped unseen.
  const auto pass = [&](std::int64_t i, std::uint64_t bits) {
    const float factor = static_cast<std::uint32_t>(bits) >= threshold ? scale : 0.0f;
    to[i] = from_float<T>(to_float(from[i]) * factor);
  };
  const std::int64_t elements = sizes::input(s);
  for (std::int64_t i = 0; i < elements; i += 2) {
    const std::uint64_t bits = pair_bits(key, static_cast<std::uint64_t>(i / 2));
    pass(i, bits);
    if (i + 1 < elements) pass(i + 1, bits >> 32);
  }
}

template <Name From, Name To>
Variant loops(Op op) {
  return {.op = op,
          .name = "loops",
          .precisions = loops_precisions(),
          .presets = {{"loops"}},
          .summary = "A loop over pairs of elements on one thread.",
          .launch = by_storage<launch<float, From, To>, launch<BFloat16, From, To>>,
          .refuses = refuses};
}

}  // namespace

Variant loops_forward() {
  return loops<Name::input, Name::output>(Op::dropout_forward);
}
Variant loops_backward() {
  return loops<Name::output_gradient, Name::input_gradient>(Op::dropout_backward);
}

}  // namespace warpscope::ops::dropout
