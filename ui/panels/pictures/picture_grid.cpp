#include "ui/panels/pictures/picture_grid.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/input/cursor.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr double kWidest = 10;     // has as many letters as figures mostly have
constexpr float kFigureLine = 17;  // design pixels from one figure below an image to the next

/// True if the button that is let go had moved farther than a click does.
bool was_dragged() {
  const ImGuiIO& io = ImGui::GetIO();
  return io.MouseDragMaxDistanceSqr[ImGuiMouseButton_Left] > io.MouseDragThreshold * io.MouseDragThreshold;
}

std::string figure_label(const PictureScene& scene, PictureRow row) {
  const auto metric = static_cast<std::size_t>(scene.settings.metric);
  const std::string unit = unit_of(scene.settings.metric);
  if (scene.measured.size() == 1) {
    return unit.empty() ? kPictureMetrics[metric] : fmt::format("{}, {}", kPictureMetrics[metric], unit);
  }
  return fmt::format("{} {}", kPictureMetrics[metric], scene.name(row));
}

images::Grid lay_out(const Frame& frame, const PictureScene& scene, float width, float height) {
  const float pixels = framebuffer_density();
  const float s = frame.scale * pixels;
  images::GridSpace space;
  space.width = static_cast<int>((width - ImGui::GetStyle().ScrollbarSize) * pixels);
  space.height = static_cast<int>((height - 8 * frame.scale) * pixels);
  space.image_width = scene.desk.shape().width;
  space.image_height = scene.desk.shape().height;
  space.count = static_cast<int>(scene.images.size());
  space.rows = static_cast<int>(scene.rows.size());
  space.gap = std::max(1, static_cast<int>(4 * s));
  space.row_gap = std::max(1, static_cast<int>(2 * s));
  space.band_gap = static_cast<int>(8 * s);
  const auto lines = static_cast<float>(scene.measured.size());
  space.caption_height = static_cast<int>((3 + kFigureLine * lines) * s);
  space.caption_width = static_cast<int>(std::ceil(text_width(frame.fonts.numbers, "00.0") * pixels));
  space.scale = s;
  return images::make_grid(
      space, scene.settings.zoom == 0 ? images::fit_zoom(space) : static_cast<float>(scene.settings.zoom));
}

void draw_figures(const Frame& frame, const PictureScene& scene, const images::Grid& grid, ImVec2 min,
                  int image) {
  const float column = static_cast<float>(grid.column_width()) / framebuffer_density();
  const float line = std::floor(kFigureLine * frame.scale);
  for (std::size_t i = 0; i < scene.measured.size(); ++i) {
    const std::vector<double>& figures = scene.figures[index_of(scene.measured[i])];
    const auto place = static_cast<std::size_t>(image);
    const PictureMetric metric = scene.settings.metric;
    const bool wide = text_width(frame.fonts.numbers, figure_text(metric, kWidest)) <= column;
    const ImFont* const font = wide ? frame.fonts.numbers : frame.fonts.small;
    std::string text = place < figures.size() ? figure_text(metric, figures[place]) : "-";
    if (text_width(font, text) > column)
      text = ellipsize(font, figure_text(metric, figures[place], true), column);
    const float middle = min.y + 3 * frame.scale + line * (static_cast<float>(i) + 0.5f);
    draw_text(ImGui::GetWindowDrawList(), font, min.x,
              row_baseline(frame, middle - ImGui::GetFrameHeight() / 2), frame.palette.text, text);
  }
}

void draw_labels(const Frame& frame, const PictureScene& scene, const images::Grid& grid, ImVec2 corner,
                 ImVec2 origin, float width, float height) {
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float density = framebuffer_density(), room = width - 8 * frame.scale;
  const auto label = [&](float middle, const std::string& text) {
    draw_text(list, frame.fonts.small, corner.x, row_baseline(frame, middle - ImGui::GetFrameHeight() / 2),
              frame.palette.muted, ellipsize(frame.fonts.small, text, room));
  };
  list->PushClipRect(corner, ImVec2(corner.x + width, corner.y + height), true);
  for (int band = 0; band < grid.bands; ++band) {
    const auto top = [&](int row) {
      return origin.y + static_cast<float>(grid.place(row, band * grid.columns).y) / density;
    };
    const float tall = static_cast<float>(grid.row_height()) / density;
    for (int row = 0; row < grid.space.rows; ++row) {
      const PictureRow which = scene.rows[static_cast<std::size_t>(row)];
      label(top(row) + tall / 2, scene.name(which));
      const std::string tip =
          scene.desk.why_not(which).empty() ? scene.name(which) : scene.desk.why_not(which);
      area_tooltip(frame, ImVec2(corner.x, top(row)), ImVec2(corner.x + room, top(row) + tall), tip);
    }
    const float line = std::floor(kFigureLine * frame.scale);
    for (std::size_t i = 0; i < scene.measured.size(); ++i) {
      const float above = top(grid.space.rows) + 3 * frame.scale + line * static_cast<float>(i);
      label(above + line / 2, figure_label(scene, scene.measured[i]));
      area_tooltip(frame, ImVec2(corner.x, above), ImVec2(corner.x + room, above + line),
                   tip_of(scene.settings.metric));
    }
  }
  list->PopClipRect();
}

}  // namespace

float picture_label_width(const Frame& frame, const PictureScene& scene) {
  float width = text_width(frame.fonts.small, "difference");
  for (const PictureRow row : scene.rows)
    width = std::max(width, text_width(frame.fonts.small, scene.name(row)));
  for (const PictureRow row : scene.measured) {
    width = std::max(width, text_width(frame.fonts.small, figure_label(scene, row)));
  }
  const float most = 112 * frame.scale;
  const PictureChoices& choices = scene.settings.choices;
  // "now" becomes "newest" with each step and back, which must not move the pictures.
  if (choices.shows(PictureRow::difference) && !is_plain_difference(choices)) width = most;
  return std::floor(std::min(width, most) + 12 * frame.scale);
}

