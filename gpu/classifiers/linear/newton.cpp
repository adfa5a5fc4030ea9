#include "gpu/classifiers/linear/newton.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "gpu/classifiers/columns.h"
#include "gpu/classifiers/linear/newton_rows.h"
#include "gpu/classifiers/linear/newton_state.h"
#include "gpu/core/phases.h"

namespace warpscope::classifiers::linear {
namespace {

constexpr int kMostBatch = 8;           // products between two looks at the device
constexpr double kBatchSeconds = 0.02;  // the same as time
constexpr double kDirectionTolerance = 0.1;
// A Newton direction of so many products of which less than this is gone was not worth them: the losses bend on the
// way.
constexpr int kManyProducts = 16;
constexpr double kShort = 0.5;
constexpr std::size_t kLeastWindow = 8;
constexpr double kRenewal = 0.1;  // of a gap: what the smoothed problem may leave before multipliers change

/// Pieces of one allocation.
class Pieces {
 public:
  /// Counts first (memory == nullptr), gives out afterwards.
  explicit Pieces(std::byte* memory) : memory_(memory) {}
  template <class T>
  void take(T*& to, std::int64_t count) {
    if (memory_ != nullptr) to = reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += core::aligned(static_cast<std::size_t>(count) * sizeof(T));
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

std::size_t lay_out(NewtonState& state, std::byte* memory) {
  Pieces pieces(memory);
  const std::int64_t weights = std::int64_t{state.problems} * state.width();
  const std::int64_t scores = state.rows * state.problems;
  for (double** vector :
       {&state.weights, &state.gradient, &state.direction, &state.residual, &state.conjugate, &state.sum}) {
    pieces.take(*vector, weights);
  }
  pieces.take(state.operand, weights);
  pieces.take(state.squares, state.width());
  if (state.loss.kind == LossKind::margin) {
    pieces.take(state.gradient_before, weights);
    pieces.take(state.moved, kPairs * weights);
    pieces.take(state.turned, kPairs * weights);
  }
  for (double** matrix : {&state.scores, &state.moves, &state.slopes}) pieces.take(*matrix, scores);
  for (float** matrix : {&state.product, &state.changes, &state.curvature}) pieces.take(*matrix, scores);
  if (state.loss.hinge) pieces.take(state.multipliers, scores);
  pieces.take(state.partial, std::int64_t{state.groups} * state.row_blocks * kSums);
  pieces.take(state.states, state.groups);
  int* labels = nullptr;
  pieces.take(labels, state.rows);
  state.labels = labels;
  return pieces.bytes();
}

class Solver {
 public:
  Solver(const Place& place, const FeatureMatrix& features, std::span<const int> problem_of, int problems,
         const NewtonOptions& options, const Watch& watch)
      : place_(place), options_(options), watch_(watch) {
    state_.features = features.values;
    state_.rows = features.rows;
    state_.columns = features.columns;
    state_.problems = problems;
    state_.groups = options.loss.kind == LossKind::softmax ? 1 : problems;
    state_.loss = options.loss;
    state_.tolerance = kDirectionTolerance;
    state_.row_blocks = count_row_blocks(features.rows);
    NewtonState counted = state_;
    memory_ = core::Buffer(place.device, lay_out(counted, nullptr));
    lay_out(state_, memory_.as<std::byte>());
    place.stream->fill(memory_.data(), 0, memory_.bytes());
    place.stream->copy(const_cast<int*>(state_.labels), problem_of.data(), problem_of.size() * sizeof(int));
    groups_.resize(static_cast<std::size_t>(state_.groups));
    reports_.resize(groups_.size());
    bounds_.assign(groups_.size(), -std::numeric_limits<double>::infinity());
    decreases_.assign(groups_.size(), 0.0);
    ratios_.assign(groups_.size(), 1.0);
    passed_.resize(groups_.size());
    for (GroupState& group : groups_) group.active = 1;
    put_groups();
    sum_squares(features);
    make_steps();
  }

  NewtonResult solve() {
    for (;;) {
      evaluate();
      judge();
      if (!anything_active() || !ended_.empty()) break;
      renew_multipliers();
      if (misled_) {
        step_by_memory();
        continue;
      }
      seek_direction();
      run({Step::project, Step::search, Step::move, Step::shift});
    }
    NewtonResult result;
    result.weights = core::download<double>(
        *place_.stream, state_.weights,
        static_cast<std::size_t>(state_.problems) * static_cast<std::size_t>(state_.width()));
    result.groups = reports_;
    result.ended = ended_;
    result.bytes = memory_.bytes();
    return result;
  }

 private:
  void make_steps() {
    if constexpr (core::kHaveCuda) {
      if (place_.device->kind() == core::DeviceKind::cuda) {
        steps_ = make_steps_cuda(place_, state_);
        return;
      }
    }
    steps_ = make_steps_loops(state_);
  }
  void sum_squares(const FeatureMatrix& features) {
    sum_columns(
        place_, features, nullptr, state_.sum,
        state_.squares);  // `sum` holds nothing yet; make_steps_cuda() takes the columns' sums from it
    const auto rows = static_cast<double>(features.rows);
    place_.stream->copy(state_.squares + features.columns, &rows, sizeof rows);
    place_.stream->synchronize();
  }
  void run(std::initializer_list<Step> steps) {
    for (const Step step : steps) steps_->run(step);
  }
  void put_groups() {
    place_.stream->copy(state_.states, groups_.data(), groups_.size() * sizeof(GroupState));
  }
  void get_groups() {
    place_.stream->copy(groups_.data(), state_.states, groups_.size() * sizeof(GroupState));
    place_.stream->synchronize();
    if (watch_.stop.stop_requested()) throw Cancelled();
  }
  bool anything_active() const {
    return std::ranges::any_of(groups_, [](const GroupState& group) { return group.active != 0; });
  }

  void evaluate() {
    run({Step::evaluate, Step::collect, Step::finish});
    get_groups();
  }

  /// How far each group is from its least objective, and which of them are done.
  void judge() {
    double least = 1;  // part of the way that the slowest has gone
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      GroupState& group = groups_[i];
      if (group.active == 0) continue;
      NewtonReport& report = reports_[i];
      const double before = report.objective;
      report.objective = 0.5 * group.weights2 + group.primal;
      report.gradient_norm = std::sqrt(group.gradient2);
      const double bound =
          state_.loss.hinge ? group.dual - 0.5 * group.sum2 : report.objective - 0.5 * group.gradient2;
      bounds_[i] = std::max(bounds_[i], bound);
      report.gap = report.objective - bounds_[i];
      const double expected = misled_ ? expect_by_memory(i) : expect(i, before);
      report.left = state_.loss.hinge ? report.gap : std::min(report.gap, expected);
      report.converged = report.left <= options_.tolerance * report.objective;
      const bool stays = report.iterations > 0 && group.step <= 0 && group.renew == 0;
      const bool stuck = stays && group.pairs == 0;
      if (stays) group.pairs = 0;  // the gradient by itself may still lead on
      if (report.converged || stuck) group.active = 0;
      if (stuck && !report.converged) {
        ended_ = fmt::format("no step decreases the objective any more at a gap of {:.3g}", report.gap);
      }
      if (!report.converged) least = std::min(least, part_of_way(i));
    }
    misled_ = misled_ || (state_.loss.kind == LossKind::margin && short_of_directions());
    if (anything_active() && products_ >= options_.most_products) {
      ended_ = fmt::format("the bound of {} products was reached", options_.most_products);
    }
    if (watch_.progress) watch_.progress(least, "solving");
  }

  /// What is left to gain if decreases go on as the last three did: a geometric series with the slower of their two
  /// ratios, and twice that, to be safe.
  double expect(std::size_t i, double before) {
    const double decrease = reports_[i].iterations > 0 ? before - reports_[i].objective : 0;
    // A step that was cut short decreases little and tells little.
    const bool tells = groups_[i].step >= 1 && decreases_[i] > 0 && decrease > 0;
    const double last = tells ? decrease / decreases_[i] : 1;
    const double ratio = std::max(last, std::exchange(ratios_[i], last));
    decreases_[i] = decrease;
    constexpr double kSlow = 0.9;
    return ratio < kSlow ? 2 * decrease * ratio / (1 - ratio) : std::numeric_limits<double>::infinity();
  }

  /// The same of quasi-Newton steps, of which each tells little: from the decreases in the last quarter of them and the
  /// quarter before, and twice as careful.
  double expect_by_memory(std::size_t i) {
    std::vector<double>& passed = passed_[i];
    passed.push_back(reports_[i].objective);
    const std::size_t window = std::max<std::size_t>(kLeastWindow, passed.size() / 4);
    if (passed.size() <= 2 * window) return std::numeric_limits<double>::infinity();
    const auto ago = [&](std::size_t n) { return passed[passed.size() - 1 - n]; };
    const double last = ago(window) - ago(0), earlier = ago(2 * window) - ago(window);
    if (!(earlier > 0) || !(last > 0) || last >= earlier) return std::numeric_limits<double>::infinity();
    return 4 * last * last / (earlier - last);
  }

  /// Whether the quadratic model of a long search for a direction was no good.
  bool short_of_directions() const {
    return std::ranges::any_of(groups_, [](const GroupState& group) {
      return group.active != 0 && group.products > kManyProducts && group.step < kShort;
    });
  }

  /// Two products with the features, and one pass over rows for each `probe`.
  void step_by_memory() {
    run({Step::follow, Step::project, Step::probe, Step::narrow, Step::probe, Step::narrow, Step::take,
         Step::shift});
    products_ += 2;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].active != 0) ++reports_[i].iterations;
    }
  }

