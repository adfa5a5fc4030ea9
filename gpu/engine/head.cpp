#include "gpu/engine/head.h"

#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::training {
namespace {

bool labelled(const data::DataSet& data) {
  const auto whole = [](const data::ImageSet& set) { return std::cmp_equal(set.labels.size(), set.count); };
  return data.classes.size() > 1 && whole(data.train) && whole(data.validation) && whole(data.test);
}

}  // namespace

int head_classes_of(const data::DataSet& data) {
  if (labelled(data)) return static_cast<int>(data.classes.size());
  throw core::BadInput(
      fmt::format("{} has no labels, which a head on the latents learns; leave joint at 0", data.name));
}

bool can_have_head(const models::Model& model, const data::DataSet& data) {
  return model.loss == models::Loss::mse && labelled(data);
}

bool needs_labels(const models::Model& model) {
  return model.loss == models::Loss::cross_entropy || model.head_classes > 0;
}

}  // namespace warpscope::training
