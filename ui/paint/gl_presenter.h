#pragma once
// Shows a picture in the window through OpenGL.

#include "ui/paint/picture.h"

namespace warpscope::ui::paint {

/// Copies pictures into the back buffer of the current OpenGL context, to which all calls belong.
class GlPresenter {
 public:
  GlPresenter();
  ~GlPresenter();
  GlPresenter(const GlPresenter&) = delete;
  GlPresenter& operator=(const GlPresenter&) = delete;

  /// All of it; its pixels may change once this returns.
  void show(const Picture& picture);

 private:
  unsigned texture_ = 0;
  unsigned framebuffer_ = 0;
  int width_ = 0, height_ = 0;
};

}  // namespace warpscope::ui::paint
