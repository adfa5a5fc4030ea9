#include "ui/panels/pictures/tiled_images.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "ui/images/byte_colours.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr int kLargestTilePage = 4096;

float number_width(const Frame& frame, std::string_view widest) {
  return std::max(std::floor(32 * frame.scale), text_width(frame.fonts.numbers, widest));
}

}  // namespace

float framebuffer_density() {
  return std::max(0.01f, ImGui::GetIO().DisplayFramebufferScale.x);
}

ImVec2 on_whole_pixels(ImVec2 at) {
  const float density = framebuffer_density();
  return {std::round(at.x * density) / density, std::round(at.y * density) / density};
}

images::Point pointer_from(ImVec2 origin) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float density = framebuffer_density();
  return {static_cast<int>(std::floor((mouse.x - origin.x) * density)),
          static_cast<int>(std::floor((mouse.y - origin.y) * density))};
}

void outline(ImDrawList* list, ImVec2 min, ImVec2 max, ImU32 color, float line) {
  list->AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + line), color, 0, 0, line);
}

ImVec2 beside_pointer(ImVec2 size, float scale) {
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  const ImVec2 window = ImGui::GetIO().DisplaySize;
  const float away = 24 * scale;
  const float margin = 4 * scale;
  const auto inside = [margin](float wanted, float length, float room) {
    return std::floor(std::max(margin, std::min(wanted, room - length - margin)));
  };
  const float x = inside(pointer.x - size.x / 2, size.x, window.x);
  if (pointer.y + away + size.y + margin <= window.y) return {x, std::floor(pointer.y + away)};
  if (pointer.y - away - size.y >= margin) return {x, std::floor(pointer.y - away - size.y)};
  const float y = inside(pointer.y - size.y / 2, size.y, window.y);
  if (pointer.x - away - size.x >= margin) return {std::floor(pointer.x - away - size.x), y};
  if (pointer.x + away + size.x + margin <= window.x) return {std::floor(pointer.x + away), y};
  return {x, pointer.y > window.y / 2 ? margin : inside(window.y, size.y, window.y)};
}

ImVec2 beside_area(ImVec2 size, ImVec2 min, ImVec2 max, float scale) {
  const ImVec2 pointer = ImGui::GetIO().MousePos, window = ImGui::GetIO().DisplaySize;
  const float gap = std::floor(4 * scale);
  const auto inside = [gap](float wanted, float length, float room) {
    return std::floor(std::max(gap, std::min(wanted, room - length - gap)));
  };
  const float x = inside(pointer.x - size.x / 2, size.x, window.x);
  const float y = inside(pointer.y - size.y / 2, size.y, window.y);
  if (max.y + 2 * gap + size.y <= window.y) return {x, std::floor(max.y + gap)};
  if (min.y - 2 * gap - size.y >= 0) return {x, std::floor(min.y - gap - size.y)};
  if (min.x - 2 * gap - size.x >= 0) return {std::floor(min.x - gap - size.x), y};
  if (max.x + 2 * gap + size.x <= window.x) return {std::floor(max.x + gap), y};
  return beside_pointer(size, scale);
}

float zoom_buttons_width(const Frame& frame, std::string_view widest) {
  return text_button_width(frame, "-") + text_button_width(frame, "+") + text_width(frame.fonts.text, "fit") +
         number_width(frame, widest) + 28 * frame.scale;
}

