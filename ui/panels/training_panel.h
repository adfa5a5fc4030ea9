#pragma once
// The update, steered while it trains: learning rate and batch above tabs with the results so far, the
// optimizer, the schedule, the learning-rate finder and the augmentation of the images.

#include <span>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/augment_view.h"
#include "ui/panels/finder_view.h"
#include "ui/panels/optimizer_view.h"
#include "ui/panels/results_view.h"
#include "ui/panels/schedule_view.h"
#include "ui/panels/settings_controller.h"

namespace warpscope::ui {

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
  OptimizerView optimizer_;
  ScheduleView schedule_;
  FinderView finder_;
  AugmentView augment_;
  ResultsView results_;
  int tab_ = kResults;
  Refusal refusal_;  ///< of all tabs
};

}  // namespace warpscope::ui
