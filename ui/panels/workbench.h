#pragma once
// The lower left of the window: the kernels of the running step and the laboratory, as tabs of one panel that can take the
// whole window.

#include "ui/frame.h"
#include "ui/laboratory_desk.h"
#include "ui/panels/bench_panel.h"
#include "ui/panels/determinism_panel.h"
#include "ui/panels/kernels_panel.h"
#include "ui/panels/ladder_panel.h"
#include "ui/panels/verify_panel.h"

namespace warpscope::ui {

class Workbench {
 public:
  explicit Workbench(models::Model model) : desk_(std::move(model)) {}

  void draw(const Frame& frame);
  /// True while it takes the room of the other panels.
  bool large() const { return large_; }
  void toggle_large() { large_ = !large_; }
  const LaboratoryDesk& desk() const { return desk_; }

 private:
  enum Tab : int { kKernels, kBench, kVerify, kDeterminism, kLadder };

  LaboratoryDesk desk_;
  KernelsPanel kernels_;
  BenchPanel bench_;
  VerifyPanel verify_;
  DeterminismPanel determinism_;
  LadderPanel ladder_;
  int tab_ = kKernels;
  bool large_ = false;
};

}  // namespace warpscope::ui
