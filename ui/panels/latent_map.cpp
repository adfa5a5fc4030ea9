#include "ui/panels/latent_map.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "ui/cursor.h"
#include "ui/images/byte_colours.h"
#include "ui/pointing.h"
#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr int kLargestPage = 4096;
constexpr double kWheelFactor = 1.2;
constexpr float kStillPixels = 4;       ///< a press that moves less is a click
constexpr std::size_t kMostNames = 12;  ///< classes that a legend can tell

std::size_t label_of(const Frame& frame, std::size_t image) {
  const auto& labels = frame.snapshot.data->test.labels;
  return image < labels.size() ? labels[image] : 0;
}

}  // namespace

ImU32 class_colour(const Palette& palette, std::size_t index) {
  constexpr ImU32 kBrown = IM_COL32(0xA5, 0x69, 0x4F, 255);
  const std::size_t place = index % 10;
  return place < 8 ? palette.series[place] : place == 8 ? palette.text : kBrown;
}

/// Thumbnails grow with the plane, up to four times.
float LatentPlane::side(const Frame& frame) const {
  const double zoomed = std::clamp(std::sqrt(view_.scale / fitting_), 1.0, 4.0);
  return std::floor(static_cast<float>(zoomed) * (thumbnails ? 18.0f : 7.0f) * frame.scale);
}

bool LatentPlane::chosen(const Frame& frame, std::size_t image) const {
  const auto& images = frame.cursor->images;
  return std::binary_search(images.begin(), images.end(), static_cast<std::int64_t>(image));
}

void LatentPlane::refresh(const Frame& frame) {
  if (uploaded_ == frame.snapshot.data && page_) return;
  uploaded_ = frame.snapshot.data;
  const data::ImageSet& set = uploaded_->test;
  const int count = static_cast<int>(places_.size());
  const int largest = std::min(kLargestPage, interop::Texture::largest());
  page_ = std::make_unique<interop::TilePage>(interop::make_page(count, set.width, set.height, largest),
                                              frame.textures);
  for (int image = 0; image < std::min(count, page_->shape().tiles()); ++image) {
    page_->upload(image, images::byte_colours(set, image).data());
  }
}

std::optional<std::int64_t> LatentPlane::draw(const Frame& frame, const training::LatentMap& map,
                                              const LatentMarks& marks, ImVec2 size) {
  const float s = frame.scale;
  ImGui::InvisibleButton("latent.map", size,
                         ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
  trace_item("latent.map");
  min_ = ImGui::GetItemRectMin();
  max_ = ImGui::GetItemRectMax();
  const float margin = 24 * s;
  fitting_ = fitting_scale(map, size, margin);
  track(view_, map, size, margin);
  handle_pointer(frame, map);
  places_.clear();
  for (std::size_t i = 0; i < map.count; ++i) {
    places_.push_back(view_.to_screen(min_, max_, static_cast<double>(map.score(i, 0)),
                                      map.rank > 1 ? static_cast<double>(map.score(i, 1)) : 0.0));
  }
  const bool looks = ImGui::IsItemHovered() && !moved_;
  hovered_ = looks ? image_at(places_, ImGui::GetIO().MousePos, side(frame)) : std::nullopt;
  refresh(frame);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min_, max_, blend(frame.palette.text, frame.palette.panel, 0.03f), 3 * s);
  list->PushClipRect(min_, max_, true);
  draw_axes(frame, map);
  draw_images(frame, map);
  draw_marks(frame, map, marks);
  draw_lasso(frame);
  list->PopClipRect();
  draw_legend(frame);
  if (hovered_) pointer_tip(frame, image_text(map, frame.snapshot, *hovered_));
  const bool asked = hovered_ && ImGui::IsMouseReleased(ImGuiMouseButton_Right);
  return asked ? std::optional(static_cast<std::int64_t>(*hovered_)) : std::nullopt;
}

void LatentPlane::handle_pointer(const Frame& frame, const training::LatentMap& map) {
  const ImGuiIO& io = ImGui::GetIO();
  if (ImGui::IsItemHovered() && io.MouseWheel != 0) {
    zoom(view_, min_, max_, io.MousePos, std::pow(kWheelFactor, static_cast<double>(io.MouseWheel)),
         fitting_);
  }
  if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    view_.fit = true;
    track(view_, map, ImVec2(max_.x - min_.x, max_.y - min_.y), 24 * frame.scale);
  }
  const bool down = ImGui::IsItemActive() && ImGui::IsMouseDown(ImGuiMouseButton_Left);
  if (down) handle_drag(frame);
  if (held_ && !down) {
    if (!moved_ && hovered_) point_at_image(frame, static_cast<std::int64_t>(*hovered_));
    if (moved_ && drawn_.size() > 2) frame.cursor->images = images_inside(drawn_, places_);
    drawn_.clear();
    moved_ = false;
  }
  held_ = down;
}

void LatentPlane::handle_drag(const Frame& frame) {
  const ImGuiIO& io = ImGui::GetIO();
  if (!held_) {
    drawn_.clear();
    if (lasso || io.KeyShift) drawn_.push_back(io.MousePos);
  }
  const ImVec2 way = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
  moved_ = moved_ || std::max(std::fabs(way.x), std::fabs(way.y)) > kStillPixels * frame.scale;
  if (drawn_.empty()) {
    if (moved_ && (io.MouseDelta.x != 0 || io.MouseDelta.y != 0)) pan(view_, io.MouseDelta);
  } else if (drawn_.back().x != io.MousePos.x || drawn_.back().y != io.MousePos.y) {
    drawn_.push_back(io.MousePos);
  }
}

