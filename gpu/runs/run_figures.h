#pragma once
// The figures of a run, taken from its points: the only place where they are computed.

#include <array>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "gpu/messages/feed.h"
#include "gpu/messages/run_figures.h"
#include "gpu/runs/run_points.h"
#include "gpu/runs/running_median.h"

namespace warpscope::training {

/// A JSON number of nine digits, which give a float back as it is; "null" for what JSON cannot hold (NaN, infinity).
std::string written_number(double value);
/// With the digits of metrics.jsonl, as run.json and lists of runs tell them; NaN for what is not finite.
RunFigures as_written(RunFigures figures);

/// What a line of metrics.jsonl tells, as the feed told it; a Restart has no number. Nothing if it tells nothing.
std::optional<FeedItem> item_of(const nlohmann::json& line);

/// Gathers the points of a run, in their order.
class FigureTally {
 public:
  /// The mean train loss and accuracy are taken of so many.
  static constexpr std::size_t kFinalSteps = 50;

  /// The mean over the last steps.
  struct Recent {
    std::array<float, kFinalSteps> values{};
    std::size_t count = 0;
    void add(float value) { values[count++ % kFinalSteps] = value; }
    double mean() const;
  };
  /// How far it was at one moment.
  struct Mark {
    RunFigures figures;
    Recent losses, accuracies;
    std::size_t speeds = 0;
  };

  FigureTally() = default;
  /// All points of a run that was read.
  explicit FigureTally(const runs::RunPoints& points);

  void note(const Point& point);
  /// For what else a feed holds only a restart counts: it begins anew.
  void note(const FeedItem& item);
  /// A line of metrics.jsonl, of a run that is gone on with. What it lacks counts as not a number.
  void note(const nlohmann::json& line);
  /// The training started again from new weights.
  void reset();
  /// A few hundred bytes, however many the points: all that back_to() needs.
  Mark mark() const { return {figures_, losses_, accuracies_, speeds_.size()}; }
  /// What came since counts no more.
  void back_to(const Mark& mark);
  /// As far as the points tell.
  RunFigures figures() const;

 private:
  void note_step(const Point& point);

  RunFigures figures_;
  Recent losses_, accuracies_;
  RunningMedian speeds_;
};

}  // namespace warpscope::training
