#pragma once
// Shows a picture in the window.

#include <cstdint>

namespace warpscope::ui::paint {

/// Copies pictures into the back buffer of the current OpenGL context, to which all calls belong.
class Presenter {
 public:
  Presenter();
  ~Presenter();
  Presenter(const Presenter&) = delete;
  Presenter& operator=(const Presenter&) = delete;

  /// `pixels`: RGBA8, rows from the top; it may change once this returns.
  void show(const std::uint32_t* pixels, int width, int height);

 private:
  unsigned texture_ = 0;
  unsigned framebuffer_ = 0;
  int width_ = 0, height_ = 0;
};

}  // namespace warpscope::ui::paint
