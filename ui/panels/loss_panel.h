#pragma once
// The loss over steps or time: every training step, the tests, and a flag where something was changed.

#include "ui/frame.h"
#include "ui/panels/loss_history.h"
#include "ui/plot/plot.h"
#include "ui/settings.h"

namespace warpscope::ui {

class LossPanel {
 public:
  void consume(const training::FeedItem& item) { history_.consume(item); }
  void draw(const Frame& frame, PlotSettings& settings);
  const LossHistory& history() const { return history_; }

 private:
  void draw_legend(const Frame& frame, PlotSettings& settings);
  void draw_options(const Frame& frame, PlotSettings& settings);

  LossHistory history_;
  plot::View view_;
  plot::Drag drag_;
};

}  // namespace warpscope::ui
