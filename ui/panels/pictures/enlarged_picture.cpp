#include "ui/panels/pictures/enlarged_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ui/input/cursor.h"
#include "ui/panels/pictures/picture_grid.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 3> kModes{"beside", "split", "flicker"};
constexpr float kMostTurns = 10;  // a second

/// Those that can be looked at beside each other.
std::vector<PictureRow> rows_of(const PictureScene& scene) {
  std::vector<PictureRow> rows = scene.rows;
  std::erase(rows, PictureRow::difference);
  return rows;
}

}  // namespace

int enlarged_zoom(int width, int height, int columns, int gap, const training::ImageShape& shape) {
  const int across = (width - (columns - 1) * gap) / std::max(1, columns * shape.width);
  return std::max(1, std::min(across, height / std::max(1, shape.height)));
}

std::optional<images::GridHit> EnlargedPicture::draw(const Frame& frame, PictureScene& scene, float height) {
  if (!image_) return std::nullopt;
  *image_ = std::clamp(*image_, 0, scene.desk.shape().count - 1);
  const auto rows = rows_of(scene);
  const auto keep = [&](PictureRow& row, PictureRow beside) {
    if (rows.empty() || std::find(rows.begin(), rows.end(), row) != rows.end()) return;
    const auto other = std::find_if(rows.begin(), rows.end(), [&](PictureRow one) { return one != beside; });
    row = other == rows.end() ? rows.front() : *other;
  };
  keep(left_, right_);
  keep(right_, left_);
  const float top = ImGui::GetCursorPosY();
  draw_controls(frame, scene);
  if (!image_) return std::nullopt;
  const float left = height - (ImGui::GetCursorPosY() - top);
  return draw_pictures(frame, scene, ImVec2(ImGui::GetContentRegionAvail().x, left));
}

void EnlargedPicture::draw_controls(const Frame& frame, PictureScene& scene) {
  const float s = frame.scale;
  const auto place =
      static_cast<int>(std::find(scene.images.begin(), scene.images.end(), *image_) - scene.images.begin());
  const auto count = static_cast<int>(scene.images.size());
  const auto go = [&](int to) {
    image_ = scene.images[static_cast<std::size_t>(to)];
    if (scene.names.empty()) point_at_image(frame, *image_);
  };
  if (icon_button(frame, "enlarged.close", Icon::close, "Back to all images (Escape)")) return close();
  ImGui::SameLine(0, 4 * s);
  if (icon_button(frame, "enlarged.before", Icon::left, "The image before", place > 0))
    go(std::min(place, count) - 1);
  ImGui::SameLine(0, 0);
  if (icon_button(frame, "enlarged.next", Icon::right, "The next image", place + 1 < count)) go(place + 1);
  ImGui::SameLine(0, 8 * s);
  row_text(frame, frame.fonts.text, frame.palette.text, scene.image_name(*image_));
  ImGui::SameLine(0, 12 * s);
  segmented(frame, "enlarged.mode", kModes, &mode_,
            "Two versions side by side; one picture, left of the divider one version and right of it the "
            "other; or both in turns in the same place (X shows the other one).");
  draw_rows_choice(frame, scene);
  if (mode_ == kFlicker) {
    if (ImGui::GetContentRegionAvail().x > 96 * s) ImGui::SameLine(0, 12 * s);
    const std::string text = rate_ < 0.25f ? "by key" : fmt::format("{:.1f}/s", rate_);
    slider(frame, "enlarged.rate", &rate_, 0, kMostTurns, text.c_str(),
           std::clamp(ImGui::GetContentRegionAvail().x, 64 * s, 144 * s),
           "How often the picture changes in a second; at 0 only X changes it.");
  }
}

void EnlargedPicture::draw_rows_choice(const Frame& frame, const PictureScene& scene) {
  const float s = frame.scale, width = std::floor(104 * s);
  const auto choice = [&](const char* name, PictureRow& row, const char* tip) {
    if (!begin_combo(frame, name, scene.name(row), width, tip)) return;
    for (const PictureRow one : rows_of(scene)) {
      const std::string item = fmt::format("{}={}", name, row_key(one));
      if (combo_item(frame, item.c_str(), scene.name(one).c_str(), one == row)) row = one;
    }
    end_combo();
  };
  const float right = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x;
  if (ImGui::GetWindowContentRegionMax().x - right > 2 * width + 24 * s) ImGui::SameLine(0, 12 * s);
  choice("enlarged.left", left_, "The version on the left, or the first");
  ImGui::SameLine(0, 8 * s);
  choice("enlarged.right", right_, "The version on the right, or the second");
}

void EnlargedPicture::turn(const Frame& frame) {
  if (mode_ != kFlicker || rate_ < 0.25f) return;
  const double now = ImGui::GetTime();
  if (now >= next_) {
    flipped_ = !flipped_;
    next_ = now + 1.0 / static_cast<double>(rate_);
  }
  redraw_at(frame, next_);
}

void EnlargedPicture::draw_one(const Frame& frame, const PictureScene& scene, PictureRow row, ImVec2 min,
                               ImVec2 max) const {
  const training::ImageShape& shape = scene.desk.shape();
  ImDrawList* const list = ImGui::GetWindowDrawList();
  if (scene.desk.draw(list, row, *image_, {0, 0}, {shape.width, shape.height}, min, max)) return;
  list->AddRect(min, max, frame.palette.grid, 0, 0, hairline(frame));
  draw_text(list, frame.fonts.small, min.x + 8 * frame.scale, (min.y + max.y) / 2, frame.palette.muted,
            ellipsize(frame.fonts.small, scene.desk.why_not(row), max.x - min.x - 16 * frame.scale));
}

