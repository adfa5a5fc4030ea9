#include "ui/input/cursor.h"

namespace warpscope::ui {

void look_aside(const Frame& frame, std::uint64_t step) {
  if (frame.cursor == nullptr) return;
  frame.cursor->step = frame.cursor->aside = step;
  frame.cursor->passing = false;
  frame.send(training::LookAside{step});
}

void point_at_image(const Frame& frame, std::int64_t image) {
  if (frame.cursor == nullptr) return;
  const auto& data = frame.snapshot.data;
  point_at_image(*frame.cursor, image,
                 data ? std::span<const std::uint8_t>(data->test.labels) : std::span<const std::uint8_t>());
}

bool is_pointed_at_image(const Frame& frame, std::int64_t image) {
  return frame.cursor != nullptr && frame.cursor->image == image;
}

void point_at_layer(const Frame& frame, const models::Model& model, std::string_view layer) {
  if (frame.cursor == nullptr) return;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].name == layer) point_at_output(*frame.cursor, i + 1);
  }
}

std::string_view pointed_layer(const Frame& frame, const models::Model& model) {
  if (frame.cursor == nullptr || frame.cursor->output == 0) return "";
  const std::size_t layer = frame.cursor->output - 1;
  return layer < model.layers.size() ? std::string_view(model.layers[layer].name) : "";
}

void point_at_class(const Frame& frame, int label) {
  if (frame.cursor != nullptr) frame.cursor->label = label;
}

std::optional<int> pointed_class(const Frame& frame) {
  return frame.cursor == nullptr ? std::nullopt : frame.cursor->label;
}

}  // namespace warpscope::ui
