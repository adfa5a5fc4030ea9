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

void TilePage::draw(ImDrawList* list, int tile, ImVec2 min, ImVec2 max) const {
  draw_part(list, tile, {0, 0}, {shape_.width, shape_.height}, min, max);
}

void TilePage::draw_part(ImDrawList* list, int tile, images::Point from, images::Point to, ImVec2 min,
                         ImVec2 max) const {
  const auto part = [](int texel, int all) { return static_cast<float>(texel) / static_cast<float>(all); };
  const int width = texture_.width(), height = texture_.height();
  const images::Point at = shape_.corner(tile);
  // ImTextureID is a pointer in older versions of Dear ImGui and an integer in newer ones: only this cast
  // fits both.
  list->AddImage((ImTextureID)(std::intptr_t)texture_.id(), min, max,
                 ImVec2(part(at.x + from.x, width), part(at.y + from.y, height)),
                 ImVec2(part(at.x + to.x, width), part(at.y + to.y, height)));
}

}  // namespace warpscope::ui::interop