void EnlargedPicture::draw_caption(const Frame& frame, const PictureScene& scene, PictureRow row, ImVec2 at,
                                   float width) const {
  std::string text = scene.name(row);
  const std::vector<double>& figures = scene.figures[index_of(row)];
  const auto image = static_cast<std::size_t>(*image_);
  if (image < figures.size()) {
    const PictureMetric metric = scene.settings.metric;
    const std::string unit = unit_of(metric);
    text += fmt::format("   {} {}{}", kPictureMetrics[static_cast<std::size_t>(metric)],
                        figure_text(metric, figures[image]), unit.empty() ? "" : " " + unit);
  }
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, at.x, row_baseline(frame, at.y),
            frame.palette.muted, ellipsize(frame.fonts.small, text, width));
  area_tooltip(frame, at, ImVec2(at.x + width, at.y + ImGui::GetFrameHeight()),
               tip_of(scene.settings.metric));
}

std::optional<images::GridHit> EnlargedPicture::draw_pictures(const Frame& frame, const PictureScene& scene,
                                                              ImVec2 room) {
  turn(frame);
  const float s = frame.scale, density = framebuffer_density(), caption = ImGui::GetFrameHeight();
  const training::ImageShape& shape = scene.desk.shape();
  const int columns = mode_ == kBeside ? 2 : 1;
  const float gap = std::floor(8 * s);
  const int zoom =
      enlarged_zoom(static_cast<int>(room.x * density), static_cast<int>((room.y - caption) * density),
                    columns, static_cast<int>(gap * density), shape);
  const float width = static_cast<float>(zoom * shape.width) / density;
  const float height = static_cast<float>(zoom * shape.height) / density;
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const float all = static_cast<float>(columns) * (width + gap) - gap;
  const ImVec2 min = on_whole_pixels(ImVec2(corner.x + std::max(0.0f, (room.x - all) / 2), corner.y));
  const ImVec2 max(min.x + width, min.y + height);
  if (mode_ == kBeside) {
    const float shift = width + gap;
    draw_one(frame, scene, left_, min, max);
    draw_one(frame, scene, right_, ImVec2(min.x + shift, min.y), ImVec2(max.x + shift, max.y));
    draw_caption(frame, scene, left_, ImVec2(min.x, max.y), width);
    draw_caption(frame, scene, right_, ImVec2(min.x + shift, max.y), width);
  } else if (mode_ == kSplit) {
    draw_split(frame, scene, min, max);
  } else {
    const PictureRow row = flipped_ ? right_ : left_;
    draw_one(frame, scene, row, min, max);
    draw_caption(frame, scene, row, ImVec2(min.x, max.y), width);
  }
  min_ = min;
  max_ = ImVec2(min.x + all, max.y + caption);
  ImGui::SetCursorScreenPos(min);
  hit_area("enlarged.picture", ImVec2(all, height));
  trace_item("enlarged.picture");
  if (mode_ != kSplit) return look_at_pointer(frame, scene, min, width, gap);
  if (ImGui::IsItemHovered() || ImGui::IsItemActive()) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  if (ImGui::IsItemActive()) split_ = std::clamp((ImGui::GetIO().MousePos.x - min.x) / width, 0.0f, 1.0f);
  return std::nullopt;
}

/// `width` is that of a picture, which begins at `min`; of two the second stands `gap` beside it.
std::optional<images::GridHit> EnlargedPicture::look_at_pointer(const Frame& frame, const PictureScene& scene,
                                                                ImVec2 min, float width, float gap) {
  constexpr double kDelay = 0.3;
  const training::ImageShape& shape = scene.desk.shape();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float pixel = width / static_cast<float>(shape.width);
  float x = mouse.x - min.x;
  if (mode_ == kBeside && x >= width + gap) x -= width + gap;
  const bool inside = ImGui::IsItemHovered() && x >= 0 && x < width;
  if (!inside) hovered_since_ = ImGui::GetTime();
  if (!inside) return std::nullopt;
  if (ImGui::GetTime() - hovered_since_ < kDelay) {
    redraw_at(frame, hovered_since_ + kDelay);
    return std::nullopt;
  }
  images::GridHit hit;
  hit.image = *image_;
  hit.x = std::clamp(static_cast<int>(x / pixel), 0, shape.width - 1);
  hit.y = std::clamp(static_cast<int>((mouse.y - min.y) / pixel), 0, shape.height - 1);
  return hit;
}

void EnlargedPicture::draw_split(const Frame& frame, const PictureScene& scene, ImVec2 min, ImVec2 max) {
  const float s = frame.scale, middle = std::round(min.x + split_ * (max.x - min.x));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->PushClipRect(min, ImVec2(middle, max.y), true);
  draw_one(frame, scene, left_, min, max);
  list->PopClipRect();
  list->PushClipRect(ImVec2(middle, min.y), max, true);
  draw_one(frame, scene, right_, min, max);
  list->PopClipRect();
  const float line = std::max(1.0f, std::floor(s));
  list->AddRectFilled(ImVec2(middle - line, min.y), ImVec2(middle + line, max.y), frame.palette.accent);
  const float half = (max.x - min.x) / 2 - 8 * s;
  draw_caption(frame, scene, left_, ImVec2(min.x, max.y), half);
  draw_caption(frame, scene, right_, ImVec2(min.x + half + 16 * s, max.y), half);
}

}  // namespace warpscope::ui
