#pragma once
// Shows a picture in the window through OpenGL.

#include "ui/paint/presenter.h"

namespace warpscope::ui::paint {

/// Copies pictures into the back buffer of the current OpenGL context, to which all calls belong.
class GlPresenter final : public Presenter {
 public:
  GlPresenter();
  ~GlPresenter() override;
  GlPresenter(const GlPresenter&) = delete;
  GlPresenter& operator=(const GlPresenter&) = delete;

  bool show(const Picture& picture) override;
  bool needs_swap() const override { return true; }

 private:
  unsigned texture_ = 0;
  unsigned framebuffer_ = 0;
  int width_ = 0, height_ = 0;
};

}  // namespace warpscope::ui::paint
