#include "ui/panels/network/latent_map.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "ui/images/byte_colours.h"
#include "ui/input/cursor.h"
#include "ui/panels/data_texts.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr int kLargestPage = 4096;
constexpr double kWheelFactor = 1.2;
constexpr float kStillPixels = 4;       ///< a press that moves less is a click
constexpr std::size_t kMostNames = 12;  ///< classes that a legend can tell
constexpr int kUploads = 512;           ///< pictures that a frame puts into the page
constexpr std::size_t kTraced = 512;    ///< images that a test can point at
constexpr float kDimmed = 0.3f;

/// White, with the coverage of a disc that fills the square of `side` pixels as opacity.
std::vector<images::Rgba> disc_of(int side) {
  std::vector<images::Rgba> pixels;
  const double middle = 0.5 * (side - 1), radius = 0.5 * side;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const double covered = std::clamp(radius - std::hypot(x - middle, y - middle), 0.0, 1.0);
      pixels.push_back({255, 255, 255, static_cast<std::uint8_t>(std::lround(255 * covered))});
    }
  }
  return pixels;
}

/// A line through the corners, in short pieces: the CPU's painter draws all images anew that lie in the rectangle
/// around a piece that changed.
void draw_path(const std::vector<ImVec2>& corners, ImU32 colour, float thickness) {
  constexpr float kPiece = 32;  // pixels
  std::vector<ImVec2> path{corners.front()};
  for (std::size_t i = 1; i < corners.size(); ++i) {
    const ImVec2 from = corners[i - 1], to = corners[i];
    const int pieces = 1 + static_cast<int>(std::hypot(to.x - from.x, to.y - from.y) / kPiece);
    for (int k = 1; k <= pieces; ++k) {
      const float t = static_cast<float>(k) / static_cast<float>(pieces);
      path.emplace_back(from.x + t * (to.x - from.x), from.y + t * (to.y - from.y));
    }
  }
  ImGui::GetWindowDrawList()->AddPolyline(path.data(), static_cast<int>(path.size()), colour, 0, thickness);
}

constexpr float kLegendLine = 18;  ///< design pixels

/// From the begin of the box of a class in its colour to that of its name.
float legend_box(const Frame& frame) {
  return std::floor(8 * frame.scale) + 4 * frame.scale;
}

/// What images have of a plane of this size: the legend stands above them.
ImVec2 room_of_images(const Frame& frame, ImVec2 size) {
  return {size.x, size.y - 2 * std::min(16 * frame.scale, 0.06f * size.y)};
}

}  // namespace

ImU32 class_colour(const Palette& palette, std::size_t index) {
  const std::size_t place = index % 10;
  return place < 8 ? palette.series[place] : palette.more_classes[place - 8];
}

/// Few thumbnails in a large plane are larger; they grow with the plane, up to four times.
float LatentPlane::side(const Frame& frame) const {
  constexpr float kLeast = 18, kMost = 36, kDot = 7;  // design pixels
  constexpr float kOfPitch = 0.35f;                   // of the distance that images spread evenly would have
  const double zoomed = std::clamp(std::sqrt(view_.scale / fitting_), 1.0, 4.0);
  const float area =
      (max_.x - min_.x) * (max_.y - min_.y) / static_cast<float>(std::max<std::size_t>(1, points_->count()));
  const float s = frame.scale, picture = std::clamp(kOfPitch * std::sqrt(area), kLeast * s, kMost * s);
  return std::floor(static_cast<float>(zoomed) * (draws_pictures() ? picture : kDot * s));
}

ImU32 LatentPlane::colour_of(const Frame& frame, std::size_t image) const {
  const auto& labels = points_->data->test.labels;
  return class_colour(frame.palette, image < labels.size() ? labels[image] : 0);
}

void LatentPlane::shutdown() {
  page_.reset();
  disc_.reset();
}

/// A page for all pictures and a white tile, which fills with colour.
void LatentPlane::refresh(const Frame& frame) {
  const training::ImageFacts& set = points_->data->test;
  const int largest = std::min(kLargestPage, interop::Texture::largest());
  const interop::PageShape shape =
      interop::make_page(static_cast<int>(points_->count()) + 1, set.width, set.height, largest);
  if (uploaded_ != points_->data || !page_ || page_->shape().tiles() < shape.tiles()) {
    uploaded_ = points_->data;
    page_ = std::make_unique<interop::TilePage>(shape, frame.textures);
    const auto texels = static_cast<std::size_t>(set.width) * static_cast<std::size_t>(set.height);
    const std::vector<images::Rgba> white(texels, images::Rgba{255, 255, 255, 255});
    page_->upload(shape.tiles() - 1, white.data());
    pictures_ = 0;
  }
  upload_some(frame);
}

/// So that no frame waits for thousands of them.
void LatentPlane::upload_some(const Frame& frame) {
  const int all = std::min(static_cast<int>(points_->count()), page_->shape().tiles() - 1);
  const int end = std::min(all, pictures_ + kUploads);
  bool missing = false;
  for (int picture = pictures_; picture < end; ++picture) {
    const auto pixels = images::byte_colours(*uploaded_, training::DataPart::test, picture);
    missing = missing || pixels.empty();
    if (!missing) page_->upload(pictures_++, pixels.data());
  }
  if (pictures_ < all && !missing) redraw_at(frame, ImGui::GetTime());
}

