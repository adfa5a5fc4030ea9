#include "ui/paint/frame_painter.h"

#include <exception>
#include <utility>

#include <glad/gl.h>
// glad first: it stands in for the system's OpenGL header.
#include <GLFW/glfw3.h>

#include "ui/paint/gl_presenter.h"
#include "ui/paint/x11_presenter.h"

namespace warpscope::ui::paint {
namespace {

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
    failure_ = error.what();
    give_to_opengl(textures_);
    textures_.close();
    picture_ = {};
    painter_.reset();
    return false;
  }
  return true;
}

}  // namespace warpscope::ui::paint