PictureGrid::Touch PictureGrid::draw(const Frame& frame, PictureScene& scene, float height) {
  const float labels = picture_label_width(frame, scene);
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const float width = std::max(1.0f, ImGui::GetContentRegionAvail().x - labels);
  const images::Grid grid = lay_out(frame, scene, width, height);
  zoom_ = grid.zoom;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + labels);
  ImGui::BeginChild("images.grid", ImVec2(width, std::max(1.0f, height)), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav);
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  const ImVec2 origin = on_whole_pixels(ImVec2(cursor.x, cursor.y + 8 * frame.scale));
  const Touch touch = look_at_pointer(frame, scene, grid, origin);
  for (int place = 0; place < grid.space.count; ++place) {
    const int image = scene.images[static_cast<std::size_t>(place)];
    draw_column(frame, scene, grid, origin, place, touch.hovered && touch.hovered->image == image);
  }
  ImGui::EndChild();
  draw_labels(frame, scene, grid, corner, origin, labels, height);
  return touch;
}

void PictureGrid::scroll(const PictureScene& scene, const images::Grid& grid, ImVec2 origin) {
  const ImGuiIO& io = ImGui::GetIO();
  const float band = static_cast<float>(grid.band_height() + grid.space.band_gap) / framebuffer_density();
  if (anchor_ && zoom_ == static_cast<float>(scene.settings.zoom)) {
    const int above = anchor_->image / grid.columns;
    ImGui::SetScrollY(std::round(static_cast<float>(above) * band - anchor_->offset));
    anchor_.reset();
  }
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    ImGui::SetScrollY(ImGui::GetScrollY() - io.MouseDelta.y);
  }
  if (!ImGui::IsWindowHovered() || io.MouseWheel == 0) return;
  if (!io.KeyCtrl) return ImGui::SetScrollY(ImGui::GetScrollY() - std::round(io.MouseWheel * band / 3));
  scene.settings.zoom = io.MouseWheel > 0 ? images::larger_zoom(grid.zoom) : images::smaller_zoom(grid.zoom);
  const int under = std::max(0, static_cast<int>((io.MousePos.y - origin.y) / band));
  anchor_ = Anchor{std::min(under * grid.columns, grid.space.count - 1),
                   static_cast<float>(under) * band - ImGui::GetScrollY()};
}

PictureGrid::Touch PictureGrid::look_at_pointer(const Frame& frame, const PictureScene& scene,
                                                const images::Grid& grid, ImVec2 origin) {
  const float density = framebuffer_density();
  const ImVec2 size(static_cast<float>(grid.content_width()) / density,
                    static_cast<float>(grid.content_height()) / density + 8 * frame.scale);
  hit_area("images.area", ImVec2(std::max(size.x, ImGui::GetContentRegionAvail().x), size.y));
  hovered_ = ImGui::IsItemHovered();
  scroll(scene, grid, origin);
  Touch touch;
  auto hit = grid.hit(pointer_from(origin));
  if (!hovered_) hit.reset();
  if (!hit) {
    hovered_since_ = ImGui::GetTime();
    return touch;
  }
  hit->image = scene.images[static_cast<std::size_t>(hit->image)];
  if (ImGui::IsMouseReleased(ImGuiMouseButton_Left) && !was_dragged()) touch.clicked = hit->image;
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) touch.opened = hit->image;
  touch.seconds = ImGui::GetTime() - hovered_since_;
  if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) touch.hovered = hit;
  return touch;
}

void PictureGrid::draw_column(const Frame& frame, const PictureScene& scene, const images::Grid& grid,
                              ImVec2 origin, int place, bool lit) const {
  const training::ImageShape& shape = scene.desk.shape();
  const int image = scene.images[static_cast<std::size_t>(place)];
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const auto at = [&](images::Point point) {
    return ImVec2(origin.x + static_cast<float>(point.x) / framebuffer_density(),
                  origin.y + static_cast<float>(point.y) / framebuffer_density());
  };
  const images::Point first = grid.place(0, place), last = grid.place(grid.space.rows, place);
  const ImVec2 min = at(first), max = at({first.x + grid.image_width(), last.y});
  const float below = static_cast<float>(grid.space.caption_height) / framebuffer_density();
  if (!ImGui::IsRectVisible(min, ImVec2(max.x, max.y + below))) return;
  for (int row = 0; row < grid.space.rows; ++row) {
    const PictureRow which = scene.rows[static_cast<std::size_t>(row)];
    const images::Point corner = grid.place(row, place);
    const ImVec2 from = at(corner);
    const ImVec2 to = at({corner.x + grid.image_width(), corner.y + grid.row_height()});
    if (!scene.desk.draw(list, which, image, {0, 0}, {shape.width, shape.height}, from, to)) {
      list->AddRect(from, to, frame.palette.grid, 0, 0, hairline(frame));
    }
    if (trace_enabled()) trace_rectangle(fmt::format("images.{}.{}", row_key(which), image), from, to);
  }
  const float line = std::max(1.0f, std::floor(frame.scale));
  const bool pointed = scene.names.empty() && is_pointed_at_image(frame, image);
  if (lit || pointed) {
    outline(list, min, max, frame.palette.accent, line);
  }
  draw_figures(frame, scene, grid, ImVec2(min.x, max.y), image);
}

}  // namespace warpscope::ui
