#include "ui/paint/frame_painter.h"

#include <exception>
#include <utility>

#include <glad/gl.h>
// glad first: it stands in for the system's OpenGL header.
#include <GLFW/glfw3.h>

#include "gpu/core/host_memory.h"
#include "ui/paint/x11_presenter.h"

namespace warpscope::ui::paint {
namespace {

/// Copies pictures into the back buffer of the current OpenGL context, to which all calls belong.
class GlPresenter final : public Presenter {
 public:
  GlPresenter();
  ~GlPresenter() override;
  GlPresenter(const GlPresenter&) = delete;
  GlPresenter& operator=(const GlPresenter&) = delete;

  bool show(const Picture& picture) override;
  bool needs_swap() const override { return true; }

 private:
  unsigned texture_ = 0;
  unsigned framebuffer_ = 0;
  int width_ = 0, height_ = 0;
};

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

/// What only the store was told.
void give_to_opengl(const TextureStore& textures) {
  for (const auto& [name, entry] : textures.entries()) {
    glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(name));
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, entry.width, entry.height, GL_RGBA, GL_UNSIGNED_BYTE,
                    entry.texels.data());
  }
  glBindTexture(GL_TEXTURE_2D, 0);
}

std::unique_ptr<Presenter> make_presenter(GLFWwindow* window) {
  std::unique_ptr<Presenter> presenter;
  if (window != nullptr) presenter = X11Presenter::make(window);
  if (presenter == nullptr) presenter = std::make_unique<GlPresenter>();
  return presenter;
}

}  // namespace

FramePainter::FramePainter(GLFWwindow* window, TextureStore& textures)
    : window_(window), textures_(textures), painter_(std::in_place), presenter_(make_presenter(window)) {}

void FramePainter::take_font() {
  ImFontAtlas& fonts = *ImGui::GetIO().Fonts;
  unsigned char* texels = nullptr;
  int width = 0, height = 0;
  fonts.GetTexDataAsRGBA32(&texels, &width, &height);
  font_ = (std::uintptr_t)fonts.TexID;  // a pointer or an integer, by ImGui's version
  textures_.put(font_, width, height, true, texels);
}

void FramePainter::renew_font() {
  textures_.remove(font_);
  font_ = 0;
}

// OpenGL's back buffer takes the window's size with a swap: without this one, the first frame after others
// that were not swapped would have the old size.
void FramePainter::leave_screen() {
  presenter_->forget();
  if (std::exchange(on_screen_, false)) glfwSwapBuffers(window_);
}

Drawn FramePainter::draw(const ImDrawData& data, const ImVec4& background) {
  if (!paint(data, background)) {
    leave_screen();
    return Drawn::nothing;
  }
  if (!presenter_->show(picture_)) {
    leave_screen();
    presenter_ = std::make_unique<GlPresenter>();
    presenter_->show(picture_);
  }
  on_screen_ = !presenter_->needs_swap();
  return on_screen_ ? Drawn::on_screen : Drawn::in_back_buffer;
}

bool FramePainter::paint(const ImDrawData& data, const ImVec4& background) {
  if (!painter_) return false;
  try {
    triangles_.collect(data);
    if (triangles_.width < 1 || triangles_.height < 1) return false;
    if (font_ == 0) take_font();
    picture_ = painter_->paint(triangles_, textures_, ImGui::ColorConvertFloat4ToU32(background));
  } catch (const std::exception& error) {
    failure_ = core::sentence_of(error);
    give_to_opengl(textures_);
    textures_.close();
    picture_ = {};
    painter_.reset();
    return false;
  }
  return true;
}

}  // namespace warpscope::ui::paint
