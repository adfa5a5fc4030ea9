#pragma once
// What a person is looking at. Every panel reads it and writes it, so that all of them follow one selection.
//
// Curves sets the step (a click pins it; a click on its line, or Esc, lets it go); Images step, image and class;
// Predictions image and class; Confusion the class; Latent image, class and the selected images; Network image, layer,
// channel and pixel; Kernels and Memory the layer; Time and Distributions layer and step. Each follows what it sets,
// but only Confusion and Latent follow the class; Images, Predictions and Confusion follow the selected images too.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gpu/models/model.h"
#include "ui/frame/frame.h"

namespace warpscope::ui {

struct Cursor {
  std::optional<std::uint64_t>
      step;                ///< that all views show, or the nearest that they have; nothing: the newest
  bool passing = false;    ///< it goes as the pointer leaves the curves: nothing is pinned
  std::int64_t image = 0;  ///< of the test images
  std::size_t output = 1;  ///< counts in Inspection::outputs: 0 is the image, n the layer n - 1 of the model
  int channel = 0;         ///< of that output
  bool has_pixel = false;  ///< a place of the channel is chosen: (y, x)
  int y = 0;
  int x = 0;
  std::optional<int> label =
      {};  ///< a class: that of the image that was pointed at, or one pointed at itself

  /// The selected test images, rising, which views that show many of them keep to; none: all images.
  std::vector<std::int64_t> images = {};

  /// The pinned step, where somebody asked to have it computed aside (training::LookAside).
  std::optional<std::uint64_t> aside = {};

  bool operator==(const Cursor&) const = default;
};

/// Back to the newest; false if that is what is shown.
inline bool let_step_go(Cursor& cursor) {
  const bool was = cursor.step.has_value();
  cursor.step.reset();
  cursor.passing = false;
  return was;
}

/// Another layer: its channels and places are not those of the one before.
inline void point_at_output(Cursor& cursor, std::size_t output) {
  if (cursor.output == output) return;
  cursor.output = output;
  cursor.channel = 0;
  cursor.has_pixel = false;
}

/// Another image, and its class where the images have labels.
inline void point_at_image(Cursor& cursor, std::int64_t image, std::span<const std::uint8_t> labels) {
  cursor.image = image;
  const auto place = static_cast<std::size_t>(image);
  cursor.label = image >= 0 && place < labels.size() ? std::optional<int>(labels[place]) : std::nullopt;
}

/// Pins the step and has it computed aside.
void look_aside(const Frame& frame, std::uint64_t step);

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
