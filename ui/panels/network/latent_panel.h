#pragma once
// The Latent panel: test images in the plane of their latents' principal components, with the decoder's pictures of
// places between them, or as t-SNE and UMAP map them.

#include <memory>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/jobs/map_controller.h"
#include "ui/panels/network/latent_map.h"
#include "ui/panels/network/latent_walk.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

/// Beside or above a map: what is done with it, its settings and its figures.
class MapControls {
 public:
  /// One row: the button that makes a map or ends one, and how far it is. `narrow`: with a button for the settings.
  void draw_actions(const Frame& frame, MapController& maps, bool narrow);
  /// Settings and figures, in a column `size` large.
  void draw_settings(const Frame& frame, MapController& maps, ImVec2 size);
  /// In a narrow tab: the settings are shown in place of the map.
  bool shows_settings() const { return settings_; }

 private:
  bool draw_numbers(const Frame& frame, MapController& maps);

  std::vector<ValueField> fields_;  ///< one for each of map_numbers()
  std::string refusal_;
  bool settings_ = false;
};

class LatentPanel {
 public:
  /// Title row and body of the tab. Asks the training for what it shows.
  void draw(const Frame& frame, MapController& maps);
  /// Frees the textures; called before the context goes.
  void shutdown();

 private:
  void take_newest(const Frame& frame, const MapController& maps);
  std::string components_missing(const Frame& frame) const;
  float controls_width(const Frame& frame, const MapController& maps) const;
  void draw_controls(const Frame& frame, MapController& maps);
  void draw_figures(const Frame& frame, ImVec2 corner, const std::string& text,
                    const std::string& note) const;
  void draw_components(const Frame& frame);
  static void draw_no_walk(const Frame& frame, ImVec2 size);
  void draw_plane(const Frame& frame);
  void draw_map(const Frame& frame, MapController& maps);
  void draw_mapped(const Frame& frame, MapController& maps, bool narrow, bool able);
  void trace(const Frame& frame, const MapController& maps);

  LatentPlane plane_;
  LatentWalk walk_;
  MapControls map_controls_;
  std::string method_;  ///< that is shown: "" for principal components
  // Shown; held still while a button is down on the plane.
  std::shared_ptr<const training::LatentMap> latents_;  ///< of principal components
  std::shared_ptr<const features::MapPicture> map_;     ///< of t-SNE and UMAP
  std::shared_ptr<const PlanePoints> points_;  ///< of whichever is shown; nullptr: there is nothing to show
  std::shared_ptr<const void> made_of_;        ///< they are its points
  std::string traced_;
};

}  // namespace warpscope::ui