  double part_of_way(std::size_t i) {
    const double relative =
        std::min(reports_[i].left, reports_[i].gap) / std::max(reports_[i].objective, 1e-300);
    if (reports_[i].iterations == 0 || first_gap_ < relative) first_gap_ = std::max(first_gap_, relative);
    const double all = std::log(first_gap_ / options_.tolerance),
                 left = std::log(relative / options_.tolerance);
    return all > 0 ? std::clamp(1 - left / all, 0.0, 1.0) : 0;
  }

  /// For the hinge: once a smoothed problem is solved well enough, it is smoothed around the multipliers found.
  void renew_multipliers() {
    if (!state_.loss.hinge) return put_groups();
    bool any = false;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      GroupState& group = groups_[i];
      const bool solved = 0.5 * group.gradient2 <= kRenewal * reports_[i].gap || group.step <= 0;
      group.renew = group.active != 0 && reports_[i].iterations > 0 && solved ? 1 : 0;
      if (group.renew != 0) group.pairs = group.started = 0;  // those were of another objective
      any = any || group.renew != 0;
    }
    put_groups();
    if (!any) return;
    run({Step::remember});
    evaluate();
  }

  void seek_direction() {
    run({Step::begin});
    int batch = 1;
    bool done = false;
    while (!done) {
      const auto start = core::Clock::now();
      for (int n = 0; n < batch; ++n) {
        run({Step::multiply, Step::curve, Step::gather, Step::advance});
      }
      get_groups();
      const double seconds = core::seconds_since(start);
      products_ += batch;
      batch = std::clamp(static_cast<int>(kBatchSeconds * batch / std::max(seconds, 1e-9)), 1, kMostBatch);
      done = std::ranges::all_of(groups_, [](const GroupState& group) { return group.done != 0; });
      done = done || products_ >= options_.most_products;
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].active == 0) continue;
      ++reports_[i].iterations;
      reports_[i].products += groups_[i].products;
    }
  }

  Place place_;
  NewtonOptions options_;
  Watch watch_;
  NewtonState state_;
  core::Buffer memory_;
  std::unique_ptr<Steps> steps_;
  std::vector<GroupState> groups_;
  std::vector<NewtonReport> reports_;
  std::vector<double> bounds_;               // the best lower bound of each group
  std::vector<double> decreases_;            // of the objective of each group by its last step
  std::vector<double> ratios_;               // of the last two of them
  std::vector<std::vector<double>> passed_;  // objectives of each group since quasi-Newton steps began
  bool misled_ = false;                      // quasi-Newton steps now take the place of Newton's
  double first_gap_ = 0;
  int products_ = 0;
  std::string ended_;
};

}  // namespace

NewtonResult solve_newton(const Place& place, const FeatureMatrix& features, std::span<const int> problem_of,
                          int problems, const NewtonOptions& options, const Watch& watch) {
  return Solver(place, features, problem_of, problems, options, watch).solve();
}

std::vector<double> linear_scores(const Place& place, const FeatureMatrix& features,
                                  const std::vector<double>& weights, int problems) {
  std::vector<double> scores(static_cast<std::size_t>(features.rows) * static_cast<std::size_t>(problems));
  if constexpr (core::kHaveCuda) {
    if (place.device->kind() == core::DeviceKind::cuda) {
      multiply_rows_cuda(place, features, weights, problems, scores);
      return scores;
    }
  }
  multiply_rows_loops(features.values, features.rows, features.columns, weights.data(), problems,
                      scores.data());
  return scores;
}

}  // namespace warpscope::classifiers::linear
