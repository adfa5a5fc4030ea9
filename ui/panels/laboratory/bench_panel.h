#pragma once
// The bench: every variant timed by itself on the shapes of the training step, as bars and as a roofline.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/jobs/laboratory_controller.h"
#include "ui/panels/laboratory/bench_rows.h"
#include "ui/plot/bars.h"
#include "ui/plot/roofline.h"

namespace warpscope::ui {

class BenchPanel {
 public:
  /// The columns of the table of times.
  static std::array<Column, 4> columns();
  static std::span<const char* const> views();
  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame, LaboratoryController& controller);

 private:
  void draw_controls(const Frame& frame, LaboratoryController& controller, bool both);
  void draw_roofline(const Frame& frame, const jobs::LaboratoryState& laboratory, ImVec2 size);
  /// Makes bars and points of the newest rows, if they or the choice have changed.
  void prepare(const Frame& frame, const LaboratoryController& controller);

  BenchFilter filter_;
  int measured_precisions_ = 0;  ///< 0: the one in use, 1: all
  int view_ = 0;                 ///< 0: bars, 1: roofline; where there is no room for both
  bool logarithmic_ = false;
  std::shared_ptr<const training::UserKernels> own_;  ///< kernels that these were made of
  bool stale_ = true;
  std::uint64_t version_ = 0;  ///< of the state that these were made of
  std::vector<plot::BarGroup> groups_;
  std::vector<plot::RooflinePoint> points_;
  std::vector<plot::Ceiling> ceilings_;
};

}  // namespace warpscope::ui
