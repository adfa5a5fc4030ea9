#include "gpu/plan/views.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/host_values.h"

namespace warpscope::plan {
namespace {

/// The settings that make more than one view.
std::string names_of(const ViewSettings& settings) {
  if (settings.shift == 0) return "test_mirrored";
  return settings.mirrored ? "test_mirrored and test_shift" : "test_shift";
}

}  // namespace

std::vector<View> views_of(const ViewSettings& settings) {
  std::vector<View> views{{}};
  if (settings.shift != 0) {
    for (const int down : {-settings.shift, settings.shift}) {
      for (const int right : {-settings.shift, settings.shift}) views.push_back({false, down, right});
    }
  }
  if (!settings.mirrored) return views;
  const std::size_t unmirrored = views.size();
  for (std::size_t i = 0; i < unmirrored; ++i) views.push_back({true, views[i].down, views[i].right});
  return views;
}

void show(const View& view, ops::step::StepControl& control) {
  control.flip = view.mirrored ? ops::step::kFlipAll : ops::step::kFlipNone;
  control.shift_down = view.down;
  control.shift_right = view.right;
}

void check_views(const models::Model& model, const ViewSettings& settings) {
  if (!settings.several()) return;
  if (model.reads_text()) {
    throw core::BadInput(
        fmt::format("model {} takes texts, which can be neither mirrored nor shifted: leave {} off",
                    model.name, names_of(settings)));
  }
  if (settings.shift >= std::max(model.height, model.width)) {
    throw core::BadInput(fmt::format("test_shift {} moves images out of sight, which are {}x{}",
                                     settings.shift, model.height, model.width));
  }
  if (model.loss == models::Loss::cross_entropy) return;
  throw core::BadInput(fmt::format(
      "model {} tells no classes apart, and several views of an image only help to do that: leave {} off",
      model.name, names_of(settings)));
}

std::vector<double> mean_of_views(std::span<const std::byte> all, std::size_t views, std::size_t bytes,
                                  core::ElementType type) {
  const std::size_t part = all.size() / views;
  std::vector<double> mean = ops::decode(all.first(bytes), type);
  for (std::size_t view = 1; view < views; ++view) {
    const std::vector<double> logits = ops::decode(all.subspan(view * part, bytes), type);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += logits[i];
  }
  for (double& logit : mean) logit /= static_cast<double>(views);
  return mean;
}

}  // namespace warpscope::plan
