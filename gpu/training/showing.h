#pragma once
// When the pictures of a training are made, and which of them are kept.

#include <chrono>
#include <cstdint>
#include <memory>

#include "gpu/engine/engine.h"
#include "gpu/messages/image_history.h"
#include "gpu/runs/run_recorder.h"
#include "gpu/training/pace.h"
#include "gpu/training/watching.h"

namespace warpscope::training {

class Showing {
 public:
  /// `history` is nullptr where none is kept, and `seconds` lie between two pictures at the least.
  Showing(std::shared_ptr<ImageHistory> history, double seconds)
      : history_(std::move(history)), least_seconds_(seconds) {}

  /// `recorder` is nullptr where no run is written.
  void show_if_due(Engine& engine, Watching& watching, const RunRecorder* recorder);
  /// The last ones, which are kept.
  void show_end(Engine& engine, const RunRecorder* recorder);
  /// What was to be kept and has arrived.
  void hand_over(Engine& engine, RunRecorder* recorder, std::uint64_t generation);
  /// The same step may give other pictures, which cost something else.
  void show_anew();
  /// A reset: the first pictures come as fast as those of a new training.
  void restart() { times_ = {}; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kNoStep = ~std::uint64_t{0};
  struct Times {
    std::uint64_t step = kNoStep;  ///< whose pictures were shown last
    Pace pace;
    Clock::time_point next_kept{};
    int kept = 0;               ///< times that they were kept for the run folder
    bool kept_for_run = false;  ///< those under way are for the run folder, and not for the history only
  };

  std::shared_ptr<ImageHistory> history_;
  double least_seconds_;
  Times times_;
};

}  // namespace warpscope::training
