#pragma once
// The "Augment" tab: how training images are changed at random, and what that makes of the coming batch.

#include <map>
#include <memory>
#include <string>

#include "gpu/messages/augmented_images.h"
#include "ui/frame/frame.h"
#include "ui/interop/tile_page.h"
#include "ui/panels/pending.h"
#include "ui/widgets/value_field.h"

namespace warpscope::training {
struct Setting;
}

namespace warpscope::ui {

class AugmentView {
 public:
  /// What was refused goes to `refusal`, which is emptied when a value is taken. `able`: the training takes commands.
  void draw(const Frame& frame, bool able, Refusal& refusal);
  /// Frees the texture; called before the context goes.
  void shutdown() { page_.reset(); }

 private:
  training::AugmentSettings settings(const Frame& frame);
  void send(const Frame& frame, const training::AugmentSettings& settings);
  void draw_row(const Frame& frame, const training::Setting& row, Refusal& refusal);
  void draw_switch(const Frame& frame, const training::Setting& row);
  void refresh(const Frame& frame);
  void draw_pictures(const Frame& frame);

  std::map<std::string, ValueField> fields_;
  Pending<training::AugmentSettings> pending_;
  std::shared_ptr<const training::AugmentedImages> seen_;  ///< what the page shows
  std::unique_ptr<interop::TilePage> page_;
};

}  // namespace warpscope::ui
