#pragma once
// What a run came to, taken from its points.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "gpu/messages/feed.h"

namespace warpscope::training {

/// Figures of a run, taken from its points since the last reset. NaN (null in run.json) where there are none.
struct RunFigures {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t steps = 0;
  double epochs = 0;
  double last_train_loss = kNone;    ///< of the last step
  double final_train_loss = kNone;   ///< mean over the last 50 steps, or all if there are fewer
  double images_per_second = kNone;  ///< median over the steps
  double seconds = 0;                ///< of training, pauses not counted
  double test_loss = kNone;          ///< of the last test
  double psnr = kNone;
  double accuracy = kNone;         ///< of the last evaluation; with labels
  double head_loss = kNone;        ///< of the last evaluation; with a head on the latents
  double head_accuracy = kNone;    ///< likewise
  double validation_loss = kNone;  ///< of the last evaluation of validation images
};

/// Gathers the points of a run, in their order.
class FigureTally {
 public:
  void note(const LossPoint& point);
  void note(const TestPoint& test);
  /// A line of metrics.jsonl, of a run that is gone on with. What it lacks counts as not a number.
  void note(const nlohmann::json& line);
  /// The training started again from new weights.
  void reset();
  RunFigures figures() const;

 private:
  RunFigures figures_;
  std::vector<float> last_losses_;  ///< of the last 50 steps, as a ring from step 1 on
  std::vector<float> speeds_;
};

}  // namespace warpscope::training
