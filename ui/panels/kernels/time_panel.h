#pragma once
// The step as a timeline: the calls now, above them those before the last switch, and below the shares of
// families of ops over the run.

#include <string>
#include <vector>

#include "gpu/models/model.h"
#include "ui/frame/frame.h"
#include "ui/panels/kernels/time_rows.h"

namespace warpscope::ui {

class TimePanel {
 public:
  explicit TimePanel(const models::Model& model) : model_(model) {}

  /// Another network is trained from now on.
  void follow(const models::Model& model) { model_ = model; }
  /// Called every frame, shown or not: the shares over the run come from the snapshots.
  void watch(const Frame& frame) { history_.watch(frame.snapshot); }
  void draw(const Frame& frame);

 private:
  /// Where things stand, in pixels of the window.
  struct Room {
    ImVec2 min, max;    ///< of the lanes with their ruler
    float left = 0;     ///< of the calls, after the names of the lanes
    float ruler = 0;    ///< the bottom of the ruler
    float lane = 0;     ///< height of a lane
    float before = 0;   ///< the top of the lane before the switch, if there is one
    float now = 0;      ///< the top of the lane of now
    double length = 1;  ///< microseconds of the whole
    TimeWindow window;

    double time_at(float x) const;
    float pixel_of(double microseconds) const;
  };
  /// What the pointer is on.
  struct Hit {
    const training::StepCall* call = nullptr;
    bool before = false;
    bool rest = false;
  };

  void draw_lanes(const Frame& frame, const StepLanes& lanes, float height);
  void handle_mouse(const Frame& frame, const Room& room, const Hit& hit);
  Hit hit_of(const Room& room, const StepLanes& lanes) const;
  void draw_ruler(const Frame& frame, const Room& room) const;
  void draw_lane(const Frame& frame, const Room& room, const std::vector<training::StepCall>& lane,
                 bool before, const Hit& hit) const;
  void draw_rest(const Frame& frame, const Room& room, const StepLanes& lanes) const;
  void draw_tip(const Frame& frame, const StepLanes& lanes, const Hit& hit) const;
  void draw_history(const Frame& frame, float height) const;
  void draw_areas(const Frame& frame, ImVec2 min, ImVec2 max) const;
  /// The step that is looked at as a line, the one under the pointer with its shares; a click looks at that.
  void follow_step(const Frame& frame, ImVec2 min, ImVec2 max) const;
  void draw_history_tip(const Frame& frame, const ShareHistory::Point& point, ImVec2 min, ImVec2 max) const;
  void trace(const Frame& frame, const StepLanes& lanes, const Hit& hit);

  models::Model model_;
  ShareHistory history_;
  TimeWindow window_;
  float dragged_ = 0;  ///< pixels since the button went down
  std::string traced_;
};

}  // namespace warpscope::ui
