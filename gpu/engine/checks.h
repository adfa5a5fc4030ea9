#pragma once
// What cannot be trained together, before anything is allocated. Each throws core::BadInput, one sentence.

#include <cstdint>

#include "gpu/data/dataset.h"
#include "gpu/models/model.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// `batch` images, micro-batches and all, are between 1 and the training images.
void check_batch(std::int64_t batch, const data::DataSet& data);

/// Images are not mixed where a batch has only one.
void check_mixup(const AugmentSettings& augment, int batch);

/// Nothing is augmented in texts, and images are larger than what is cut out of them and than they are shifted.
void check_augmented(const models::Model& model, const AugmentSettings& augment);

/// The data have images of the model's size, and the labels that it needs; settings suit both.
void check_data(const models::Model& model, const data::DataSet& data, const EngineSettings& settings);

/// A training with `present` and these data can go on with `next`.
void check_network(const models::Model& next, const models::Model& present, const data::DataSet& data,
                   const EngineSettings& settings);

}  // namespace warpscope::training
