#pragma once
// Under the pictures: the slider through the steps of which pictures are kept, and their figures over these steps.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/panels/pictures/picture_figures.h"
#include "ui/plot/curve.h"

namespace warpscope::ui {

/// Where `step` stands among the kept steps: the index of the nearest.
std::size_t kept_index(const std::vector<std::uint64_t>& steps, std::uint64_t step);

/// The earlier step whose pictures are shown; nothing: the newest are. `own`: a person's own, which no history keeps.
std::optional<std::uint64_t> past_step(const Frame& frame, bool own);

/// How old the newest pictures are: "now", "34 steps ago, step 412"; "-" where there are none yet.
std::string age_text(std::uint64_t newest_step, std::optional<std::uint64_t> shown_step);

class ImageTimeline {
 public:
  /// One row of the panel; the pictures shown are those of `shown_step`, nothing: none yet. Changes Cursor::step, but
  /// not while the pictures are a person's `own`.
  void draw(const Frame& frame, std::optional<std::uint64_t> shown_step, bool own);
  /// The row's height in pixels; 0 where there is nothing to go back to.
  static float height(const Frame& frame);

 private:
  /// What the row shows: an earlier step or the newest; whether it can go to another one.
  struct Row {
    std::optional<std::uint64_t> past;
    float width = 0;  ///< of the slider
    bool own = false;
    bool enough = false;
  };
  void play(const Frame& frame, const std::vector<std::uint64_t>& steps);
  void draw_play(const Frame& frame, const std::vector<std::uint64_t>& steps, bool own, bool enough);
  void draw_steps(const Frame& frame, const std::vector<std::uint64_t>& steps,
                  std::optional<std::uint64_t> shown_step, const Row& row);

  bool playing_ = false;
  double next_ = 0;  ///< ImGui time of the next picture while it plays
};

/// Why nothing earlier is shown of a person's own pictures.
inline constexpr const char* kNoOwnHistory = "No earlier pictures are kept of images of your own.";

/// How near the pictures have come to their originals over the steps: the chosen image, and the mean of all.
class PictureCurve {
 public:
  /// Follows the history of the pictures, for one metric and one image.
  void update(const Frame& frame, PictureMetric metric, int image);
  void draw(const Frame& frame, float height);
  /// What stands there where there is no curve: one sentence.
  static void draw_none(const Frame& frame, float height, const char* why);
  /// Between frames: true if figures have come that were not there. Never waits.
  bool advance() { return figures_.advance(); }

 private:
  HistoryFigures figures_;
  plot::Series of_image_, mean_;
  PictureMetric metric_ = PictureMetric::psnr;
  int image_ = -1;
  std::uint64_t version_ = 0;
};

}  // namespace warpscope::ui
