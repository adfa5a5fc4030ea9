#include "ui/interop/texture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <glad/gl.h>

namespace warpscope::ui::interop {

Texture::Texture(int width, int height, paint::TextureStore* store)
    : width_(width), height_(height), store_(store) {
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
  if (is_painted()) store_->put(texture_, width, height, false, nullptr);
}

Texture::~Texture() {
  if (pixel_buffer_ != 0) glDeleteBuffers(1, &pixel_buffer_);
  glDeleteTextures(1, &texture_);
  if (store_ != nullptr) store_->remove(texture_);
}

void Texture::upload(const images::Rgba* pixels) {
  if (is_painted()) {
    store_->put(texture_, width_, height_, false, pixels);
    return;
  }
  if (pixel_buffer_ == 0) glGenBuffers(1, &pixel_buffer_);
  const std::size_t bytes =
      static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_) * sizeof(images::Rgba);
  // New storage each time: the driver keeps the old one until the copy that reads it is done.
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, pixel_buffer_);
  glBufferData(GL_PIXEL_UNPACK_BUFFER, static_cast<GLsizeiptr>(bytes), pixels, GL_STREAM_DRAW);
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glBindTexture(GL_TEXTURE_2D, 0);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
}

void Texture::upload_part(images::Point at, int width, int height, const images::Rgba* pixels) {
  if (is_painted()) {
    store_->put_part(texture_, at.x, at.y, width, height, pixels);
    return;
  }
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexSubImage2D(GL_TEXTURE_2D, 0, at.x, at.y, width, height, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  glBindTexture(GL_TEXTURE_2D, 0);
}

int Texture::largest() {
  GLint size = 0;
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &size);
  return size;
}

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
