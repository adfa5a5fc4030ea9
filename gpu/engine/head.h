#pragma once
// The head of a joint objective, as the data ask for it.

#include "gpu/data/dataset.h"
#include "gpu/models/model.h"

namespace warpscope::training {

/// The classes that a head on the latents tells apart. Throws core::BadInput if the images have no labels.
int head_classes_of(const data::DataSet& data);

/// Whether `model` could have a head that learns these images' classes.
bool can_have_head(const models::Model& model, const data::DataSet& data);

/// Whether `model`, or its head, learns classes.
bool needs_labels(const models::Model& model);

}  // namespace warpscope::training
