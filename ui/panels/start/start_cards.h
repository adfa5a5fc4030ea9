#pragma once
// Recent trainings on the start page, each with its picture or curve; what can be done with one is the menu of the Runs
// panel.

#include <cstdint>
#include <memory>

#include "ui/frame/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/panels.h"
#include "ui/panels/start/start_desk.h"

namespace warpscope::ui {

class StartCards {
 public:
  void draw(const Frame& frame, Panels& panels, StartDesk& desk);
  void shutdown() { pictures_.reset(); }

 private:
  void refresh(const Frame& frame, const StartDesk& desk);
  void draw_card(const Frame& frame, Panels& panels, const RecentCard& card, int place);
  void draw_picture(const Frame& frame, const RecentCard& card, int place, ImVec2 min, ImVec2 max) const;

  std::unique_ptr<interop::TilePage> pictures_;
  std::uint64_t made_ = 0;       ///< StartDesk::recents_number() of `pictures_`
  std::uint64_t deletions_ = 0;  ///< RunsPanel::deletions() that the list knows of
};

}  // namespace warpscope::ui
