#pragma once
// Feeds carry every point, marker and log line from the trainer to each subscriber (the window, the run
// folder, the progress bar), in order and without loss. The trainer never waits for a subscriber.

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/messages/evaluation.h"

namespace warpscope::training {

/// Of what was not measured, as without a head.
inline constexpr float kNoFigure = std::numeric_limits<float>::quiet_NaN();

/// One training step. Times are taken by the device at the end of the step.
struct LossPoint {
  std::uint64_t step = 0;  ///< from 1: the number of steps done
  double epoch = 0;
  float loss = 0;
  float learning_rate = 0;
  double images_per_second = 0;  ///< batch / time since the step before; 0 for the first step after a pause
  double seconds = 0;            ///< of training, pauses not counted
  float loss_scale = 1;          ///< that the step's gradients were multiplied by (fp16)
  bool skipped = false;          ///< gradients overflowed: the weights stayed as they were
  float accuracy = 0;            ///< share of the batch's images classified right; classification only
  float gradient_norm = 0;       ///< global L2 norm of the batch's mean gradient, before clipping
  float update_ratio = 0;        ///< L2 norm of the update over that of the parameters
  float head_loss = kNoFigure;   ///< cross-entropy of the head on the latents, before it is weighed
  float head_accuracy = kNoFigure;  ///< share of the batch's images that the head classified right
};

/// The loss over held-out images.
struct TestPoint {
  std::uint64_t step = 0;
  double epoch = 0;
  double seconds = 0;
  float loss = 0;
  float psnr = 0;      ///< dB, mean over the images of -10 log10(mean squared error); reconstruction only
  float accuracy = 0;  ///< share of the images classified right; classification only
  Split split = Split::test;
  float head_loss = kNoFigure;      ///< cross-entropy of the head on the latents
  float head_accuracy = kNoFigure;  ///< share of the images that the head classified right
};

/// What the latents were worth to a small classifier (gpu/observers/feature_prober.h).
struct ProbePoint {
  std::uint64_t step = 0;
  double epoch = 0;
  double seconds = 0;
  float accuracy = 0;  ///< share of held-out images that got their class
};

/// Something changed: a selection, a batch size, a learning rate.
struct Marker {
  std::uint64_t step = 0;
  double seconds = 0;
  std::string text;
};

enum class LogLevel : std::uint8_t { info, warning, error };

struct LogLine {
  LogLevel level = LogLevel::info;
  std::string text;
};

/// The training starts again from new weights: what came before belongs to another curve.
struct Restart {
  std::uint64_t generation = 0;
};

/// The training goes on where it was after `step` of generation `from`, whose points up to there are its own now.
struct Return {
  std::uint64_t generation = 0;
  std::uint64_t from = 0;
  std::uint64_t step = 0;
};

using FeedItem = std::variant<LossPoint, TestPoint, ProbePoint, Marker, LogLine, Restart, Return>;

/// One subscriber's queue.
class Feed {
 public:
  void push(const std::vector<FeedItem>& items) {
    const std::lock_guard lock(mutex_);
    items_.insert(items_.end(), items.begin(), items.end());
  }
  /// Everything that came since the last call.
  std::vector<FeedItem> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(items_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<FeedItem> items_;
};

}  // namespace warpscope::training
