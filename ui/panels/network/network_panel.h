#pragma once
// The Network panel, in three views. Activations: one image's way through the layers, as a strip of layers, the
// channels or filters of one of them as tiles, one tile enlarged, and the exact sum behind one of its pixels. Layers:
// what each of them costs in a training step. Edit: the network as a form.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gpu/inspect/explain.h"
#include "gpu/models/model.h"
#include "ui/frame/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/network/network_diagram.h"
#include "ui/panels/network/network_editor.h"
#include "ui/panels/network/network_rows.h"
#include "ui/panels/network/sum_view.h"
#include "ui/panels/pictures/exciting_images.h"

namespace warpscope::ui {

class NetworkPanel {
 public:
  explicit NetworkPanel(models::Model model)
      : model_(std::move(model)),
        layout_(models::parameter_layout(model_)),
        scenes_(model_),
        editor_(model_) {}

  /// Another network is trained from now on.
  void follow(const models::Model& model);
  /// Title row and body of the tab.
  void draw(const Frame& frame);
  /// Shows the network as a form from the next frame on; `file`: the name of a file to open can be typed.
  void edit(bool file);
  /// The editor, if it is what the panel shows.
  NetworkEditor* open_editor() { return view_ == kEdit ? &editor_ : nullptr; }
  /// Between frames: true if there is something else to show. Never waits.
  bool advance() { return scenes_.advance(); }
  /// What the last frame showed; nullptr if it was nothing.
  std::shared_ptr<const training::Inspection> shown() const {
    return scene_ ? scene_->of.inspection : nullptr;
  }
  /// The step of what it shows while the cursor is at one.
  std::optional<std::uint64_t> step(const Frame& frame) const;
  /// Frees the textures; called before the context goes.
  void shutdown();

 private:
  void draw_views(const Frame& frame);
  void draw_activations(const Frame& frame);
  void draw_controls(const Frame& frame);
  int depth_to_choose(const Frame& frame) const;
  float controls_width(const Frame& frame) const;
  void draw_depth_choice(const Frame& frame);
  void refresh(const Frame& frame);
  bool has_parameters(const training::Inspection& inspection, std::size_t output) const;
  void upload(const Frame& frame);
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
  const training::Inspection& seen() const { return *scene_->of.inspection; }
  /// True if the pictures are those of channels.
  bool shows_outputs() const { return scene_->of.look == NetworkLook::outputs; }
  int channel(const Frame& frame) const;

  models::Model model_;
  models::ParameterLayout layout_;
  NetworkScenes scenes_;
  /// What is drawn: layer, pictures and figures of one and the same moment.
  std::shared_ptr<const NetworkScene> scene_;
  std::shared_ptr<const NetworkScene> uploaded_;  ///< that the textures were made of

  enum View : int { kActivations, kLayers, kEdit };
  int view_ = kActivations;
  NetworkDiagram diagram_;
  NetworkEditor editor_;
  int look_ = 0;   ///< NetworkLook
  int order_ = 0;  ///< ChannelOrder
  KeptOrder standing_;
  int in_channel_ = 0;
  bool scale_each_ = false;
  std::unique_ptr<interop::Texture> tiles_, strip_;
  ExcitingImages exciting_;
  SumView sum_;
  std::optional<inspect::Explanation> explained_;  ///< what the view of the sum shows
  std::uint64_t explained_number_ = 0;             ///< Inspection::number of `explained_`
  std::string traced_;
};

}  // namespace warpscope::ui
