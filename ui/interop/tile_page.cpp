#include "ui/interop/tile_page.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <glad/gl.h>

namespace warpscope::ui::interop {

PageShape make_page(int tiles, int width, int height, int largest) {
  const double side = std::sqrt(static_cast<double>(tiles) * width * height);
  const auto fit = [largest](double wanted, int one) {
    return std::clamp(static_cast<int>(std::ceil(wanted / one)), 1, std::max(1, largest / one));
  };
  PageShape shape{width, height, fit(side, width), 1};
  shape.rows = fit(static_cast<double>((tiles + shape.columns - 1) / shape.columns) * height, height);
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
}

TilePage::~TilePage() {
  glDeleteTextures(1, &texture_);
}

void TilePage::upload(int tile, const images::Rgba* pixels) {
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexSubImage2D(GL_TEXTURE_2D, 0, tile % shape_.columns * shape_.width,
                  tile / shape_.columns * shape_.height, shape_.width, shape_.height, GL_RGBA,
                  GL_UNSIGNED_BYTE, pixels);
  glBindTexture(GL_TEXTURE_2D, 0);
}

void TilePage::draw(ImDrawList* list, int tile, ImVec2 min, ImVec2 max) const {
  const float column = static_cast<float>(tile % shape_.columns),
              row = static_cast<float>(tile / shape_.columns);
  const float u = 1 / static_cast<float>(shape_.columns), v = 1 / static_cast<float>(shape_.rows);
  // ImTextureID is a pointer in older versions of Dear ImGui and an integer in newer ones: only this cast fits both.
  list->AddImage((ImTextureID)(std::intptr_t)texture_, min, max, ImVec2(column * u, row * v),
                 ImVec2((column + 1) * u, (row + 1) * v));
}

}  // namespace warpscope::ui::interop
