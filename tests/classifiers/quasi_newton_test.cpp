// Quasi-Newton steps of the linear solver: a team of threads does what a single one does, and both find minima.

#include "gpu/classifiers/linear/quasi_newton.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::classifiers::linear::quasi_newton_test {
namespace {

/// One of several threads that work as a block of a GPU does.
struct Crew {
  struct Shared {
    std::barrier<> barrier;
    std::vector<double> values;
  };
  Shared* shared;
  int rank_, size_;

  int rank() const { return rank_; }
  int size() const { return size_; }
  void wait() const { shared->barrier.arrive_and_wait(); }
  template <int N>
  void sum(double (&values)[N]) const {
    for (int n = 0; n < N; ++n) shared->values[static_cast<std::size_t>(rank_ * kSteps + n)] = values[n];
    wait();
    for (int n = 0; n < N; ++n) {
      values[n] = 0;
      for (int r = 0; r < size_; ++r) values[n] += shared->values[static_cast<std::size_t>(r * kSteps + n)];
    }
    wait();
  }
};

struct Alone {
  static int rank() { return 0; }
  static int size() { return 1; }
  static void wait() {}
  template <int N>
  static void sum(double (&)[N]) {}
};

/// A problem of each size that the solver's state needs, in memory of its own.
class Workbench {
 public:
  Workbench(std::int64_t rows, int columns, int problems)
      : features_(static_cast<std::size_t>(rows * columns)) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    state_.rows = rows;
    state_.columns = columns;
    state_.problems = state_.groups = problems;
    state_.loss = {LossKind::margin, 1, 2, std::numeric_limits<double>::infinity(), false};
    state_.row_blocks = count_row_blocks(rows);
    for (std::size_t i = 0; i < features_.size(); ++i) {
      const auto column = static_cast<float>(i % static_cast<std::size_t>(columns));
      features_[i] = normal(random) / (1 + 0.5f * column);
    }
    for (std::int64_t row = 0; row < rows; ++row) labels_.push_back(static_cast<int>(random() % 3u));
    state_.features = features_.data();
    state_.labels = labels_.data();
    const std::size_t weights = static_cast<std::size_t>(problems * state_.width());
    const auto scores = static_cast<std::size_t>(rows * problems);
    for (double** vector : {&state_.weights, &state_.gradient, &state_.direction, &state_.sum,
                            &state_.squares, &state_.gradient_before}) {
      *vector = room(weights);
    }
    state_.moved = room(kPairs * weights);
    state_.turned = room(kPairs * weights);
    for (double** matrix : {&state_.scores, &state_.moves, &state_.slopes}) *matrix = room(scores);
    state_.partial = room(static_cast<std::size_t>(problems * state_.row_blocks * kSums));
    curvature_.resize(scores);
    state_.curvature = curvature_.data();
    groups_.resize(static_cast<std::size_t>(problems));
    state_.states = groups_.data();
    for (GroupState& group : groups_) group.active = 1;
    std::fill_n(state_.squares, state_.width(), static_cast<double>(rows));
  }

  /// One step of all groups, with the threads that `team` stands for.
  void step(const std::function<void(const std::function<void(const Crew&)>&)>& crew) {
    evaluate();
    const auto each = [&](auto body) {
      for (int k = 0; k < state_.problems; ++k) {
        if (!crew) {
          body(Alone{}, k);
        } else {
          crew([&](const Crew& one) { body(one, k); });
        }
      }
    };
    each([&](const auto& team, int k) { finish(team, state_, k); });
    each([&](const auto& team, int k) { follow(team, state_, k); });
    multiply(state_.direction, state_.moves);
    for (int round = 0; round < 2; ++round) {
      each([&](const auto& team, int k) {
        for (int block = 0; block < state_.row_blocks; ++block) probe_margin(team, state_, block, k);
      });
      each([&](const auto& team, int k) { narrow(team, state_, k); });
    }
    each([&](const auto& team, int k) { take(team, state_, k); });
    for (std::int64_t row = 0; row < state_.rows; ++row) shift_row(state_, row);
  }
  double objective(int k) const {
    const GroupState& group = groups_[static_cast<std::size_t>(k)];
    return 0.5 * group.weights2 + group.primal;
  }
  const GroupState& group(int k) const { return groups_[static_cast<std::size_t>(k)]; }
  std::vector<double> weights() const {
    return {state_.weights, state_.weights + state_.problems * state_.width()};
  }

 private:
  double* room(std::size_t count) {
    memory_.emplace_back(count);
    return memory_.back().data();
  }
  void multiply(const double* weights, double* scores) {
    for (std::int64_t row = 0; row < state_.rows; ++row) {
      for (int k = 0; k < state_.problems; ++k) {
        const double* const w = weights + k * state_.width();
        double sum = w[state_.columns];
        for (int j = 0; j < state_.columns; ++j) {
          sum += w[j] * static_cast<double>(state_.features[row * state_.columns + j]);
        }
        scores[row * state_.problems + k] = sum;
      }
    }
  }
  /// Slopes, and `sum` = X^T slopes.
  void evaluate() {
    for (int k = 0; k < state_.problems; ++k) {
      for (int block = 0; block < state_.row_blocks; ++block) evaluate_margin(Alone{}, state_, block, k);
    }
    std::fill_n(state_.sum, state_.problems * state_.width(), 0.0);
    for (std::int64_t row = 0; row < state_.rows; ++row) {
      for (int k = 0; k < state_.problems; ++k) {
        const double slope = state_.slopes[row * state_.problems + k];
        double* const to = state_.sum + k * state_.width();
        for (int j = 0; j < state_.columns; ++j) {
          to[j] += slope * static_cast<double>(state_.features[row * state_.columns + j]);
        }
        to[state_.columns] += slope;
      }
    }
  }

  NewtonState state_;
  std::vector<float> features_, curvature_;
  std::vector<int> labels_;
  std::vector<std::vector<double>> memory_;
  std::vector<GroupState> groups_;
};

void as_crew(int size, const std::function<void(const Crew&)>& body) {
  Crew::Shared shared{std::barrier<>(size), std::vector<double>(static_cast<std::size_t>(size * kSteps))};
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) threads.emplace_back([&, rank] { body({&shared, rank, size}); });
}

TEST(QuasiNewton, ATeamOfThreadsTakesTheStepsOfASingleOne) {
  Workbench single(1100, 40, 3), team(1100, 40, 3);
  for (int n = 0; n < 14; ++n) {  // more than are remembered
    single.step({});
    team.step([](const auto& body) { as_crew(4, body); });
    const auto a = single.weights(), b = team.weights();
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], 1e-7 * (1 + std::abs(a[i]))) << "step " << n << ", weight " << i;
    }
    ASSERT_EQ(single.group(1).pairs, team.group(1).pairs);
  }
  EXPECT_GE(single.group(0).pairs, kPairs);
}

TEST(QuasiNewton, EachStepDecreasesTheObjectiveUntilItsGradientIsAlmostZero) {
  Workbench bench(400, 12, 2);
  double before = std::numeric_limits<double>::infinity();
  double first_gradient = 0;
  for (int n = 0; n < 60; ++n) {
    bench.step({});
    EXPECT_LE(bench.objective(0), before * (1 + 1e-12)) << "step " << n;
    before = bench.objective(0);
    if (n == 0) first_gradient = bench.group(0).gradient2;
  }
  EXPECT_LT(bench.group(0).gradient2, 1e-10 * first_gradient);
}

}  // namespace
}  // namespace warpscope::classifiers::linear::quasi_newton_test
