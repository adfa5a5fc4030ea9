#pragma once
// The Network panel: one image's way through the layers. A strip of layers, the channels or filters of one of
// them as tiles, one tile enlarged, and the exact sum behind one of its pixels.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/inspect/explain.h"
#include "gpu/models/model.h"
#include "ui/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/exciting_images.h"
#include "ui/panels/network_rows.h"
#include "ui/panels/sum_view.h"

namespace warpscope::ui {

class NetworkPanel {
 public:
  explicit NetworkPanel(models::Model model)
      : model_(std::move(model)), layout_(models::parameter_layout(model_)) {}

  /// Title row and body of the tab.
  void draw(const Frame& frame);
  /// Frees the textures; called before the context goes.
  void shutdown();

 private:
  /// What the tiles' texture was made from.
  struct Made {
    std::uint64_t number = 0;  ///< Inspection::number
    std::size_t output = 0;
    NetworkLook look = NetworkLook::outputs;
    int in_channel = 0;
    bool scale_each = false;
    bool operator==(const Made&) const = default;
  };

  void draw_controls(const Frame& frame, float room);
  void draw_image_choice(const Frame& frame);
  void draw_depth_choice(const Frame& frame);
  void refresh(const Frame& frame);
  void make_tiles(const Frame& frame);
  void make_strip(const Frame& frame);
  void draw_strip(const Frame& frame);
  void draw_card(const Frame& frame, std::size_t output, ImVec2 min, ImVec2 max);
  void draw_left(const Frame& frame, ImVec2 room);
  void draw_tiles(const Frame& frame, ImVec2 room);
  void draw_tile_tip(const Frame& frame, int picture) const;
  void draw_detail(const Frame& frame, ImVec2 room);
  void draw_enlarged(const Frame& frame, float side);
  void draw_figures(const Frame& frame) const;
  void draw_filter(const Frame& frame) const;
  void draw_sum(const Frame& frame);
  void trace(const Frame& frame);
  void image_of_tile(ImDrawList* list, int picture, ImVec2 min, ImVec2 max) const;
  std::string output_name() const;
  ColourScale scale_of_tile(int picture) const;

  models::Model model_;
  models::ParameterLayout layout_;
  std::shared_ptr<const training::Inspection> seen_;

  int look_ = 0;   ///< NetworkLook
  int order_ = 0;  ///< ChannelOrder
  KeptOrder standing_;
  int in_channel_ = 0;
  bool scale_each_ = false;
  Made made_;
  Pictures pictures_;
  std::vector<ChannelFigures> figures_;
  std::uint64_t version_ = 0;  ///< of figures_
  ColourScale scale_;          ///< of all pictures together
  std::unique_ptr<interop::Texture> tiles_, strip_;
  int tile_columns_ = 1;
  int strip_side_ = 0;  ///< texels of a card's picture in the strip's texture
  std::vector<images::Point> strip_sizes_;
  std::uint64_t strip_number_ = 0;
  ExcitingImages exciting_;
  SumView sum_;
  std::optional<inspect::Explanation> explained_;  ///< what the view of the sum shows
  std::uint64_t explained_number_ = 0;             ///< Inspection::number of `explained_`
  std::string traced_;
};

}  // namespace warpscope::ui
