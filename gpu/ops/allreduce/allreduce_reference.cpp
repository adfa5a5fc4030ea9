// gradients.allreduce, variant `reference`: the values of all ranks side by side, added in double. Limits: memory for
// those of all ranks. Source: allreduce.cpp.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/ops/reference_support.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::allreduce {
namespace {

template <class T>
void add(const OpCall& call, Name name, std::int64_t count) {
  ranks::Group& group = call.context->share.sums->group_for({ranks::Joint::gradients, "reference"});
  const std::span<T> values(call.operand<T>(name), static_cast<std::size_t>(count));
  const auto weight = static_cast<T>(call.context->share.weight);
  for (T& value : values) value *= weight;
  std::vector<T> all(values.size() * static_cast<std::size_t>(group.place().size));
  group.all_gather(std::as_bytes(values), std::as_writable_bytes(std::span(all)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (std::size_t at = i; at < all.size(); at += values.size()) sum += double{all[at]};
    values[i] = static_cast<T>(sum);
  }
}

template <class T>
void gradients(const OpCall& call) {
  if (!call.context->share.sums) return;
  add<T>(call, Name::gradients, call.shape.count);
  add<T>(call, Name::metrics, step::kMetrics);
  add<T>(call, Name::running, call.shape.in_channels);
}

}  // namespace

Variant reference_gradients() {
  return reference_variant(
      Op::gradients_allreduce, in_either_width<gradients<float>, gradients<double>>,
      "The values of all ranks side by side, added in double: what the others are held against.");
}

}  // namespace warpscope::ops::allreduce
