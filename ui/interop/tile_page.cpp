#include "ui/interop/tile_page.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace warpscope::ui::interop {

PageShape make_page(int tiles, int width, int height, int largest) {
  const double side = std::sqrt(static_cast<double>(tiles) * width * height);
  const auto within = [largest](int count, int one) {
    return std::clamp(count, 1, std::max(1, largest / one));
  };
  PageShape shape{width, height, within(static_cast<int>(std::ceil(side / width)), width), 1};
  shape.rows = within((tiles + shape.columns - 1) / shape.columns, height);
  return shape;
}

void TilePage::upload(int tile, const images::Rgba* pixels) {
  texture_.upload_part(shape_.corner(tile), shape_.width, shape_.height, pixels);
}

// ImTextureID is a pointer in older versions of Dear ImGui and an integer in newer ones: only this cast fits both.
ImTextureID TilePage::texture() const {
  return (ImTextureID)(std::intptr_t)texture_.id();
}

void TilePage::draw(ImDrawList* list, int tile, ImVec2 min, ImVec2 max) const {
  draw_part(list, tile, {0, 0}, {shape_.width, shape_.height}, min, max);
}

void TilePage::draw_tinted(ImDrawList* list, int tile, ImVec2 min, ImVec2 max, ImU32 tint) const {
  const images::Point at = shape_.corner(tile);
  list->AddImage(texture(), min, max, place(at), place({at.x + shape_.width, at.y + shape_.height}), tint);
}

void TilePage::fill(ImDrawList* list, int tile, ImVec2 min, ImVec2 max, ImU32 colour) const {
  const images::Point corner = shape_.corner(tile);
  const ImVec2 at = place({corner.x + shape_.width / 2, corner.y + shape_.height / 2});
  list->AddImage(texture(), min, max, at, at, colour);
}

void TilePage::draw_part(ImDrawList* list, int tile, images::Point from, images::Point to, ImVec2 min,
                         ImVec2 max) const {
  const images::Point at = shape_.corner(tile);
  list->AddImage(texture(), min, max, place({at.x + from.x, at.y + from.y}),
                 place({at.x + to.x, at.y + to.y}));
}

ImVec2 TilePage::place(images::Point texel) const {
  return {static_cast<float>(texel.x) / static_cast<float>(texture_.width()),
          static_cast<float>(texel.y) / static_cast<float>(texture_.height())};
}

}  // namespace warpscope::ui::interop
