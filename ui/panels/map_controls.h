#pragma once
// Beside or above a map: what is done with it, its settings and its figures.

#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/jobs/map_controller.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

class MapControls {
 public:
  /// One row: the button that makes a map or ends one, and how far it is. `narrow`: with a button for the settings.
  void draw_actions(const Frame& frame, MapController& maps, bool narrow);
  /// Settings and figures, in a column `size` large.
  void draw_settings(const Frame& frame, MapController& maps, ImVec2 size);
  /// In a narrow tab: the settings are shown in place of the map.
  bool shows_settings() const { return settings_; }

 private:
  void draw_progress(const Frame& frame, const MapController& maps) const;
  bool draw_images(const Frame& frame, MapController& maps);
  bool draw_numbers(const Frame& frame, MapController& maps);
  void draw_figures(const Frame& frame, const features::MapPicture& map) const;

  std::vector<ValueField> fields_;  ///< one for each of map_numbers()
  std::string refusal_;
  bool settings_ = false;
};

}  // namespace warpscope::ui
