#pragma once
// The lower left of the window: the kernels of the running step, the laboratory and earlier runs, as tabs of
// one panel that can take the whole window.

#include <span>

#include "ui/frame.h"
#include "ui/laboratory_controller.h"
#include "ui/panels/bench_panel.h"
#include "ui/panels/determinism_panel.h"
#include "ui/panels/kernels_panel.h"
#include "ui/panels/ladder_panel.h"
#include "ui/panels/network_panel.h"
#include "ui/panels/run_overlay.h"
#include "ui/panels/runs_panel.h"
#include "ui/panels/time_panel.h"
#include "ui/panels/verify_panel.h"

namespace warpscope::ui {

class Workbench {
 public:
  explicit Workbench(const models::Model& model) : controller_(model), time_(model), network_(model) {}

  /// `overlay`: the earlier runs beside the curves.
  void draw(const Frame& frame, RunOverlay& overlay);
  static std::span<const char* const> tabs();
  int tab() const { return tab_; }
  void show(int tab) { tab_ = tab; }
  void show_runs() { tab_ = kRuns; }
  /// True while it takes the room of the other panels.
  bool large() const { return large_; }
  void toggle_large() { large_ = !large_; }
  const LaboratoryController& controller() const { return controller_; }
  /// Frees what belongs to OpenGL; called before the context goes.
  void shutdown() { network_.shutdown(); }

 private:
  enum Tab : int { kKernels, kTime, kNetwork, kBench, kVerify, kDeterminism, kLadder, kRuns };

  LaboratoryController controller_;
  KernelsPanel kernels_;
  TimePanel time_;
  NetworkPanel network_;
  BenchPanel bench_;
  VerifyPanel verify_;
  DeterminismPanel determinism_;
  LadderPanel ladder_;
  RunsPanel runs_;
  int tab_ = kKernels;
  bool large_ = false;
};

}  // namespace warpscope::ui
