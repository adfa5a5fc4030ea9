#pragma once
// Where the time of the last inference with the weights of the run went, a lane a rank: a view of the Ranks panel.

#include <chrono>
#include <memory>
#include <string>

#include "gpu/runs/inference_figures.h"
#include "ui/frame/frame.h"
#include "ui/jobs/background.h"

namespace warpscope::ui {

class InferenceView {
 public:
  /// Once a frame: looks for figures in the folder of the run, about once a second, without waiting for the disk.
  void look(const std::string& run_dir);
  /// Between frames: true if something has been read. Never waits.
  bool advance();
  /// nullptr where there are none.
  const runs::InferenceFigures* figures() const { return figures_.get(); }
  /// The rest of a body; `figures()` is not nullptr.
  void draw(const Frame& frame) const;

 private:
  using Figures = std::shared_ptr<const runs::InferenceFigures>;

  std::string run_dir_;
  std::chrono::steady_clock::time_point looked_;
  Figures figures_;
  Background<Figures> reader_;
};

}  // namespace warpscope::ui
