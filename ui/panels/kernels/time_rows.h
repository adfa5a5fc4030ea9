#pragma once
// What the Time panel shows, without Dear ImGui: the calls of a step as lanes, the part of them that is seen,
// and the shares of families of ops over the run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/messages/snapshot.h"
#include "gpu/messages/step_calls.h"

namespace warpscope::ui {

/// Ops that have a colour of their own, in the order of a step.
enum class OpFamily : std::uint8_t {
  forward,           ///< products of the forward pass
  input_gradients,   ///< products
  weight_gradients,  ///< products
  elementwise,       ///< bias, ReLU, normalizations and their gradients
  resampling,        ///< pooling, upsampling and their gradients
  loss,
  update,  ///< what works on all parameters, and the record of the step
  data,    ///< gathers images and labels
};
constexpr std::size_t kFamilies = 8;

OpFamily family_of(ops::Op op);
/// "weight gradients"
std::string_view name_of(OpFamily family);

/// A part of the whole for each family.
using FamilyShares = std::array<double, kFamilies>;

/// The step as it is and as it was.
struct StepLanes {
  std::vector<training::StepCall> now;     ///< training::calls_of
  std::vector<training::StepCall> before;  ///< training::calls_before
  bool complete = false;                   ///< every call has a time
  /// What a step takes beyond the sum of its calls, by the images a second: launches, waiting. 0 if it is not
  /// known: calls lack times, several micro-batches make a step, or the sum is the larger one.
  double rest = 0;

  double now_end() const { return now.empty() ? 0 : now.back().end(); }
  double before_end() const { return before.empty() ? 0 : before.back().end(); }
  /// Microseconds of the longer lane, its rest included.
  double length() const;
};

/// Points into the snapshot.
StepLanes lanes_of(const training::Snapshot& snapshot);
/// Points into the timings. `step_microseconds`: of a whole step, by the images a second; 0 if that is not known.
StepLanes lanes_of(const std::vector<training::OpTiming>& timings, double step_microseconds);

/// The call at `microseconds` of a lane; nullptr if there is none.
const training::StepCall* call_at(const std::vector<training::StepCall>& lane, double microseconds);

FamilyShares shares_of(const std::vector<training::StepCall>& lane);

/// A family that has calls in the lane of now.
struct FamilyLegend {
  OpFamily family{};
  std::string share;  ///< "45.3 %"; "-" as long as there are calls without a time
};
std::vector<FamilyLegend> legend_of(const StepLanes& lanes);

/// The part of the step that is seen, in parts of its length: times change with every sample.
struct TimeWindow {
  double first = 0;
  double last = 1;

  /// Shows `factor` times as much (below 1: less), with the place `at` where it was.
  void zoom(double at, double factor);
  /// Moves by a part of the whole step, as far as there is something to see.
  void pan(double by);
};

/// What a tip says of a call, several lines; its share of the calls once all have a time. `before`: it is one of the
/// lane before the switch.
std::string tip_of(const training::StepCall& call, const StepLanes& lanes, bool before, bool on_gpu);

/// "1,234.5 µs", "12.3 ms"
std::string time_text(double microseconds);

/// The names of a call from the longest to the shortest: its place has room for one of them.
std::array<std::string, 3> labels_of(const training::StepCall& call, bool before);

/// Shares of the families over the run: at most kMost points, evenly thinned.
class ShareHistory {
 public:
  struct Point {
    std::uint64_t step = 0;
    FamilyShares shares{};
    bool switched = false;  ///< other variants ran than at the point before
  };
  static constexpr std::size_t kMost = 2000;

  /// Adds a point if the training is further than at the last one and every call has a time. A step behind the
  /// last one (rolled back) drops what lies ahead of it; another generation drops everything.
  void watch(const training::Snapshot& snapshot);
  const std::vector<Point>& points() const { return points_; }
  /// The newest point at or before `step`; nullptr if there is none.
  const Point* at(double step) const;

 private:
  void thin();

  std::vector<Point> points_;
  std::vector<std::string> running_;  ///< the variants at the last point
  std::uint64_t generation_ = 0;
  std::uint64_t stride_ = 1;  ///< fewest steps between two points
};

}  // namespace warpscope::ui
