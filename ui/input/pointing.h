#pragma once
// What panels do with the cursor: nothing where there is none.

#include <cstdint>
#include <optional>
#include <string_view>

#include "gpu/models/model.h"
#include "ui/frame/frame.h"

namespace warpscope::ui {

/// A test image, with its class.
void point_at_image(const Frame& frame, std::int64_t image);
bool is_pointed_at_image(const Frame& frame, std::int64_t image);

/// The layer of that name; nothing happens if the model has none.
void point_at_layer(const Frame& frame, const models::Model& model, std::string_view layer);
/// The name of the layer that is pointed at; "" of the network's input and without a cursor.
std::string_view pointed_layer(const Frame& frame, const models::Model& model);

/// A class; of those a data set has.
void point_at_class(const Frame& frame, int label);
std::optional<int> pointed_class(const Frame& frame);

}  // namespace warpscope::ui
