#pragma once
// The window drawn by the program's own painter.

#include <memory>
#include <optional>
#include <string>

#include <imgui.h>

#include "gpu/core/device.h"
#include "ui/paint/draw_list.h"
#include "ui/paint/gl_presenter.h"
#include "ui/paint/painter.h"
#include "ui/paint/texture_book.h"
#include "ui/paint/x11_presenter.h"

namespace warpscope::ui::paint {

enum class Drawn {
  nothing,         ///< OpenGL is to draw this frame
  in_back_buffer,  ///< to be shown by a swap
  on_screen,       ///< and must not be swapped away
};

/// Draws Dear ImGui's frames with a Painter, from the first frame on that knows the device. To be made before the first texture,
/// with the OpenGL context current; all calls belong to the thread with that context.
class FramePainter {
 public:
  /// Frames go into `window` through memory shared with its X server, where that can be; else, and if it is nullptr, through
  /// OpenGL's back buffer.
  /// `by_cuda`: the device of draw() is that of the training, and its images are not copied to the host first.
  FramePainter(GLFWwindow* window, bool by_cuda);

  /// The font's texture is made anew.
  void renew_font();
  /// OpenGL is to draw if no device is known yet (`device` is nullptr), the frame has no pixels, or painting fails now or has
  /// failed before (failure()).
  Drawn draw(const ImDrawData& data, const std::shared_ptr<core::Device>& device, const ImVec4& background);
  /// Why OpenGL draws since then; "" while nothing failed.
  const std::string& failure() const { return failure_; }
  /// As last drawn; valid until the next draw().
  const Picture& picture() const { return picture_; }
  /// OpenGL shows the pictures.
  bool swaps() const { return server_ == nullptr; }
  /// Who paints, "NVIDIA H100 80GB HBM3"; "" before the first painted frame and after painting has failed.
  std::string painted_by() const {
    return painter_ && failure_.empty() ? painter_->device()->info().name : "";
  }

 private:
  bool paint(const ImDrawData& data, const std::shared_ptr<core::Device>& device, const ImVec4& background);
  void leave_screen();
  void take_font();

  TextureBook book_;
  std::uintptr_t font_ = 0;  ///< its texture's name; 0: to be taken
  Triangles triangles_;
  std::unique_ptr<Painter> painter_;
  GLFWwindow* window_;
  bool on_screen_ = false;  // the last frame
  Picture picture_;
  std::unique_ptr<X11Presenter> server_;
  std::optional<GlPresenter> opengl_;  // made when it is first needed
  std::string failure_;
};

}  // namespace warpscope::ui::paint
