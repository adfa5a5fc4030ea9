#include "ui/interop/tile_page.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <glad/gl.h>

#include "ui/paint/texture_book.h"

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

TilePage::TilePage(const PageShape& shape) : shape_(shape) {
  const int width = shape.columns * shape.width, height = shape.rows * shape.height;
  const std::vector<images::Rgba> nothing(static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
                                          images::Rgba{0, 0, 0, 0});
  glGenTextures(1, &texture_);
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nothing.data());
  glBindTexture(GL_TEXTURE_2D, 0);
  if (auto* book = paint::TextureBook::current()) book->put(texture_, width, height, false, nullptr);
}

TilePage::~TilePage() {
  glDeleteTextures(1, &texture_);
  if (auto* book = paint::TextureBook::current()) book->remove(texture_);
}

void TilePage::upload(int tile, const images::Rgba* pixels) {
  glBindTexture(GL_TEXTURE_2D, texture_);
  const images::Point at = shape_.corner(tile);
  glTexSubImage2D(GL_TEXTURE_2D, 0, at.x, at.y, shape_.width, shape_.height, GL_RGBA, GL_UNSIGNED_BYTE,
                  pixels);
  glBindTexture(GL_TEXTURE_2D, 0);
  if (auto* book = paint::TextureBook::current()) {
    book->put_part(texture_, at.x, at.y, shape_.width, shape_.height, pixels);
  }
}

void TilePage::draw(ImDrawList* list, int tile, ImVec2 min, ImVec2 max) const {
  const auto part = [](int texel, int all) { return static_cast<float>(texel) / static_cast<float>(all); };
  const int width = shape_.columns * shape_.width, height = shape_.rows * shape_.height;
  const images::Point at = shape_.corner(tile);
  // ImTextureID is a pointer in older versions of Dear ImGui and an integer in newer ones: only this cast fits both.
  list->AddImage((ImTextureID)(std::intptr_t)texture_, min, max,
                 ImVec2(part(at.x, width), part(at.y, height)),
                 ImVec2(part(at.x + shape_.width, width), part(at.y + shape_.height, height)));
}

}  // namespace warpscope::ui::interop
