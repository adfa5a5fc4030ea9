#include "ui/interop/atlas_texture.h"

#include <vector>

#include <glad/gl.h>

#include "ui/paint/texture_book.h"

namespace warpscope::ui::interop {

AtlasTexture::AtlasTexture(const images::Atlas& atlas) : atlas_(atlas) {
  const std::vector<images::Rgba> nothing(atlas.bytes() / sizeof(images::Rgba), images::Rgba{0, 0, 0, 0});
  glGenTextures(1, &texture_);
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, atlas.texture_width(), atlas.texture_height(), 0, GL_RGBA,
               GL_UNSIGNED_BYTE, nothing.data());
  glBindTexture(GL_TEXTURE_2D, 0);
  glGenBuffers(1, &pixel_buffer_);
  if (auto* book = paint::TextureBook::current()) {
    book->put(texture_, atlas.texture_width(), atlas.texture_height(), false, nullptr);
  }
}

AtlasTexture::~AtlasTexture() {
  glDeleteBuffers(1, &pixel_buffer_);
  glDeleteTextures(1, &texture_);
  if (auto* book = paint::TextureBook::current()) book->remove(texture_);
}

void AtlasTexture::upload(const images::Rgba* pixels) {
  if (auto* book = paint::TextureBook::current()) {
    book->put(texture_, atlas_.texture_width(), atlas_.texture_height(), false, pixels);
    if (!book->for_device()) return;  // the CPU paints every frame; CUDA only once the training runs on it
  }
  // New storage each time: the driver keeps the old one until the copy that reads it is done.
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, pixel_buffer_);
  glBufferData(GL_PIXEL_UNPACK_BUFFER, static_cast<GLsizeiptr>(atlas_.bytes()), pixels, GL_STREAM_DRAW);
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, atlas_.texture_width(), atlas_.texture_height(), GL_RGBA,
                  GL_UNSIGNED_BYTE, nullptr);
  glBindTexture(GL_TEXTURE_2D, 0);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
}

int AtlasTexture::largest() {
  GLint size = 0;
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &size);
  return size;
}

}  // namespace warpscope::ui::interop
