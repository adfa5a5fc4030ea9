// The forces of t-SNE and UMAP against double-precision formulas, on the CPU and, where there is one, on a GPU.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/random.h"
#include "gpu/maps/stepped_map.h"
#include "gpu/maps/tsne_step.h"
#include "gpu/maps/umap_step.h"
#include "tests/support/device_case.h"

namespace warpscope::maps::step_test {
namespace {

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

/// A random symmetric graph of `points` with weights in (0, 1), every sixth pair an edge; point 0 has none.
struct RandomGraph {
  explicit RandomGraph(int points) {
    starts.push_back(0);
    for (int i = 0; i < points; ++i) {
      for (int j = 0; j < points; ++j) {
        const auto pair = static_cast<std::uint64_t>(std::min(i, j) * points + std::max(i, j));
        if (i == j || i == 0 || j == 0 || core::random_bits(1, pair) % 6 != 0) continue;
        columns.push_back(j);
        weights.push_back(static_cast<float>(core::random_unit(2, pair)));
      }
      starts.push_back(static_cast<int>(columns.size()));
    }
    columns.push_back(0);  // no empty buffer; beyond the last start
    weights.push_back(0);
  }
  double sum() const {
    double all = 0;
    for (const float weight : weights) all += static_cast<double>(weight);
    return all;
  }
  std::vector<int> starts;
  std::vector<int> columns;
  std::vector<float> weights;
};

std::vector<float> random_points(int points, double width, std::uint64_t seed) {
  std::vector<float> made(2 * static_cast<std::size_t>(points));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<float>(width * random_normal(seed, i));
  return made;
}

double squared(const std::vector<double>& y, std::size_t i, std::size_t j) {
  const double dx = y[2 * i] - y[2 * j], dy = y[2 * i + 1] - y[2 * j + 1];
  return dx * dx + dy * dy;
}

/// KL(P || Q) by its definition.
double divergence(const RandomGraph& p, const std::vector<double>& y) {
  const std::size_t points = y.size() / 2;
  double normalizer = 0;
  for (std::size_t i = 0; i < points; ++i) {
    for (std::size_t j = 0; j < points; ++j) normalizer += i == j ? 0 : 1 / (1 + squared(y, i, j));
  }
  double sum = 0;
  for (std::size_t i = 0; i < points; ++i) {
    for (auto e = static_cast<std::size_t>(p.starts[i]); e < static_cast<std::size_t>(p.starts[i + 1]); ++e) {
      const auto weight = static_cast<double>(p.weights[e]);
      const double q = 1 / (1 + squared(y, i, static_cast<std::size_t>(p.columns[e]))) / normalizer;
      sum += weight * std::log(weight / q);
    }
  }
  return sum;
}

struct Forces {
  std::vector<float> attraction;
  std::vector<float> repulsion;
  double normalizer = 0;
  double attraction_sum = 0;

  double gradient(std::size_t i, double exaggeration = 1) const {
    return 4 * (exaggeration * static_cast<double>(attraction[i]) -
                static_cast<double>(repulsion[i]) / normalizer);
  }
};

class MapSteps : public warpscope::tests::DeviceCase {
 protected:
  core::Buffer up(const std::vector<float>& values) {
    return uploaded(values.data(), values.size() * sizeof(float));
  }
  core::Buffer up(const std::vector<int>& values) {
    return uploaded(values.data(), values.size() * sizeof(int));
  }
  std::vector<float> down(const float* from, std::size_t count) {
    std::vector<float> values(count);
    stream_->copy(values.data(), from, count * sizeof(float));
    stream_->synchronize();
    return values;
  }

