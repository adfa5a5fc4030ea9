#pragma once
// The door to this library: Dear ImGui's draw lists in, pixels to a presenter out, without OpenGL drawing
// anything.

#include <memory>
#include <optional>
#include <string>

#include <imgui.h>

#include "ui/paint/draw_list.h"
#include "ui/paint/painter.h"
#include "ui/paint/presenter.h"
#include "ui/paint/texture_store.h"

struct GLFWwindow;

namespace warpscope::ui::paint {

enum class Drawn {
  nothing,         ///< OpenGL is to draw this frame
  in_back_buffer,  ///< to be shown by a swap
  on_screen,       ///< and must not be swapped away
};

/// Draws Dear ImGui's frames on the CPU. All calls belong to the thread with the OpenGL context, which is
/// current.
class FramePainter {
 public:
  /// Frames go into `window` through memory shared with its X server, where that can be; else, and if it is
  /// nullptr, through OpenGL's back buffer. `textures` is what the frames' textures hold, but for the font's,
  /// which the painter puts there; it outlives the painter.
  FramePainter(GLFWwindow* window, TextureStore& textures);

  /// The font's texture is made anew.
  void renew_font();
  /// OpenGL is to draw if the frame has no pixels, or if painting fails now or has failed before (failure()).
  /// When it fails, OpenGL's textures get what the store holds, and the store is closed.
  Drawn draw(const ImDrawData& data, const ImVec4& background);
  /// Why OpenGL draws since then; "" while nothing failed.
  const std::string& failure() const { return failure_; }
  /// As last drawn; valid until the next draw().
  const Picture& picture() const { return picture_; }
  /// OpenGL shows the pictures.
  bool needs_swap() const { return presenter_->needs_swap(); }

 private:
  bool paint(const ImDrawData& data, const ImVec4& background);
  void leave_screen();
  void take_font();

  GLFWwindow* window_;
  TextureStore& textures_;
  std::uintptr_t font_ = 0;  // its texture's name; 0: to be taken
  Triangles triangles_;
  std::optional<Painter> painter_;  // gone once painting has failed
  std::unique_ptr<Presenter> presenter_;
  bool on_screen_ = false;  // the last frame
  Picture picture_;
  std::string failure_;
};

}  // namespace warpscope::ui::paint
