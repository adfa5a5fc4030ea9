#pragma once
// The points of a run in memory, as series: one array a quantity, all of a table of one length.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/messages/feed.h"

namespace warpscope::runs {

/// One quantity; NaN where a point does not have it, or it was not finite.
struct Series {
  std::string name;
  std::vector<double> values;
};

/// Points in the order of their steps.
struct PointTable {
  std::vector<std::uint64_t> step;
  std::vector<double> epoch;    ///< NaN where the line has none
  std::vector<double> seconds;  ///< of training, pauses not counted; NaN where the line has none
  std::vector<Series> series;   ///< in the order in which they first appeared

  std::size_t size() const { return step.size(); }
  /// nullptr if there is none of that name.
  const Series* find(std::string_view name) const;
};

struct RunMarker {
  std::uint64_t step = 0;
  double seconds = 0;
  std::string text;
  bool anew = false;  ///< training::Marker::anew
};

/// One line of metrics.jsonl. A step's values have the names of their keys, but "loss" and "accuracy", and
/// those of a head, are "train_loss" and "train_accuracy", "train_head_loss" and "train_head_accuracy", and
/// "learning_rate" is "scheduled_rate". Where "images_per_second" is 0 it was not measured, and is NaN. A line is a
/// test if it names another "split" than "train", or has no "loss" but a key that ends in "_loss". The split is what is
/// named or stands before "_loss"; each value's name begins with it: "test_loss", "test_psnr", "validation_accuracy".
/// So a name means one thing in the whole run. Numbers, null (NaN), true (1) and false (0) are values; other keys are
/// left out.
struct MetricsLine {
  enum class Kind : std::uint8_t { step, test, marker };
  Kind kind = Kind::step;
  std::uint64_t step = 0;
  double epoch = 0;
  double seconds = 0;
  std::string marker;
  bool anew = false;  ///< of a marker
  std::vector<std::pair<std::string, double>> values;
};

/// The columns of a table that hold the metrics of a split.
class MetricColumns {
 public:
  MetricColumns(const PointTable& table, training::Split split);
  /// What the row holds of them.
  training::Point at(std::size_t row) const;
  /// True if it holds any.
  bool any(std::size_t row) const;

 private:
  const PointTable& table_;
  training::Split split_;
  std::array<const Series*, training::kMetrics> series_{};
  const Series* skipped_;
};

/// The tests in rows from `first` on: those of validation images before those of test images.
std::vector<training::Point> tests_of(const PointTable& table, std::size_t first = 0);

/// Reads a line into `line`. Returns what is wrong with it ("it is not JSON"), or "".
std::string parse_metrics_line(std::string_view text, MetricsLine& line);

struct RunPoints {
  PointTable steps;
  PointTable tests;
  std::vector<RunMarker> markers;
  std::uint64_t resets = 0;  ///< lines so far that said that the training began again

  /// Adds a line. The marker "reset" at step 0 says that the training began again from new weights: what was
  /// there is dropped, as run.json's figures leave it out too. A step that is not after the last one says
  /// that the training went back (to a checkpoint): it and the later ones are replaced. Returns true if
  /// anything was dropped.
  bool add(const MetricsLine& line);
  /// Leaves only the last step and the last test, for a reader that has taken the others.
  void keep_last();
};

}  // namespace warpscope::runs
