#pragma once
// Feeds carry every point, marker, log line and kept view from the trainer to each subscriber (the window, the run
// folder, the progress bar), in order and without loss. The trainer never waits for a subscriber.

#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/messages/kept_view.h"
#include "gpu/messages/metrics.h"

namespace warpscope::training {

/// What was measured at one step: of its batch, or of held-out images after it. Times are taken by the device at the
/// end of the step.
struct Point {
  std::uint64_t step = 0;  ///< from 1: the number of steps done
  double epoch = 0;
  double seconds = 0;  ///< of training, pauses not counted
  Split split = Split::train;
  bool skipped = false;  ///< the step's gradients overflowed: the weights stayed as they were
  MetricValues values = {};

  float& operator[](Metric metric) { return values[metric]; }
  float operator[](Metric metric) const { return values[metric]; }
  /// What the latents were worth to a small classifier (gpu/observers/feature_prober.cpp), and no evaluation.
  bool is_probe() const { return !std::isnan(values[Metric::feature_accuracy]); }
};

/// Something changed: a selection, a batch size, a learning rate.
struct Marker {
  std::uint64_t step = 0;
  double seconds = 0;
  std::string text;
  bool anew = false;  ///< earlier weights came back: the later steps do not follow from the last ones
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

using FeedItem = std::variant<Point, Marker, LogLine, Restart, Return, KeptView>;

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
