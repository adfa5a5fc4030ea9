#pragma once
// Where painted pictures go.

#include "ui/paint/picture.h"

namespace warpscope::ui::paint {

/// Shows pictures in a window. All calls belong to the window's thread.
class Presenter {
 public:
  virtual ~Presenter() = default;

  /// Its pixels may change once this returns. False if the presenter can show nothing any more; then it is
  /// not to be called again.
  virtual bool show(const Picture& picture) = 0;
  /// Something else has drawn in the window: all of the next picture is shown, not only what changed.
  virtual void forget() {}
  /// The picture is in OpenGL's back buffer, and a swap brings it to the screen.
  virtual bool needs_swap() const = 0;
};

}  // namespace warpscope::ui::paint