void LatentPlane::draw_image(const Frame& frame, std::size_t image, float side) {
  const ImVec2 at = places_[image];
  const ImVec2 min(std::floor(at.x - side / 2), std::floor(at.y - side / 2));
  const ImVec2 max(min.x + side, min.y + side);
  if (max.x < min_.x || min.x > max_.x || max.y < min_.y || min.y > max_.y) return;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const bool dimmed = !frame.cursor->images.empty() && !chosen(frame, image);
  const ImU32 colour = class_colour(frame.palette, label_of(frame, image));
  if (thumbnails && static_cast<int>(image) < page_->shape().tiles()) {
    page_->draw(list, static_cast<int>(image), min, max);
    const float line = std::max(1.0f, std::floor(1.5f * frame.scale));
    if (dimmed)
      list->AddRectFilled(min, max, (frame.palette.panel & ~IM_COL32_A_MASK) | IM_COL32(0, 0, 0, 190));
    list->AddRect(min, max, dimmed ? blend(colour, frame.palette.panel, 0.3f) : colour, 0, 0, line);
  } else {
    list->AddCircleFilled(at, side / 2, dimmed ? blend(colour, frame.palette.panel, 0.3f) : colour, 12);
  }
  if (trace_enabled()) trace_rectangle(fmt::format("latent.image.{}", image), min, max);
}

void LatentPlane::draw_images(const Frame& frame, const training::LatentMap& map) {
  const float size = side(frame);
  for (std::size_t i = 0; i < map.count; ++i) draw_image(frame, i, size);
  if (hovered_) draw_image(frame, *hovered_, std::floor(size * (thumbnails ? 2.0f : 1.5f)));
}

void LatentPlane::draw_marks(const Frame& frame, const training::LatentMap& map, const LatentMarks& marks) {
  const float s = frame.scale, size = side(frame) / 2 + 2 * s;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const auto known = [&](std::int64_t image) {
    return image >= 0 && static_cast<std::size_t>(image) < map.count;
  };
  const auto frame_image = [&](std::int64_t image) {
    const ImVec2 at = places_[static_cast<std::size_t>(image)];
    list->AddRect(ImVec2(at.x - size, at.y - size), ImVec2(at.x + size, at.y + size), frame.palette.accent,
                  2 * s, 0, std::max(1.0f, std::floor(2 * s)));
  };
  if (known(marks.from) && known(marks.to)) {
    list->AddLine(places_[static_cast<std::size_t>(marks.from)], places_[static_cast<std::size_t>(marks.to)],
                  frame.palette.accent, std::max(1.0f, std::floor(s)));
  }
  for (const std::int64_t image : {marks.from, marks.to}) {
    if (known(image)) frame_image(image);
  }
  if (marks.place.size() < 2) return;
  const ImVec2 at =
      view_.to_screen(min_, max_, static_cast<double>(marks.place[0]), static_cast<double>(marks.place[1]));
  list->AddCircleFilled(at, 5 * s, frame.palette.panel, 20);
  list->AddCircleFilled(at, 4 * s, frame.palette.accent, 20);
}

void LatentPlane::draw_lasso(const Frame& frame) const {
  if (drawn_.size() < 2) return;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float line = std::max(1.0f, std::floor(1.5f * frame.scale));
  list->AddPolyline(drawn_.data(), static_cast<int>(drawn_.size()), frame.palette.accent, 0, line);
  list->AddLine(drawn_.back(), drawn_.front(), blend(frame.palette.accent, frame.palette.panel, 0.5f), line);
}

void LatentPlane::draw_axes(const Frame& frame, const training::LatentMap& map) const {
  const float s = frame.scale, line = hairline(frame);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImVec2 zero = view_.to_screen(min_, max_, 0, 0);
  list->AddLine(ImVec2(min_.x, zero.y), ImVec2(max_.x, zero.y), frame.palette.grid, line);
  list->AddLine(ImVec2(zero.x, min_.y), ImVec2(zero.x, max_.y), frame.palette.grid, line);
  const ImFont* const font = frame.fonts.small;
  const std::string across = "\u2192 " + axis_text(map, 0), up = "\u2191 " + axis_text(map, 1);
  const float below = max_.y - 6 * s;
  draw_text(list, font, max_.x - text_width(font, across) - 8 * s, below, frame.palette.muted, across);
  if (map.rank > 1 && max_.x - min_.x > text_width(font, across) + text_width(font, up) + 32 * s) {
    draw_text(list, font, min_.x + 8 * s, below, frame.palette.muted, up);
  }
}

/// The classes by colour, in one line at the top, as many as have room.
void LatentPlane::draw_legend(const Frame& frame) const {
  const auto& classes = frame.snapshot.data->classes;
  if (classes.size() < 2 || classes.size() > kMostNames) return;
  const float s = frame.scale, box = std::floor(8 * s);
  const ImFont* const font = frame.fonts.small;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  float x = min_.x + 8 * s;
  const float baseline = min_.y + 16 * s;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const float width = box + 4 * s + text_width(font, classes[i]) + 12 * s;
    if (x + width > max_.x) return;
    list->AddRectFilled(ImVec2(x, baseline - box), ImVec2(x + box, baseline), class_colour(frame.palette, i));
    const bool pointed = pointed_class(frame) == static_cast<int>(i);
    draw_text(list, font, x + box + 4 * s, baseline, pointed ? frame.palette.text : frame.palette.muted,
              classes[i]);
    if (pointed) {
      list->AddRectFilled(ImVec2(x, baseline + 3 * s),
                          ImVec2(x + width - 12 * s, baseline + 3 * s + hairline(frame)),
                          frame.palette.accent);
    }
    x += width;
  }
}

}  // namespace warpscope::ui