  /// What the device finds, and, if asked, where `step` brings the points and their velocities and gains.
  Forces forces(const RandomGraph& graph, const std::vector<float>& points, const TsneStep* step = nullptr,
                std::vector<float>* state = nullptr) {
    const std::size_t count = points.size();
    TsneMemory memory;
    memory.points = static_cast<int>(count / 2);
    memory.chunks = repulsion_chunks(device_->info(), memory.points);
    const auto blocks = static_cast<std::size_t>(point_blocks(memory.points));
    const core::Buffer starts = up(graph.starts), columns = up(graph.columns), weights = up(graph.weights);
    std::vector<float> values = points;  // positions, velocities, gains, attraction, repulsion
    if (state != nullptr)
      values.insert(values.end(), state->begin() + static_cast<std::ptrdiff_t>(count), state->end());
    values.resize(5 * count, kPoison);
    const core::Buffer all = up(values);
    const core::Buffer partial =
        up(std::vector<float>(3 * count * static_cast<std::size_t>(memory.chunks), kPoison));
    const core::Buffer sums = up(std::vector<float>(blocks * sizeof(PairSums) / sizeof(float), kPoison));
    memory.starts = starts.as<int>();
    memory.columns = columns.as<int>();
    memory.affinities = weights.as<float>();
    memory.positions = all.as<float>();
    memory.velocities = memory.positions + count;
    memory.gains = memory.velocities + count;
    memory.attraction = memory.gains + count;
    memory.repulsion = memory.attraction + count;
    memory.sums = sums.as<PairSums>();
    memory.partial = partial.as<float>();
    find_forces(*device_, *stream_, memory);
    if (step != nullptr) {
      move_points(*device_, *stream_, memory, *step);
      *state = down(memory.positions, 3 * count);
    }
    Forces found{down(memory.attraction, count), down(memory.repulsion, count)};
    std::vector<PairSums> of_blocks(blocks);
    stream_->copy(of_blocks.data(), sums.data(), blocks * sizeof(PairSums));
    stream_->synchronize();
    for (const PairSums& one : of_blocks) {
      found.normalizer += one.normalizer;
      found.attraction_sum += one.attraction;
    }
    return found;
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, MapSteps, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param; });

TEST_P(MapSteps, ForcesOfTsneAreThoseOfTheFormulas) {
  for (const int points : {3, 8, 127, 513, 1300}) {
    for (const double width : {1e-4, 1.0, 30.0}) {
      const RandomGraph graph(points);
      const std::vector<float> y = random_points(points, width, 4);
      const std::vector<double> exact(y.begin(), y.end());
      const Forces found = forces(graph, y);
      double normalizer = 0, attraction_sum = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(points); ++i) {
        double pull[2] = {}, push[2] = {}, pulled = 0, pushed = 0;
        for (std::size_t j = 0; j < static_cast<std::size_t>(points); ++j) {
          if (i == j) continue;
          const double q = 1 / (1 + squared(exact, i, j));
          normalizer += q;
          for (std::size_t d = 0; d < 2; ++d) {
            const double force = q * q * (exact[2 * i + d] - exact[2 * j + d]);
            push[d] += force;
            pushed += std::abs(force);
          }
        }
        for (auto e = static_cast<std::size_t>(graph.starts[i]);
             e < static_cast<std::size_t>(graph.starts[i + 1]); ++e) {
          const auto j = static_cast<std::size_t>(graph.columns[e]);
          const auto p = static_cast<double>(graph.weights[e]);
          attraction_sum += p * std::log1p(squared(exact, i, j));
          for (std::size_t d = 0; d < 2; ++d) {
            const double force = p / (1 + squared(exact, i, j)) * (exact[2 * i + d] - exact[2 * j + d]);
            pull[d] += force;
            pulled += std::abs(force);
          }
        }
        for (std::size_t d = 0; d < 2; ++d) {
          ASSERT_NEAR(found.repulsion[2 * i + d], push[d], 1e-5 * pushed)
              << points << " " << width << " " << i;
          ASSERT_NEAR(found.attraction[2 * i + d], pull[d], 1e-5 * pulled)
              << points << " " << width << " " << i;
        }
      }
      ASSERT_NEAR(found.normalizer, normalizer, 1e-5 * (normalizer + points)) << points << " " << width;
      ASSERT_NEAR(found.attraction_sum, attraction_sum, 1e-5 * attraction_sum) << points << " " << width;
    }
  }
}

TEST_P(MapSteps, GradientOfTsneIsTheSlopeOfTheDivergence) {
  const int points = 40;
  RandomGraph graph(points);
  const double sum = graph.sum();
  for (float& weight : graph.weights) weight = static_cast<float>(static_cast<double>(weight) / sum);
  const std::vector<float> y = random_points(points, 1.0, 5);
  const Forces found = forces(graph, y);
  std::vector<double> exact(y.begin(), y.end());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    constexpr double kStep = 1e-5;
    const double here = exact[i];
    exact[i] = here + kStep;
    const double above = divergence(graph, exact);
    exact[i] = here - kStep;
    const double below = divergence(graph, exact);
    exact[i] = here;
    ASSERT_NEAR(found.gradient(i), (above - below) / (2 * kStep), 1e-6) << i;
  }
}

