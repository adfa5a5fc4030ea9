#pragma once
// The figures of a run, taken from its points: the only place where they are computed.

#include <array>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "gpu/messages/feed.h"
#include "gpu/messages/run_figures.h"
#include "gpu/runs/run_points.h"
#include "gpu/runs/running_median.h"

namespace warpscope::training {

/// Gathers the points of a run, in their order.
class FigureTally {
 public:
  FigureTally() = default;
  /// All points of a run that was read.
  explicit FigureTally(const runs::RunPoints& points);

  void note(const LossPoint& point);
  void note(const TestPoint& test);
  /// For what else a feed holds only a restart counts: it begins anew.
  void note(const FeedItem& item);
  /// A line of metrics.jsonl, of a run that is gone on with. What it lacks counts as not a number.
  void note(const nlohmann::json& line);
  /// The training started again from new weights.
  void reset();
  /// As far as the points tell.
  RunFigures figures() const;
  /// A network that classifies has no PSNR, another has no accuracy, whatever the points hold there.
  RunFigures figures(bool classifies) const;

 private:
  void note_tests(const runs::PointTable& table, Split split);

  static constexpr std::size_t kFinalSteps = 50;
  /// The mean over the last steps.
  struct Recent {
    std::array<float, kFinalSteps> values{};
    std::size_t count = 0;
    void add(float value) { values[count++ % kFinalSteps] = value; }
    double mean() const;
  };

  RunFigures figures_;
  Recent losses_, accuracies_;
  RunningMedian speeds_;
};

}  // namespace warpscope::training
