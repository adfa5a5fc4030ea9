#pragma once
// The "Augment" tab: how training images are changed at random, and what that makes of the coming batch.

#include <memory>

#include "gpu/messages/augmented_images.h"
#include "ui/frame/frame.h"
#include "ui/interop/tile_page.h"
#include "ui/panels/settings_controller.h"

namespace warpscope::ui {

class AugmentView {
 public:
  /// What was refused goes to `refusal`, which is emptied when a value is taken. `able`: the training takes commands.
  void draw(const Frame& frame, SettingsController& controller, bool able, Refusal& refusal);
  /// Frees the texture; called before the context goes.
  void shutdown() { page_.reset(); }

 private:
  void refresh(const Frame& frame);
  void draw_pictures(const Frame& frame);

  std::shared_ptr<const training::AugmentedImages> seen_;  ///< what the page shows
  std::unique_ptr<interop::TilePage> page_;
};

}  // namespace warpscope::ui
