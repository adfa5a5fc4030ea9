#pragma once
// What is offered at the start of a window: to go on with the training that was in the last one, which nobody recorded.

#include <string>

#include "gpu/runs/unsaved.h"
#include "ui/frame/frame.h"

namespace warpscope::ui {

/// "the training of 14:32: autoencoder, step 12,345", with the day where it is not `now`'s.
std::string unsaved_text(const runs::UnsavedTraining& training, std::int64_t now);

class UnsavedBox {
 public:
  void offer(std::string text) { text_ = std::move(text); }
  /// Above everything, `top` pixels from the upper edge, for half a minute or until it is dismissed. True if the
  /// offer is taken.
  bool draw(const Frame& frame, float top);

 private:
  std::string text_;  ///< "" while nothing is offered
  double until_ = 0;  ///< ImGui time; 0: not drawn yet
};

}  // namespace warpscope::ui
