#include "ui/paint/gl_presenter.h"

#include <glad/gl.h>

namespace warpscope::ui::paint {

GlPresenter::GlPresenter() {
  glGenTextures(1, &texture_);
  glGenFramebuffers(1, &framebuffer_);
}

GlPresenter::~GlPresenter() {
  glDeleteFramebuffers(1, &framebuffer_);
  glDeleteTextures(1, &texture_);
}

bool GlPresenter::show(const Picture& picture) {
  const int width = picture.width, height = picture.height;
  glBindTexture(GL_TEXTURE_2D, texture_);
  if (width != width_ || height != height_) {
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, picture.pixels);
    width_ = width;
    height_ = height;
  } else {
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, picture.pixels);
  }
  glBindTexture(GL_TEXTURE_2D, 0);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_);
  glFramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture_, 0);
  // OpenGL counts rows from below.
  glBlitFramebuffer(0, 0, width, height, 0, height, width, 0, GL_COLOR_BUFFER_BIT, GL_NEAREST);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
  return true;
}

}  // namespace warpscope::ui::paint
