#include "ui/panels/latent_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "ui/cursor.h"
#include "ui/panels/image_selection.h"
#include "ui/panels/selection_chip.h"
#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 2> kTools{"move", "lasso"};
constexpr float kControlsWidth = 240;  ///< design pixels: the tools, how images look, and the fit
constexpr float kWalkWidth = 296;
constexpr float kLeastMapWidth = 240;

}  // namespace

void LatentPanel::shutdown() {
  plane_.shutdown();
  walk_.shutdown();
}

void LatentPanel::draw(const Frame& frame) {
  if (frame.cursor == nullptr || frame.request == nullptr) {
    panel_body(frame, false);
    centered_text(frame, "The folder of a run holds no latents: they are seen while it trains here.");
    return;
  }
  frame.request->latents.map = true;
  if (!plane_.held() || !frame.seen.latents) map_ = frame.seen.latents;
  const bool ready = map_ && map_->problem.empty() && frame.snapshot.data;
  const std::size_t selected = frame.cursor->images.size();
  const float chip = ready && selected > 0 ? chip_width(frame, selected_text(selected, map_->count)) : 0;
  const bool in_title = title_room(frame) >= kControlsWidth * frame.scale + chip;
  if (ready && in_title) draw_controls(frame, title_room(frame));
  panel_body(frame, false);
  if (!ready) {
    centered_text(frame, map_ ? std::string_view(map_->problem) : "Looking at the latents ...");
    return;
  }
  ImGui::Dummy(ImVec2(1, std::floor(3 * frame.scale)));
  if (!in_title) draw_controls(frame, ImGui::GetContentRegionAvail().x);
  draw_body(frame);
  trace(frame);
}

void LatentPanel::draw_controls(const Frame& frame, float room) {
  const float s = frame.scale;
  int tool = plane_.lasso ? 1 : 0;
  if (segmented(
          frame, "latent.tool", kTools, &tool,
          "What dragging does: move the plane, or draw a lasso around images, which all views then show "
          "(Shift + drag does it too). The wheel zooms at the pointer.")) {
    plane_.lasso = tool == 1;
  }
  ImGui::SameLine(0, 8 * s);
  toggle(frame, "latent.thumbnails", "pictures", &plane_.thumbnails,
         "Pictures, or a point in the class's colour");
  ImGui::SameLine(0, 8 * s);
  if (text_button(frame, "latent.fit", "fit", "Show all images again (double click)")) plane_.fit();
  if (frame.cursor->images.empty()) return;
  ImGui::SameLine(0, 8 * s);
  selection_chip(frame, "latent.selection", frame.cursor->images.size(), map_->count,
                 room - kControlsWidth * s);
}

/// What the plane shows, in its corner: below the legend.
void LatentPanel::draw_figures(const Frame& frame, ImVec2 corner) const {
  const float s = frame.scale;
  const ImVec2 min(corner.x + 8 * s, corner.y + 20 * s);
  const std::string text = fmt::format("{} images, {} numbers each, step {}", map_->count,
                                       with_thousands(map_->latent.elements()), with_thousands(map_->step));
  const ImVec2 max(min.x + text_width(frame.fonts.small, text), min.y + 16 * s);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, min.x, min.y + 12 * s, frame.palette.muted, text);
  trace_rectangle("latent.figures", min, max);
  area_tooltip(
      frame, min, max,
      fmt::format("The latent is {}. Its numbers, for the first {} test images, in the plane of their first "
                  "two principal components. From look to look a component keeps its sign and its place, "
                  "by the inner product of its scores with those before, until one behind it has a quarter "
                  "more variance.",
                  map_->latent.reason, map_->count));
}

void LatentPanel::draw_body(const Frame& frame) {
  const float s = frame.scale, gap = 8 * s;
  const bool decodes = map_->latent.decodes;
  ImVec2 room = ImGui::GetContentRegionAvail();
  const float column = std::floor(kWalkWidth * s);
  const bool beside = decodes && room.x >= column + gap + kLeastMapWidth * s;
  LatentMarks marks;
  marks.from = frame.cursor->image;
  if (beside) {
    // Pictures that nobody sees are not asked for.
    frame.request->latents.pictures = walk_.recipes(*map_, frame.cursor->image);
    marks = walk_.marks(frame, *map_);
    room.x -= column + gap;
  }
  if (!decodes) room.y -= ImGui::GetFrameHeight() + gap;
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const ImVec2 size(std::max(1.0f, room.x), std::max(1.0f, room.y));
  if (const auto end = plane_.draw(frame, *map_, marks, size)) walk_.go_to(*end);
  draw_figures(frame, corner);
  if (beside) {
    ImGui::SameLine(0, gap);
    walk_.draw(frame, *map_, ImVec2(column, room.y));
  } else if (!decodes) {
    caption(frame,
            ellipsize(frame.fonts.small,
                      "This network has no decoder: it makes no pictures of places between images.", room.x));
  }
}

void LatentPanel::trace(const Frame& frame) {
  if (!trace_enabled()) return;
  const auto& pictures = frame.seen.latent_pictures;
  const std::string now = fmt::format(
      "\"number\":{},\"step\":{},\"count\":{},\"layer\":{},\"numbers\":{},\"decodes\":{},\"image\":{},"
      "\"selected\":{},\"pictures\":{}",
      map_->number, map_->step, map_->count, json_string(map_->latent.layer), map_->latent.elements(),
      map_->latent.decodes, frame.cursor->image, frame.cursor->images.size(),
      pictures ? pictures->recipes.size() : 0);
  if (now == traced_) return;
  traced_ = now;
  trace_event("latent", now);
}

}  // namespace warpscope::ui
