#pragma once
// A strip of the test images that excite a channel most, with how much. A click on one moves the cursor to it.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gpu/messages/channel_activations.h"
#include "ui/frame/frame.h"
#include "ui/interop/texture.h"

namespace warpscope::ui {

class ExcitingImages {
 public:
  static constexpr std::size_t kImages = 8;

  /// Draws the strip for a channel of an output (Inspection::outputs), `width` pixels wide and height() high, from
  /// Frame::seen. `layer`: its name.
  void draw(const Frame& frame, std::size_t output, std::size_t channel, const std::string& layer,
            float width);
  /// Pixels that the strip takes.
  static float height(const Frame& frame);
  /// For tests: the measure and the images as parts of a JSON object.
  std::string trace_text() const;
  /// Frees the texture; called before the context goes.
  void shutdown() { page_.reset(); }

 private:
  void draw_title(const Frame& frame, const std::string& layer, float width);
  void refresh(const Frame& frame, std::size_t output, std::size_t channel);
  std::string figure_of(const training::ExcitingImage& one) const;
  std::string tip(const Frame& frame, const training::ExcitingImage& one) const;
  void draw_texts(const Frame& frame, float width) const;
  void draw_image(const Frame& frame, std::size_t place, ImVec2 min, float side) const;

  training::ChannelMeasure measure_ = training::ChannelMeasure::mean;
  std::vector<training::ExcitingImage> images_;
  /// What `images_` was made from.
  std::shared_ptr<const training::ChannelActivations> seen_;
  std::shared_ptr<const training::DataView> data_;
  std::size_t channel_ = 0;
  training::ChannelMeasure measured_ = training::ChannelMeasure::mean;
  std::unique_ptr<interop::TilePage> page_;
};

}  // namespace warpscope::ui
