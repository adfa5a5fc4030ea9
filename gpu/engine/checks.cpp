#include "gpu/engine/checks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/head.h"
#include "gpu/engine/recipe.h"

namespace warpscope::training {

void check_batch(std::int64_t batch, const data::DataSet& data) {
  if (batch >= 1 && batch <= data.train.count) return;
  throw core::BadInput(
      fmt::format("batch size {} is not between 1 and the {} training images", batch, data.train.count));
}

void check_mixup(const AugmentSettings& augment, int batch) {
  if (augment.mixup == 0 || batch > 1) return;
  throw core::BadInput(
      "mixup mixes each image with the next of the batch, which has only one: take a larger batch, or leave "
      "mixup off");
}

void check_augmented(const models::Model& model, const AugmentSettings& augment) {
  if (augment.crop > 0 && augment.crop >= std::max(model.height, model.width)) {
    throw core::BadInput(fmt::format("crop {} shifts images by as much as they are long, which are {}x{}",
                                     augment.crop, model.height, model.width));
  }
  if (augment.cutout > std::max(model.height, model.width)) {
    throw core::BadInput(fmt::format("cutout {} is larger than the images, which are {}x{}", augment.cutout,
                                     model.height, model.width));
  }
  if (!model.reads_text() || !augments(augment)) return;
  throw core::BadInput(
      fmt::format("model {} takes texts, and augmentation changes pictures alone", model.name));
}

void check_data(const models::Model& model, const data::DataSet& data, const EngineSettings& settings) {
  const data::ImageSet& train = data.train;
  if (train.height != model.height || train.width != model.width || train.channels != model.channels) {
    throw core::BadInput(fmt::format("{} has images of {}x{}x{}, model {} takes {}x{}x{}", data.name,
                                     train.height, train.width, train.channels, model.name, model.height,
                                     model.width, model.channels));
  }
  if (data.test.count < 1) throw core::BadInput(fmt::format("{} has no test images", data.name));
  check_augmented(model, settings.augment);
  plan::check_views(model, view_settings(settings));
  if (!needs_labels(model)) return;
  const int classes = std::max(model.classes, model.head_classes);
  for (const data::ImageSet* set : {&train, &data.validation, &data.test}) {
    if (std::cmp_not_equal(set->labels.size(), set->count)) {
      throw core::BadInput(fmt::format("{} has no labels, which model {} needs", data.name, model.name));
    }
    const auto wrong = std::find_if(set->labels.begin(), set->labels.end(),
                                    [&](std::uint8_t label) { return label >= classes; });
    if (wrong != set->labels.end()) {
      throw core::BadInput(fmt::format("{} has images of class {}, model {} knows {} classes", data.name,
                                       *wrong, model.name, classes));
    }
  }
}

void check_network(const models::Model& next, const models::Model& present, const data::DataSet& data,
                   const EngineSettings& settings) {
  models::check_model(next);
  if (next.loss != present.loss) {
    const bool classifies = next.loss == models::Loss::cross_entropy;
    throw core::BadInput(fmt::format("network {} {}, which this training does not; a new training can",
                                     next.name, classifies ? "classifies images" : "reconstructs images"));
  }
  check_data(next, data, settings);
  if (next.alphabet != present.alphabet) {
    throw core::BadInput(
        fmt::format("network {} has another alphabet than the one that the texts of {} were read by; a new "
                    "training can take it",
                    next.name, data.name));
  }
}

}  // namespace warpscope::training