void zoom_buttons(const Frame& frame, std::string_view name, float zoom, std::string_view tip, int& wanted,
                  std::string_view widest) {
  const float width = zoom_buttons_width(frame, widest), number = number_width(frame, widest);
  const auto traced = [&](const char* part) { return fmt::format("{}_{}", name, part); };
  if (title_end(frame) - ImGui::GetCursorPosX() < width) return;
  align_title_right(frame, width);
  if (text_button(frame, traced("out").c_str(), "-", "Smaller images (Ctrl + wheel)", zoom > 1)) {
    wanted = images::smaller_zoom(zoom);
  }
  ImGui::SameLine(0, 0);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string text = fmt::format("{:g}\u00d7", zoom);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.numbers,
            at.x + (number - text_width(frame.fonts.numbers, text)) / 2, row_baseline(frame, at.y),
            frame.palette.text, text);
  ImGui::Dummy(ImVec2(number, ImGui::GetFrameHeight()));
  tooltip(frame, tip);
  ImGui::SameLine(0, 0);
  if (text_button(frame, traced("in").c_str(), "+", "Larger images (Ctrl + wheel)",
                  zoom < static_cast<float>(images::kLargestZoom))) {
    wanted = images::larger_zoom(zoom);
  }
  ImGui::SameLine(0, 4 * frame.scale);
  bool fit = wanted == 0;
  if (toggle(frame, traced("fit").c_str(), "fit", &fit,
             "The largest size at which enough images are seen at once")) {
    wanted = fit ? 0 : static_cast<int>(zoom);
  }
}

images::CellSpace cell_space(const Frame& frame, const training::ImageFacts& set, std::size_t count,
                             ImVec2 room) {
  const float pixels = framebuffer_density(), s = frame.scale * pixels;
  images::CellSpace space;
  space.width = static_cast<int>((room.x - ImGui::GetStyle().ScrollbarSize) * pixels);
  space.height = static_cast<int>(room.y * pixels);
  space.image_width = set.width;
  space.image_height = set.height;
  space.count = static_cast<int>(count);
  space.gap = std::max(1, static_cast<int>(8 * s));
  space.edge = std::max(1, static_cast<int>(std::ceil(3 * s)));
  space.scale = s;
  return space;
}

std::array<ImVec2, 2> picture_corners(const images::CellGrid& grid, ImVec2 origin, int cell) {
  const images::Point place = grid.place(cell);
  const auto pixels = [](int length) { return static_cast<float>(length) / framebuffer_density(); };
  const ImVec2 min(origin.x + pixels(place.x), origin.y + pixels(place.y));
  return {min, ImVec2(min.x + pixels(grid.zoom * grid.space.image_width),
                      min.y + pixels(grid.zoom * grid.space.image_height))};
}

std::optional<TilePlace> TileCache::need(int image) {
  if (const auto found = place_.find(image); found != place_.end()) {
    tiles_[static_cast<std::size_t>(found->second)].frame = frame_;
    return TilePlace{found->second, false};
  }
  const auto oldest = std::min_element(tiles_.begin(), tiles_.end(),
                                       [](const Tile& a, const Tile& b) { return a.frame < b.frame; });
  if (oldest == tiles_.end() || oldest->frame == frame_) return std::nullopt;
  if (oldest->image >= 0) place_.erase(oldest->image);
  *oldest = {image, frame_};
  const int tile = static_cast<int>(oldest - tiles_.begin());
  place_[image] = tile;
  return TilePlace{tile, true};
}

void TileCache::forget(int image) {
  const auto found = place_.find(image);
  if (found == place_.end()) return;
  tiles_[static_cast<std::size_t>(found->second)] = {};
  place_.erase(found);
}

void TileCache::clear() {
  std::fill(tiles_.begin(), tiles_.end(), Tile{});
  place_.clear();
}

void TiledImages::renew(const Frame& frame, const training::ImageFacts& set, int tiles) {
  const int largest = std::min(kLargestTilePage, interop::Texture::largest());
  const interop::PageShape shape = interop::make_page(tiles, set.width, set.height, largest);
  if (!page_ || page_->shape() != shape) {
    page_ = std::make_unique<interop::TilePage>(shape, frame.textures);
    cache_ = TileCache(shape.tiles());
  }
  cache_.clear();
}

std::optional<int> TiledImages::tile_of(const training::DataView& data, training::DataPart part, int image) {
  const auto place = cache_.need(image);
  if (!place) return std::nullopt;
  if (place->fresh) {
    const auto pixels = images::byte_colours(data, part, image);
    if (pixels.empty()) {
      cache_.forget(image);
      return std::nullopt;
    }
    page_->upload(place->tile, pixels.data());
  }
  return place->tile;
}

}  // namespace warpscope::ui
