#include "ui/paint/frame_painter.h"

#include "gpu/core/error.h"

namespace warpscope::ui::paint {

FramePainter::FramePainter(GLFWwindow* window, bool by_cuda) : book_(by_cuda) {
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

Drawn FramePainter::draw(const ImDrawData& data, const std::shared_ptr<core::Device>& device,
                         const ImVec4& background) {
  const Drawn drawn = paint(data, device, background);
  if (drawn == Drawn::nothing && server_) server_->forget();
  return drawn;
}

Drawn FramePainter::paint(const ImDrawData& data, const std::shared_ptr<core::Device>& device,
                          const ImVec4& background) {
  if (!failure_.empty() || device == nullptr) return Drawn::nothing;
  triangles_.collect(data);
  if (triangles_.width < 1 || triangles_.height < 1) return Drawn::nothing;
  try {
    if (painter_ == nullptr || painter_->device() != device) {
      device->make_current();
      painter_.reset();
      painter_ = std::make_unique<Painter>(device);
    }
    if (font_ == 0) take_font();
    picture_ = painter_->paint(triangles_, book_, ImGui::ColorConvertFloat4ToU32(background));
  } catch (const core::Error& error) {
    failure_ = error.what();
    book_.retire();
    picture_ = {};
    painter_.reset();
    return Drawn::nothing;
  }
  if (server_ && server_->show(picture_)) return Drawn::on_screen;
  server_.reset();
  if (!opengl_) opengl_.emplace();
  opengl_->show(picture_);
  return Drawn::in_back_buffer;
}

}  // namespace warpscope::ui::paint