TEST_P(MapSteps, TsneMovesByTheRuleOfGainsAndMomentum) {
  const int points = 61;
  RandomGraph graph(points);
  const double sum = graph.sum();
  for (float& weight : graph.weights) weight = static_cast<float>(static_cast<double>(weight) / sum);
  const std::vector<float> y = random_points(points, 2.0, 6);
  std::vector<float> state = y;
  const std::vector<float> velocities = random_points(points, 0.1, 7);
  state.insert(state.end(), velocities.begin(), velocities.end());
  for (std::size_t i = 0; i < y.size(); ++i)
    state.push_back(i % 7 == 0 ? 0.011f : 1.0f + 0.1f * static_cast<float>(i % 5));
  const std::vector<float> before = state;
  const TsneStep step{12.0f, 0.5f, 50.0f};
  const Forces found = forces(graph, y, &step, &state);
  int fell = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double gradient = found.gradient(i, 12.0);
    const auto velocity = static_cast<double>(before[y.size() + i]);
    const auto gain_before = static_cast<double>(before[2 * y.size() + i]);
    const bool same_way = velocity * gradient < 0;
    const double gain = std::max(0.01, same_way ? gain_before + 0.2 : gain_before * 0.8);
    fell += same_way ? 0 : 1;
    const double next = 0.5 * velocity - 50.0 * gain * gradient;
    ASSERT_NEAR(state[2 * y.size() + i], gain, 1e-6);
    ASSERT_NEAR(state[y.size() + i], next, 1e-4 * std::abs(next) + 1e-5);
    ASSERT_NEAR(state[i], static_cast<double>(y[i]) + next, 1e-4 * std::abs(next) + 1e-5);
  }
  EXPECT_GT(fell, 10);
  EXPECT_LT(fell, 2 * points - 10);
}

double clip(double force) {
  return std::clamp(force, -4.0, 4.0);
}

/// A step of UMAP by its formulas; `due` counts the edges that attracted.
std::vector<double> umap_reference(const RandomGraph& graph, const std::vector<float>& y,
                                   const UmapStep& step, int& due) {
  std::vector<double> after(y.begin(), y.end());
  const std::vector<double> before = after;
  const std::size_t points = y.size() / 2;
  const auto push = [&](std::size_t i, std::size_t j, bool together, double* sum) {
    const double d2 = squared(before, i, j);
    if (d2 <= 0) return;
    const double a = static_cast<double>(step.a), b = static_cast<double>(step.b);
    const double power = std::pow(d2, b);
    const double scale = together
                             ? -2 * a * b * std::pow(d2, b - 1) / (1 + a * power)
                             : 2 * static_cast<double>(step.repulsion) * b / ((0.001 + d2) * (1 + a * power));
    for (std::size_t d = 0; d < 2; ++d) {
      sum[d] += (together ? 2 : 1) * clip(scale * (before[2 * i + d] - before[2 * j + d]));
    }
  };
  for (std::size_t i = 0; i < points; ++i) {
    double sum[2] = {};
    for (int e = graph.starts[i]; e < graph.starts[i + 1]; ++e) {
      const double times = step.epoch * static_cast<double>(graph.weights[static_cast<std::size_t>(e)]);
      const double times_before =
          (step.epoch - 1) * static_cast<double>(graph.weights[static_cast<std::size_t>(e)]);
      if (std::floor(times) == std::floor(times_before)) continue;
      ++due;
      push(i, static_cast<std::size_t>(graph.columns[static_cast<std::size_t>(e)]), true, sum);
      for (int s = 0; s < step.negative_samples; ++s) {
        const std::uint64_t counter =
            (static_cast<std::uint64_t>(step.epoch) * static_cast<std::uint64_t>(graph.starts[points]) +
             static_cast<std::uint64_t>(e)) *
                static_cast<std::uint64_t>(step.negative_samples) +
            static_cast<std::uint64_t>(s);
        const std::uint64_t bits = core::random_bits(step.seed, counter) >> 32;
        const auto k = static_cast<std::size_t>(bits * points >> 32);
        if (k != i) push(i, k, false, sum);
      }
    }
    for (std::size_t d = 0; d < 2; ++d) after[2 * i + d] += static_cast<double>(step.learning_rate) * sum[d];
  }
  return after;
}

