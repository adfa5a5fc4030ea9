#include "ui/panels/image_timeline.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gpu/messages/image_history.h"
#include "ui/input/cursor.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr double kSecondsAPicture = 0.08;

}  // namespace

std::size_t kept_index(const std::vector<std::uint64_t>& steps, std::uint64_t step) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), step);
  return after == steps.begin() ? 0 : static_cast<std::size_t>(after - steps.begin()) - 1;
}

float ImageTimeline::height(const Frame& frame) {
  return frame.history && frame.cursor != nullptr ? ImGui::GetFrameHeight() + std::floor(4 * frame.scale) : 0;
}

/// The next picture, until the newest.
void ImageTimeline::play(const Frame& frame, const std::vector<std::uint64_t>& steps) {
  if (!playing_) return;
  const double now = ImGui::GetTime();
  if (now >= next_) {
    next_ = now + kSecondsAPicture;
    const std::size_t next = kept_index(steps, *frame.cursor->step) + 1;
    if (next >= steps.size()) {
      playing_ = false;
      frame.cursor->step.reset();
      return;
    }
    frame.cursor->step = steps[next];
  }
  redraw_at(frame, next_);
}

std::string age_text(std::uint64_t newest_step, std::uint64_t shown_step) {
  if (newest_step <= shown_step) return "now";
  const std::uint64_t age = newest_step - shown_step;
  return fmt::format("{} step{} ago, step {}", with_thousands(age), age == 1 ? "" : "s",
                     with_thousands(shown_step));
}

void ImageTimeline::draw(const Frame& frame, std::uint64_t shown_step) {
  if (height(frame) == 0) return;
  const float s = frame.scale;
  Cursor& cursor = *frame.cursor;
  const std::vector<std::uint64_t> steps = frame.history->steps();
  const bool enough = steps.size() > 1;
  if (!enough || !cursor.step) playing_ = false;
  if (icon_button(
          frame, "images.play", playing_ ? Icon::pause : Icon::play,
          playing_ ? "Stop here"
                   : "Play the pictures of the steps so far, from the step that is chosen or else the first",
          enough)) {
    playing_ = !playing_;
    next_ = ImGui::GetTime() + kSecondsAPicture;
    if (playing_ && !cursor.step) cursor.step = steps.front();
  }
  play(frame, steps);
  ImGui::SameLine(0, 8 * s);
  bool newest = !cursor.step;
  const float button = text_button_width(frame, "newest") + 8 * s;
  const auto last = static_cast<float>(steps.size());
  // One place more than there are pictures: the newest, which is not kept.
  float place = cursor.step ? static_cast<float>(kept_index(steps, *cursor.step)) : last;
  const std::string text =
      cursor.step ? "step " + with_thousands(steps.empty() ? 0 : steps[kept_index(steps, *cursor.step)])
                  : age_text(frame.snapshot.step, shown_step);
  const float width = std::max(40 * s, ImGui::GetContentRegionAvail().x - button - 8 * s);
  if (slider(frame, "images.time", &place, 0, std::max(1.0f, last), text.c_str(), width,
             "Pictures of earlier steps. They are kept at steps that lie evenly on a logarithm, 64 MiB at "
             "the most.",
             false, steps.empty() ? "now" : "step " + with_thousands(steps.back())) &&
      enough) {
    playing_ = false;
    const auto index = static_cast<std::size_t>(std::lround(place));
    if (index >= steps.size()) {
      cursor.step.reset();
    } else {
      cursor.step = steps[index];
    }
  }
  ImGui::SameLine(0, 8 * s);
  if (toggle(frame, "images.newest", "newest", &newest, "Follow the training: always its newest pictures")) {
    if (newest) {
      cursor.step.reset();
    } else if (enough) {
      cursor.step = steps.back();
    }
  }
}

}  // namespace warpscope::ui
