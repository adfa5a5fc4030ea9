#include "gpu/observers/inspector.h"

#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::training {

bool Inspector::ask(const ObservationRequest& request) {
  if (request.inspected_image == image_) return false;
  image_ = request.inspected_image;
  return true;
}

bool Inspector::start(const Scene& scene) {
  const std::int64_t image = image_.value();
  if (image < 0 || image >= scene.data.test.count) {
    throw core::BadInput(
        fmt::format("there is no test image {}; there are {}, from 0", image, scene.data.test.count));
  }
  if (pass_ && pass_->selection() != scene.selection) {
    if (pass_->busy()) return false;
    pass_.reset();
  }
  if (!pass_) pass_ = std::make_unique<InspectionPass>(scene);
  return pass_->start(scene, image);
}

bool Inspector::take(Observations& seen) {
  auto found = pass_ ? pass_->take() : std::nullopt;
  if (!found || found->image != image_) return false;
  found->number = ++taken_;
  seen.inspection = std::make_shared<const Inspection>(*std::move(found));
  return true;
}

void Inspector::end(Observations& seen) {
  pass_.reset();
  seen.inspection = nullptr;
}

}  // namespace warpscope::training
