#pragma once
// What a training or a run has come to so far.

#include <cstdint>
#include <limits>

namespace warpscope::training {

/// Taken from the points since the last reset; NaN (null in run.json) where there are none. What each of them is, how
/// it is called and how it was measured: gpu/runs/figure_table.h.
struct RunFigures {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t steps = 0;
  double epochs = 0;
  double last_train_loss = kNone;
  double final_train_loss = kNone;
  double final_train_accuracy = kNone;
  double median_images_per_second = kNone;
  double seconds = 0;
  double test_loss = kNone;
  double psnr = kNone;
  double accuracy = kNone;
  double head_loss = kNone;
  double head_accuracy = kNone;
  double validation_loss = kNone;
  double validation_psnr = kNone;
  double validation_accuracy = kNone;
};

}  // namespace warpscope::training
