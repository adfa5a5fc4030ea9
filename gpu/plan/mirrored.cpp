#include "gpu/plan/mirrored.h"

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/host_values.h"

namespace warpscope::plan {

void check_mirrored(const models::Model& model) {
  if (model.reads_text()) {
    throw core::BadInput(fmt::format(
        "model {} takes texts, which have no mirror images: leave test_mirrored off", model.name));
  }
  if (model.loss == models::Loss::cross_entropy) return;
  throw core::BadInput(
      fmt::format("model {} tells no classes apart, and mirror images only help to do that: leave "
                  "test_mirrored off",
                  model.name));
}

std::vector<double> mean_logits(std::span<const std::byte> both, std::size_t bytes, core::ElementType type) {
  std::vector<double> mean = ops::decode(both.first(bytes), type);
  const std::vector<double> other = ops::decode(both.subspan(both.size() / 2, bytes), type);
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + other[i]) / 2;
  return mean;
}

}  // namespace warpscope::plan
