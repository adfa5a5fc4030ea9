#pragma once
// The update, steered while it trains: learning rate and batch above tabs with the results so far, the
// optimizer, the schedule, the learning-rate finder and the augmentation of the images.

#include <memory>
#include <span>
#include <string>

#include "gpu/messages/augmented_images.h"
#include "gpu/settings/optimizer_settings.h"
#include "ui/frame/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/training/finder_view.h"
#include "ui/panels/training/results_rows.h"
#include "ui/panels/training/schedule_view.h"
#include "ui/panels/training/settings_controller.h"

namespace warpscope::ui {

/// The "Augment" tab: how training images are changed at random, and what that makes of the coming batch.
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

/// The "Results" tab: how the training stands.
class ResultsView {
 public:
  /// To be called each frame, also while another tab is shown: it notices when a checkpoint is written.
  void update(const Frame& frame);
  void draw(const Frame& frame) const;

 private:
  LastCheckpoint checkpoint_;
  bool first_ = true;
};

/// `settings` in the faulty scheme or out of it; accumulation is off in it.
training::OptimizerSettings with_scheme(training::OptimizerSettings settings, bool per_sample);

/// "4 x 64 = 256 images an update"; "each of 64 images updates by itself" in the faulty scheme.
std::string update_images_text(const training::OptimizerSettings& settings, int batch);

class TrainingPanel {
 public:
  void draw(const Frame& frame);

  static std::span<const char* const> tabs();
  int tab() const { return tab_; }
  void show(int tab) { tab_ = tab; }

  /// Frees textures; called before the context goes.
  void shutdown() { augment_.shutdown(); }

 private:
  enum Tab : int { kResults, kOptimizer, kSchedule, kFinder, kAugment };

  void draw_batch(const Frame& frame);
  void draw_settings(const Frame& frame, bool able);
  void draw_tab(const Frame& frame, bool able);

  SettingsController controller_;
  ScheduleView schedule_;
  FinderView finder_;
  AugmentView augment_;
  ResultsView results_;
  int tab_ = kResults;
  Refusal refusal_;  ///< of all tabs
};

}  // namespace warpscope::ui
