#include "ui/paint/frame_painter.h"

#include "gpu/core/error.h"

namespace warpscope::ui::paint {

FramePainter::FramePainter() {
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

bool FramePainter::draw(const ImDrawData& data, const std::shared_ptr<core::Device>& device,
                        const ImVec4& background) {
  if (!failure_.empty() || device == nullptr) return false;
  triangles_.collect(data);
  if (triangles_.width < 1 || triangles_.height < 1) return false;
  try {
    if (painter_ == nullptr || painter_->device() != device) {
      device->make_current();
      painter_.reset();
      painter_ = std::make_unique<Painter>(device);
    }
    if (font_ == 0) take_font();
    const std::uint32_t* pixels =
        painter_->paint(triangles_, book_, ImGui::ColorConvertFloat4ToU32(background));
    presenter_.show(pixels, triangles_.width, triangles_.height);
  } catch (const core::Error& error) {
    failure_ = error.what();
    book_.retire();
    painter_.reset();
    return false;
  }
  return true;
}

}  // namespace warpscope::ui::paint
