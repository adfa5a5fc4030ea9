#pragma once
// The window drawn by the device that trains.

#include <memory>
#include <optional>
#include <string>

#include <imgui.h>

#include "gpu/core/device.h"
#include "ui/paint/draw_list.h"
#include "ui/paint/painter.h"
#include "ui/paint/presenter.h"
#include "ui/paint/texture_book.h"

namespace warpscope::ui::paint {

/// Draws Dear ImGui's frames with a Painter, from the first frame on that knows the device, and shows them through OpenGL. To be
/// made before the first texture, with the OpenGL context current; all calls belong to the thread with that context.
class FramePainter {
 public:
  FramePainter();

  /// The font's texture is made anew.
  void renew_font();
  /// Draws into the back buffer. False, with nothing drawn, if OpenGL is to draw this frame: no device is known yet (`device` is
  /// nullptr), the frame has no pixels, or painting fails now or has failed before (failure()).
  bool draw(const ImDrawData& data, const std::shared_ptr<core::Device>& device, const ImVec4& background);
  /// Why OpenGL draws since then; "" while nothing failed.
  const std::string& failure() const { return failure_; }
  /// Who paints, "NVIDIA H100 80GB HBM3"; "" before the first painted frame and after painting has failed.
  std::string painted_by() const {
    return painter_ && failure_.empty() ? painter_->device()->info().name : "";
  }

 private:
  void take_font();

  TextureBook book_;
  std::uintptr_t font_ = 0;  ///< its texture's name; 0: to be taken
  Triangles triangles_;
  std::unique_ptr<Painter> painter_;
  Presenter presenter_;
  std::string failure_;
};

}  // namespace warpscope::ui::paint
