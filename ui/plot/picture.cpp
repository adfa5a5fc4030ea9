#include "ui/plot/picture.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <glad/gl.h>
#include <stb_image_write.h>
// glad first: it stands in for the system's OpenGL header.
#include <backends/imgui_impl_opengl3.h>

#include "gpu/core/error.h"
#include "ui/fonts.h"
#include "ui/theme.h"

namespace warpscope::ui::plot {
namespace {

// A second Dear ImGui beside the window's, which is current again afterwards.
class OwnContext {
 public:
  OwnContext() : before_(ImGui::GetCurrentContext()), own_(ImGui::CreateContext()) {
    ImGui::SetCurrentContext(own_);
    ImGui::GetIO().IniFilename = nullptr;
    ImGui_ImplOpenGL3_Init("#version 330 core");
  }
  ~OwnContext() {
    ImGui_ImplOpenGL3_Shutdown();
    ImGui::DestroyContext(own_);
    ImGui::SetCurrentContext(before_);
  }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;

 private:
  ImGuiContext* before_;
  ImGuiContext* own_;
};

// A framebuffer that nobody sees, bound while it lives.
class Target {
 public:
  Target(int width, int height) : width_(width), height_(height) {
    GLint most = 0;
    glGetIntegerv(GL_MAX_TEXTURE_SIZE, &most);
    glGetIntegerv(GL_FRAMEBUFFER_BINDING, &before_);
    if (width > most || height > most) {
      throw core::Error(fmt::format(
          "a picture of {} x {} pixels is more than this graphics driver can draw; make the panel smaller",
          width, height));
    }
    glGenRenderbuffers(1, &color_);
    glBindRenderbuffer(GL_RENDERBUFFER, color_);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, width, height);
    glGenFramebuffers(1, &frame_);
    glBindFramebuffer(GL_FRAMEBUFFER, frame_);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, color_);
    complete_ = glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
  }
  ~Target() {
    glBindFramebuffer(GL_FRAMEBUFFER, static_cast<GLuint>(before_));
    glDeleteFramebuffers(1, &frame_);
    glDeleteRenderbuffers(1, &color_);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  Picture draw(ImU32 background) const {
    if (!complete_) throw core::Error("the graphics driver refuses to draw into a picture");
    const ImVec4 color = ImGui::ColorConvertU32ToFloat4(background);
    glViewport(0, 0, width_, height_);
    glDisable(GL_SCISSOR_TEST);
    glClearColor(color.x, color.y, color.z, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    Picture picture{width_, height_, {}};
    picture.pixels.resize(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_) * 3);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadBuffer(GL_COLOR_ATTACHMENT0);
    glReadPixels(0, 0, width_, height_, GL_RGB, GL_UNSIGNED_BYTE, picture.pixels.data());
    return picture;
  }

 private:
  int width_, height_;
  GLint before_ = 0;
  GLuint color_ = 0, frame_ = 0;
  bool complete_ = false;
};

void draw_window(const Frame& frame, ImVec2 size, const Painter& painter) {
  ImGui::SetNextWindowPos(ImVec2(0, 0));
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::Begin("picture", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoInputs);
  painter(frame, ImVec2(0, 0), size);
  ImGui::End();
  ImGui::PopStyleVar(3);
}

}  // namespace

Picture draw_picture(const Frame& frame, ImVec2 size, float factor, float density, const Painter& painter) {
  const ImVec2 all(std::round(size.x * factor), std::round(size.y * factor));
  const int width = static_cast<int>(std::round(all.x * density));
  const int height = static_cast<int>(std::round(all.y * density));
  const Target target(std::max(1, width), std::max(1, height));
  const OwnContext context;
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = all;
  io.DisplayFramebufferScale = ImVec2(density, density);
  io.DeltaTime = 1.0f / 60;
  const float scale = frame.scale * factor;
  apply_theme(scale);
  const Fonts fonts = load_fonts(scale, density);
  const Frame own{frame.snapshot, frame.send, fonts, frame.palette, scale};
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
  draw_window(own, all, painter);
  ImGui::Render();
  return target.draw(frame.palette.panel);
}

std::string encode_png(const Picture& picture) {
  const std::size_t row = static_cast<std::size_t>(picture.width) * 3;
  std::vector<unsigned char> flipped(picture.pixels.size());
  for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height); ++y) {
    std::memcpy(flipped.data() + y * row,
                picture.pixels.data() + (static_cast<std::size_t>(picture.height) - 1 - y) * row, row);
  }
  std::string png;
  const auto append = [](void* target, void* data, int size) {
    static_cast<std::string*>(target)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  if (stbi_write_png_to_func(append, &png, picture.width, picture.height, 3, flipped.data(),
                             static_cast<int>(row)) == 0) {
    throw core::Error("the picture could not be encoded as PNG");
  }
  return png;
}

}  // namespace warpscope::ui::plot
