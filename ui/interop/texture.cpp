#include "ui/interop/texture.h"

#include <cstddef>
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

}  // namespace warpscope::ui::interop