TEST_P(MapSteps, UmapMovesByTheFormulas) {
  for (const int points : {3, 50, 257}) {
    const RandomGraph graph(points);
    const std::vector<float> y = random_points(points, 3.0, 9);
    const core::Buffer starts = up(graph.starts), columns = up(graph.columns), rates = up(graph.weights);
    const core::Buffer before = up(y), after = up(std::vector<float>(y.size(), kPoison));
    UmapStep step;
    step.a = 1.577f;
    step.b = 0.895f;
    step.repulsion = 1.25f;
    step.learning_rate = 0.7f;
    step.seed = 11;
    int due = 0;
    for (step.epoch = 1; step.epoch < 6; ++step.epoch) {
      move_along_edges(*device_, *stream_,
                       {points, starts.as<int>(), columns.as<int>(), rates.as<float>(), before.as<float>(),
                        after.as<float>()},
                       step);
      const std::vector<double> wanted = umap_reference(graph, y, step, due);
      const std::vector<float> found = down(after.as<float>(), y.size());
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 2e-3) << points << " " << i;
    }
    EXPECT_GT(due, points > 3 ? points : -1);
  }
}

TEST_P(MapSteps, PartsOfAnEpochOfUmapTakeEachDueEdgeOnce) {
  const int points = 120;
  const RandomGraph graph(points);
  const std::vector<float> y = random_points(points, 3.0, 10);
  const core::Buffer starts = up(graph.starts), columns = up(graph.columns), rates = up(graph.weights);
  const core::Buffer before = up(y), after = up(y);
  const UmapMemory memory{
      points, starts.as<int>(), columns.as<int>(), rates.as<float>(), before.as<float>(), after.as<float>()};
  UmapStep step;
  step.seed = 5;
  step.epoch = 3;
  move_along_edges(*device_, *stream_, memory, step);
  const std::vector<float> whole = down(memory.after, y.size());
  // From the same positions, the parts' moves add up to that of the epoch.
  std::vector<double> sum(y.begin(), y.end());
  step.parts = 4;
  int moved = 0;
  for (step.part = 0; step.part < step.parts; ++step.part) {
    move_along_edges(*device_, *stream_, memory, step);
    const std::vector<float> part = down(memory.after, y.size());
    moved += part != y ? 1 : 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      sum[i] += static_cast<double>(part[i]) - static_cast<double>(y[i]);
  }
  EXPECT_EQ(moved, 4);
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(whole[i], sum[i], 1e-3) << i;
}

TEST(UmapCurve, IsTheOneThatUmapLearnFits) {
  // umap-learn's find_ab_params(spread, min_dist).
  const Curve usual = fit_curve(0.1, 1.0);
  EXPECT_NEAR(usual.a, 1.57694346, 1e-5);
  EXPECT_NEAR(usual.b, 0.89506088, 1e-5);
  const Curve tight = fit_curve(0.001, 1.0);
  EXPECT_NEAR(tight.a, 1.92907, 1e-4);
  EXPECT_NEAR(tight.b, 0.79150, 1e-4);
  const Curve wide = fit_curve(0.5, 2.0);
  EXPECT_NEAR(wide.a, 0.25887874, 1e-5);
  EXPECT_NEAR(wide.b, 1.05749970, 1e-5);
}

}  // namespace
}  // namespace warpscope::maps::step_test