void LatentPlane::refresh_disc(const Frame& frame, int side) {
  if (disc_ && disc_->shape().width == side) return;
  disc_ = std::make_unique<interop::TilePage>(interop::PageShape{side, side, 1, 1}, frame.textures);
  disc_->upload(0, disc_of(side).data());
}

void LatentPlane::place_images(ImVec2 min, ImVec2 max) {
  const bool same = min.x == min_.x && min.y == min_.y && max.x == max_.x && max.y == max_.y;
  min_ = min;
  max_ = max;
  if (same && placed_ == points_ && placed_view_ == view_) return;
  placed_ = points_;
  placed_view_ = view_;
  places_.resize(points_->count());
  for (std::size_t i = 0; i < places_.size(); ++i)
    places_[i] = view_.to_screen(min_, max_, points_->x(i), points_->y(i));
}

std::optional<std::int64_t> LatentPlane::draw(const Frame& frame,
                                              const std::shared_ptr<const PlanePoints>& points,
                                              const LatentMarks& marks, ImVec2 size) {
  const float s = frame.scale, margin = 24 * s;
  points_ = points;
  hit_area("latent.map", size, ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
  trace_item("latent.map");
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  fitting_ = fitting_scale(*points_, room_of_images(frame, size), margin);
  track(view_, *points_, room_of_images(frame, size), margin);
  place_images(min, max);
  handle_pointer(frame);
  place_images(min, max);
  const bool looks = ImGui::IsItemHovered() && !moved_;
  hovered_ = looks ? image_at(places_, ImGui::GetIO().MousePos, side(frame)) : std::nullopt;
  refresh(frame);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(min_, max_, blend(frame.palette.text, frame.palette.panel, 0.03f), 3 * s);
  list->PushClipRect(min_, max_, true);
  draw_axes(frame);
  draw_images(frame);
  draw_marks(frame, marks);
  draw_lasso(frame);
  list->PopClipRect();
  draw_legend(frame);
  if (hovered_) {
    const auto image = static_cast<std::int64_t>(*hovered_);
    const std::string text =
        draws_texts() ? fmt::format("\n{}", shown_text(*points_->data, training::DataPart::test, image)) : "";
    pointer_tip(frame, image_text(*points_, frame.snapshot, *hovered_) + text);
  }
  const bool asked = hovered_ && ImGui::IsMouseReleased(ImGuiMouseButton_Right);
  return asked ? std::optional(static_cast<std::int64_t>(*hovered_)) : std::nullopt;
}

void LatentPlane::handle_pointer(const Frame& frame) {
  const ImGuiIO& io = ImGui::GetIO();
  if (ImGui::IsItemHovered() && io.MouseWheel != 0) {
    zoom(view_, min_, max_, io.MousePos, std::pow(kWheelFactor, static_cast<double>(io.MouseWheel)),
         fitting_);
  }
  if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    view_.fit = true;
    track(view_, *points_, room_of_images(frame, ImVec2(max_.x - min_.x, max_.y - min_.y)), 24 * frame.scale);
  }
  const bool down = ImGui::IsItemActive() && ImGui::IsMouseDown(ImGuiMouseButton_Left);
  if (down) handle_drag(frame);
  if (held_ && !down) {
    if (!moved_ && hovered_ && *hovered_ < points_->count())
      point_at_image(frame, static_cast<std::int64_t>(*hovered_));
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

void LatentPlane::draw_image(const Frame& frame, std::size_t image, float side, bool dimmed) {
  const ImVec2 at = places_[image];
  const ImVec2 min(std::floor(at.x - side / 2), std::floor(at.y - side / 2));
  const ImVec2 max(min.x + side, min.y + side);
  if (max.x < min_.x || min.x > max_.x || max.y < min_.y || min.y > max_.y) return;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImU32 whole = colour_of(frame, image);
  const ImU32 colour = dimmed ? blend(whole, frame.palette.panel, kDimmed) : whole;
  if (draws_pictures() && static_cast<int>(image) < pictures_) {
    const int white = page_->shape().tiles() - 1;
    const float line = std::max(1.0f, std::floor(1.5f * frame.scale));
    const ImVec2 inner_min(min.x + line, min.y + line), inner_max(max.x - line, max.y - line);
    page_->fill(list, white, min, max, colour);
    page_->draw(list, static_cast<int>(image), inner_min, inner_max);
    if (dimmed) {
      const ImU32 veil = (frame.palette.panel & ~IM_COL32_A_MASK) | IM_COL32(0, 0, 0, 190);
      page_->fill(list, white, inner_min, inner_max, veil);
    }
  } else if (static_cast<int>(side) == disc_->shape().width) {
    disc_->draw_tinted(list, 0, min, max, colour);
  } else {
    list->AddCircleFilled(at, side / 2, colour);
  }
  if (trace_enabled() && image < kTraced) trace_rectangle(fmt::format("latent.image.{}", image), min, max);
}

void LatentPlane::draw_images(const Frame& frame) {
  const float size = side(frame);
  refresh_disc(frame, static_cast<int>(size));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->PushTextureID(draws_pictures() ? page_->texture() : disc_->texture());
  // Both rise.
  const auto& selected = frame.cursor->images;
  auto next = selected.begin();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    while (next != selected.end() && *next < static_cast<std::int64_t>(i)) ++next;
    const bool chosen = next != selected.end() && *next == static_cast<std::int64_t>(i);
    draw_image(frame, i, size, !selected.empty() && !chosen);
  }
  list->PopTextureID();
  if (hovered_) draw_image(frame, *hovered_, std::floor(size * (draws_pictures() ? 2.0f : 1.5f)), false);
}

void LatentPlane::draw_marks(const Frame& frame, const LatentMarks& marks) {
  const float s = frame.scale, size = side(frame) / 2 + 2 * s;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const auto known = [&](std::int64_t image) {
    return image >= 0 && static_cast<std::size_t>(image) < points_->count();
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
  const float line = std::max(1.0f, std::floor(1.5f * frame.scale));
  draw_path(drawn_, frame.palette.accent, line);
  draw_path({drawn_.back(), drawn_.front()}, blend(frame.palette.accent, frame.palette.panel, 0.5f), line);
}

void LatentPlane::draw_axes(const Frame& frame) const {
  if (points_->axes[0].empty()) return;
  const float s = frame.scale, line = hairline(frame);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImVec2 zero = view_.to_screen(min_, max_, 0, 0);
  list->AddLine(ImVec2(min_.x, zero.y), ImVec2(max_.x, zero.y), frame.palette.grid, line);
  list->AddLine(ImVec2(zero.x, min_.y), ImVec2(zero.x, max_.y), frame.palette.grid, line);
  const ImFont* const font = frame.fonts.small;
  const std::string across = "\u2192 " + points_->axes[0], up = "\u2191 " + points_->axes[1];
  const float below = max_.y - 6 * s;
  draw_text(list, font, max_.x - text_width(font, across) - 8 * s, below, frame.palette.muted, across);
  if (!points_->axes[1].empty() &&
      max_.x - min_.x > text_width(font, across) + text_width(font, up) + 32 * s) {
    draw_text(list, font, min_.x + 8 * s, below, frame.palette.muted, up);
  }
}

/// Where the names of the classes begin, in as many lines as they need.
std::vector<ImVec2> LatentPlane::legend_places(const Frame& frame) const {
  const std::size_t classes = points_->data->classes.size();
  if (classes < 2 || classes > kMostNames) return {};
  const float s = frame.scale, left = min_.x + 8 * s;
  std::vector<ImVec2> places;
  ImVec2 at(left, min_.y + 16 * s);
  for (std::size_t i = 0; i < classes; ++i) {
    const std::string name = class_name(points_->data.get(), i);
    const float width = legend_box(frame) + text_width(frame.fonts.small, name) + 12 * s;
    if (at.x + width > max_.x && at.x > left) at = ImVec2(left, at.y + kLegendLine * s);
    places.push_back(at);
    at.x += width;
  }
  return places;
}

float LatentPlane::legend_height(const Frame& frame) const {
  const auto places = legend_places(frame);
  return places.empty() ? 0 : places.back().y + 4 * frame.scale - min_.y;
}

/// The classes by colour, at the top.
void LatentPlane::draw_legend(const Frame& frame) const {
  const float s = frame.scale, box = std::floor(8 * s);
  const ImFont* const font = frame.fonts.small;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  // It stays readable where images lie below it.
  const ImU32 veil = (frame.palette.panel & ~IM_COL32_A_MASK) | IM_COL32(0, 0, 0, 200);
  const auto places = legend_places(frame);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ImVec2 at = places[i];
    const std::string name = class_name(points_->data.get(), i);
    const float width = legend_box(frame) + text_width(font, name);
    list->AddRectFilled(ImVec2(at.x - 3 * s, at.y - 16 * s), ImVec2(at.x + width + 9 * s, at.y + 4 * s),
                        veil);
    list->AddRectFilled(ImVec2(at.x, at.y - box), ImVec2(at.x + box, at.y), class_colour(frame.palette, i));
    const bool pointed = pointed_class(frame) == static_cast<int>(i);
    draw_text(list, font, at.x + legend_box(frame), at.y, pointed ? frame.palette.text : frame.palette.muted,
              name);
    if (trace_enabled())
      trace_rectangle(fmt::format("latent.class.{}", i), ImVec2(at.x, at.y - 16 * s),
                      ImVec2(at.x + width, at.y + 4 * s));
    if (pointed) {
      list->AddRectFilled(ImVec2(at.x, at.y + 3 * s), ImVec2(at.x + width, at.y + 3 * s + hairline(frame)),
                          frame.palette.accent);
    }
  }
}

}  // namespace warpscope::ui
