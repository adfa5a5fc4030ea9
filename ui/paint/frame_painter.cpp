#include "ui/paint/frame_painter.h"

#include <exception>
#include <utility>

#include <glad/gl.h>
// glad first: it stands in for the system's OpenGL header.
#include <GLFW/glfw3.h>

namespace warpscope::ui::paint {
namespace {

/// OpenGL draws from now on: it gets what only the book was told.
void give_to_opengl(const TextureBook& book) {
  for (const auto& [name, page] : book.pages()) {
    if (page.on_device != nullptr) continue;
    glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(name));
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, page.width, page.height, GL_RGBA, GL_UNSIGNED_BYTE,
                    page.texels.data());
  }
  glBindTexture(GL_TEXTURE_2D, 0);
}

}  // namespace

FramePainter::FramePainter(GLFWwindow* window, bool by_cuda) : book_(by_cuda), window_(window) {
  if (window != nullptr) server_ = X11Presenter::make(window);
  book_.make_current();
}

void FramePainter::take_font() {
  ImFontAtlas& fonts = *ImGui::GetIO().Fonts;
  unsigned char* texels = nullptr;
  int width = 0, height = 0;
  fonts.GetTexDataAsRGBA32(&texels, &width, &height);
  font_ = (std::uintptr_t)fonts.TexID;  // a pointer or an integer, by ImGui's version
  book_.put(font_, width, height, true, texels);
}

void FramePainter::renew_font() {
  book_.remove(font_);
  font_ = 0;
}

// OpenGL's back buffer gets the window's size with a swap: the first frame after others that were not swapped would have the old.
void FramePainter::leave_screen() {
  if (server_) server_->forget();
  if (std::exchange(on_screen_, false)) glfwSwapBuffers(window_);
}

Drawn FramePainter::draw(const ImDrawData& data, const std::shared_ptr<core::Device>& device,
                         const ImVec4& background) {
  if (!paint(data, device, background)) {
    leave_screen();
    return Drawn::nothing;
  }
  if (server_ && server_->show(picture_)) {
    on_screen_ = true;
    return Drawn::on_screen;
  }
  server_.reset();
  leave_screen();
  if (!opengl_) opengl_.emplace();
  opengl_->show(picture_);
  return Drawn::in_back_buffer;
}

bool FramePainter::paint(const ImDrawData& data, const std::shared_ptr<core::Device>& device,
                         const ImVec4& background) {
  if (!failure_.empty() || device == nullptr) return false;
  try {
    triangles_.collect(data);
    if (triangles_.width < 1 || triangles_.height < 1) return false;
    if (painter_ == nullptr || painter_->device() != device) {
      device->make_current();
      painter_.reset();
      painter_ = std::make_unique<Painter>(device);
    }
    if (font_ == 0) take_font();
    picture_ = painter_->paint(triangles_, book_, ImGui::ColorConvertFloat4ToU32(background));
  } catch (const std::exception& error) {
    failure_ = error.what();
    give_to_opengl(book_);
    book_.retire();
    picture_ = {};
    painter_.reset();
    return false;
  }
  return true;
}

}  // namespace warpscope::ui::paint
