// The arithmetic that the CUDA kernels of the RBF SVM share with the CPU: split rows, kernel values, and the steps of
// the solver, run here as a block of threads runs them.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/classifiers/rbf_svm/batches.h"
#include "gpu/classifiers/rbf_svm/pair_check.h"
#include "gpu/classifiers/rbf_svm/sigmoid.h"
#include "gpu/classifiers/rbf_svm/smo_step.h"
#include "gpu/classifiers/rbf_svm/split_rows.h"
#include "gpu/classifiers/rbf_svm/working_set.h"
#include "gpu/core/random.h"
#include "gpu/ops/host_values.h"
#include "tests/classifiers/svm_reference.h"

namespace warpscope::classifiers::rbf::smo_steps_test {
namespace {

using svm_reference::HostData;
using svm_reference::make_data;

float fp16(float value) {
  const double one = static_cast<double>(value);
  return static_cast<float>(
      ops::decode(ops::encode({&one, 1}, core::ElementType::f16), core::ElementType::f16)[0]);
}

/// Rows as split_rows.h has them, on the host.
struct Split {
  int columns = 0;
  int exponent = 0;
  std::vector<float> high;
  std::vector<float> low;
};

Split split(const HostData& data) {
  Split rows;
  rows.columns = data.columns;
  std::vector<double> means(static_cast<std::size_t>(data.columns), 0.0);
  for (std::size_t at = 0; at < data.values.size(); ++at)
    means[at % means.size()] += static_cast<double>(data.values[at]) / static_cast<double>(data.rows());
  double largest = 0;
  for (std::size_t at = 0; at < data.values.size(); ++at)
    largest = std::max(largest, std::abs(static_cast<double>(data.values[at]) - means[at % means.size()]));
  rows.exponent = exponent_for(largest);
  for (std::size_t at = 0; at < data.values.size(); ++at) {
    const double difference = static_cast<double>(data.values[at]) - means[at % means.size()];
    const auto value = static_cast<float>(std::ldexp(difference, rows.exponent));
    rows.high.push_back(fp16(value));
    rows.low.push_back(fp16(value - rows.high.back()));
  }
  return rows;
}

/// Tensor cores add 16 exact products to a sum and cut off what does not fit it.
float add_products(float sum, std::span<const float> x, std::span<const float> y) {
  double exact = static_cast<double>(sum);
  for (std::size_t k = 0; k < x.size(); ++k) exact += static_cast<double>(x[k]) * static_cast<double>(y[k]);
  const auto next = static_cast<float>(exact);
  return std::abs(static_cast<double>(next)) > std::abs(exact) ? std::nextafter(next, 0.0f) : next;
}

/// As the kernel multiplies: for each 16 columns three products, FP32 sums of 256 columns, these added in FP32.
float split_product(const Split& rows, std::size_t a, std::size_t b) {
  const auto columns = static_cast<std::size_t>(rows.columns);
  const auto part = [&](const std::vector<float>& values, std::size_t row, std::size_t c) {
    return std::span(values).subspan(row * columns + c, std::min<std::size_t>(16, columns - c));
  };
  float total = 0;
  float sum = 0;
  for (std::size_t c = 0; c < columns; c += 16) {
    sum = add_products(sum, part(rows.high, a, c), part(rows.low, b, c));
    sum = add_products(sum, part(rows.high, a, c), part(rows.high, b, c));
    sum = add_products(sum, part(rows.low, a, c), part(rows.high, b, c));
    if (c % 256 == 240 || c + 16 >= columns) {
      total += sum;
      sum = 0;
    }
  }
  return total;
}

float split_distance(const Split& rows, std::size_t a, std::size_t b) {
  const float squares = split_product(rows, a, a) + split_product(rows, b, b);
  return std::max(0.0f, squares - 2.0f * split_product(rows, a, b));
}

double exact_distance(const HostData& data, std::size_t a, std::size_t b) {
  double sum = 0;
  for (int c = 0; c < data.columns; ++c) {
    const double difference = static_cast<double>(data.row(static_cast<std::int64_t>(a))[c]) -
                              static_cast<double>(data.row(static_cast<std::int64_t>(b))[c]);
    sum += difference * difference;
  }
  return sum;
}

/// Squares of centred rows in double.
struct Centred {
  std::vector<double> squares;

  explicit Centred(const HostData& data) : squares(data.labels.size(), 0.0) {
    for (int c = 0; c < data.columns; ++c) {
      double mean = 0;
      for (std::int64_t row = 0; row < data.rows(); ++row) {
        mean += static_cast<double>(data.row(row)[c]) / static_cast<double>(data.rows());
      }
      for (std::int64_t row = 0; row < data.rows(); ++row) {
        const double difference = static_cast<double>(data.row(row)[c]) - mean;
        squares[static_cast<std::size_t>(row)] += difference * difference;
      }
    }
  }
};

/// The largest error of |x|^2 + |y|^2 - 2 x y by plain FP32 sums over centred columns, as a part of |x|^2 + |y|^2.
double fp32_error(const HostData& data, const Centred& exact) {
  const Split rows = split(data);
  const auto columns = static_cast<std::size_t>(data.columns);
  const auto product = [&](std::size_t a, std::size_t b) {
    float sum = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      sum += (rows.high[a * columns + c] + rows.low[a * columns + c]) *
             (rows.high[b * columns + c] + rows.low[b * columns + c]);
    }
    return sum;
  };
  double worst = 0;
  for (std::size_t a = 0; a < data.labels.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const float distance = product(a, a) + product(b, b) - 2.0f * product(a, b);
      const double found = std::ldexp(static_cast<double>(distance), -2 * rows.exponent);
      worst = std::max(worst,
                       std::abs(found - exact_distance(data, a, b)) / (exact.squares[a] + exact.squares[b]));
    }
  }
  return worst;
}

TEST(SplitRows, BringTheLargestNumberWhereItBelongs) {
  for (const double largest : {1e-40, 3e-5, 0.75, 1.0, 50.0, 65504.0, 3e38}) {
    const double z = std::ldexp(largest, exponent_for(largest));
    EXPECT_GE(z, 8192.0);
    EXPECT_LT(z, 16384.0);
  }
  EXPECT_EQ(exponent_for(0.0), 0);
}

TEST(SplitRows, HaveDistancesAsExactAsFp32) {
  for (const svm_reference::Kind& kind :
       {svm_reference::Kind{.name = "plain", .rows_by_class = {20, 20}, .columns = 700},
        svm_reference::Kind{.name = "offset", .rows_by_class = {20, 20}, .columns = 700, .offset = 300},
        svm_reference::Kind{.name = "huge", .rows_by_class = {20, 20}, .columns = 33, .magnitude = 1e30},
        svm_reference::Kind{.name = "tiny", .rows_by_class = {20, 20}, .columns = 33, .magnitude = 1e-30}}) {
    HostData data = make_data(kind, 3);
    data.values[5] *= 40;  // one number much larger than the others
    std::copy_n(data.row(7), data.columns, data.values.data() + 11 * data.columns);
    const Split rows = split(data);
    const Centred exact(data);
    double worst = 0;
    for (std::size_t a = 0; a < data.labels.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const double found = std::ldexp(static_cast<double>(split_distance(rows, a, b)), -2 * rows.exponent);
        const double error = std::abs(found - exact_distance(data, a, b));
        worst = std::max(worst, error / (exact.squares[a] + exact.squares[b]));
      }
    }
    // Just the rounding of squares and products to FP32 makes 2^-23; what is cut off makes the rest.
    EXPECT_LT(worst, 0x1.0p-18) << kind.name;
    EXPECT_LT(worst, 3 * fp32_error(data, exact)) << kind.name;
    EXPECT_GT(worst, 0.0) << kind.name;
    EXPECT_EQ(split_distance(rows, 7, 11), 0.0f) << kind.name;
  }
}

TEST(SmoSteps, KeysOrderNumbersAndGiveThemBack) {
  const std::vector<float> ascending = {
      -std::numeric_limits<float>::infinity(), -1e30f, -1.0f, -1e-40f, -0.0f, 0.0f, 1e-40f, 0.5f, 2.0f,
      std::numeric_limits<float>::infinity()};
  for (std::size_t k = 0; k < ascending.size(); ++k) {
    EXPECT_EQ(from_order_key(order_key(ascending[k])), ascending[k]);
    EXPECT_GT(order_key(ascending[k]), kNoKey);
    if (k == 0) continue;
    EXPECT_LT(order_key(ascending[k - 1]), order_key(ascending[k]));
  }
}

TEST(SmoSteps, KernelsAreExactForEveryExponent) {
  for (int k = 0; k < 4000; ++k) {
    const double exponent = -std::exp(-18.0 + 0.0053 * k);  // from -1.5e-8 to -24
    const auto distance = static_cast<float>(-exponent);
    const KernelFactors factors{-1.44269504f, -1.0f};
    const double exact = std::exp(-static_cast<double>(distance));
    const double shifted = std::expm1(-static_cast<double>(distance));
    EXPECT_NEAR(static_cast<double>(kernel_value<false>(distance, factors)) / exact, 1.0, 2e-6);
    EXPECT_NEAR(static_cast<double>(kernel_value<true>(distance, factors)) / shifted, 1.0, 4e-7);
  }
}

TEST(SmoSteps, StepsEndAtTheBoundsExactly) {
  Variable i{0.3, 1.0, true};
  Variable j{0.1, 2.0, true};
  EXPECT_EQ(take_step(i, j, 5.0), 0.1);
  EXPECT_EQ(j.alpha, 0.0);
  EXPECT_DOUBLE_EQ(i.alpha, 0.4);
  i = {0.3, 1.0, true};
  j = {0.1, 2.0, false};
  EXPECT_EQ(take_step(i, j, 5.0), 0.7);
  EXPECT_EQ(i.alpha, 1.0);
  EXPECT_DOUBLE_EQ(j.alpha, 0.8);
  i = {0.3, 1.0, false};
  j = {1.9, 2.0, false};
  EXPECT_DOUBLE_EQ(take_step(i, j, 0.05), 0.05);
  EXPECT_DOUBLE_EQ(i.alpha, 0.25);
  EXPECT_DOUBLE_EQ(j.alpha, 1.95);
  EXPECT_DOUBLE_EQ(take_step(i, j, 9.0), 2.0 - 1.95);
  EXPECT_EQ(j.alpha, 2.0);
}

/// One pair solved by the steps of the kernel, the threads of its block one after the other.
template <bool kShifted>
class EmulatedBlock {
 public:
  EmulatedBlock(const std::vector<float>& distances, std::size_t first, std::size_t places, double bound,
                KernelFactors factors)
      : alpha(places, 0.0),
        distances_(distances),
        first_(first),
        places_(places),
        bound_(bound),
        factors_(factors),
        v_(places),
        row_(places) {
    for (std::size_t t = 0; t < places; ++t) v_[t] = t < first ? -1.0f : 1.0f;
  }

  /// As solve_batch() does it; false if it took too many steps.
  bool solve(double tolerance, int most) {
    for (int round = 0; round < 100; ++round) {
      if (!settle(static_cast<float>(0.9 * tolerance), most)) return false;
      judge();
      if (facts.gap < tolerance) return true;
    }
    return false;
  }

  std::vector<double> alpha;
  PairFacts facts;
  std::int64_t iterations = 0;

 private:
  bool positive(std::size_t t) const { return t < first_; }
  float kernel(std::size_t s, std::size_t t) const {
    return kernel_value<kShifted>(distances_[s * places_ + t], factors_);
  }

  bool settle(float tolerance, int most) {
    for (int step = 0; step < most; ++step, ++iterations) {
      std::uint32_t rising = kNoKey, falling = kNoKey;
      std::size_t i = 0;
      for (std::size_t t = 0; t < places_; ++t) {
        if (can_rise(positive(t), alpha[t], bound_) && order_key(-v_[t]) > rising) {
          rising = order_key(-v_[t]);
          i = t;
        }
        if (can_fall(positive(t), alpha[t], bound_)) falling = std::max(falling, order_key(v_[t]));
      }
      if (rising == kNoKey || falling == kNoKey) return true;
      if (!(from_order_key(rising) + from_order_key(falling) >= tolerance)) return true;
      std::uint32_t best = order_key(0.0f);
      std::size_t j = places_;
      for (std::size_t t = 0; t < places_; ++t) {
        row_[t] = kernel(i, t);
        const float worth = gain<kShifted>(v_[t] - v_[i], row_[t]);
        if (can_fall(positive(t), alpha[t], bound_) && order_key(worth) > best) {
          best = order_key(worth);
          j = t;
        }
      }
      if (j == places_) return false;
      Variable a{alpha[i], bound_, positive(i)};
      Variable b{alpha[j], bound_, positive(j)};
      const float wish = (v_[j] - v_[i]) / curvature<kShifted>(row_[j]);
      const auto moved = static_cast<float>(take_step(a, b, static_cast<double>(wish)));
      alpha[i] = a.alpha;
      alpha[j] = b.alpha;
      for (std::size_t t = 0; t < places_; ++t) v_[t] += moved * (row_[t] - kernel(j, t));
    }
    return false;
  }

  void judge() {
    std::vector<double> exact(places_);
    for (std::size_t t = 0; t < places_; ++t) {
      exact[t] = positive(t) ? -1.0 : 1.0;
      for (std::size_t s = 0; s < places_; ++s)
        exact[t] += (positive(s) ? alpha[s] : -alpha[s]) * static_cast<double>(kernel(s, t));
      v_[t] = static_cast<float>(exact[t]);
    }
    facts = facts_of({alpha, first_, bound_, bound_}, exact);
  }

  const std::vector<float>& distances_;
  std::size_t first_;
  std::size_t places_;
  double bound_;
  KernelFactors factors_;
  std::vector<float> v_;
  std::vector<float> row_;
};

/// The dual at these alphas, in double with exact kernels.
double exact_objective(const HostData& data, const std::vector<std::size_t>& order, std::size_t first,
                       const std::vector<double>& alpha, double gamma) {
  double sum = 0;
  for (std::size_t s = 0; s < order.size(); ++s) {
    if (alpha[s] == 0) continue;
    double f = 0;
    for (std::size_t t = 0; t < order.size(); ++t) {
      if (alpha[t] == 0) continue;
      f += (t < first ? alpha[t] : -alpha[t]) *
           svm_reference::exact_kernel(data, data.row(static_cast<std::int64_t>(order[s])),
                                       data.row(static_cast<std::int64_t>(order[t])), gamma);
    }
    sum += 0.5 * (s < first ? alpha[s] : -alpha[s]) * f - alpha[s];
  }
  return sum;
}

template <bool kShifted>
void expect_optimum(const HostData& data, double c, double gamma) {
  std::vector<std::size_t> order;
  for (const int label : {0, 1}) {
    for (std::size_t row = 0; row < data.labels.size(); ++row) {
      if (data.labels[row] == label) order.push_back(row);
    }
  }
  const auto first = static_cast<std::size_t>(std::count(data.labels.begin(), data.labels.end(), 0));
  const Split rows = split(data);
  std::vector<float> distances(order.size() * order.size(), 0.0f);
  for (std::size_t s = 0; s < order.size(); ++s) {
    for (std::size_t t = 0; t < s; ++t)
      distances[s * order.size() + t] = distances[t * order.size() + s] =
          split_distance(rows, order[s], order[t]);
  }
  const double natural = std::ldexp(gamma, -2 * rows.exponent);
  EmulatedBlock<kShifted> block(
      distances, first, order.size(), c,
      {static_cast<float>(-natural * 1.4426950408889634), static_cast<float>(-natural)});
  ASSERT_TRUE(block.solve(1e-3, 2'000'000)) << "C " << c << " gamma " << gamma << " gap " << block.facts.gap;
  const double theirs = svm_reference::libsvm_reference(data, data, c, gamma).objectives[0];
  const double ours = exact_objective(data, order, first, block.alpha, gamma);
  EXPECT_LE(ours, theirs + 1e-4 * std::abs(theirs)) << "C " << c << " gamma " << gamma;
  EXPECT_NEAR(block.facts.objective, ours, 3e-4 * std::abs(ours)) << "C " << c << " gamma " << gamma;
}

TEST(SmoSteps, ReachTheOptimumOfLibsvm) {
  for (const svm_reference::Kind& kind :
       {svm_reference::Kind{.name = "", .rows_by_class = {60, 71}, .columns = 40, .apart = 0.3},
        svm_reference::Kind{.name = "", .rows_by_class = {50, 50}, .columns = 5, .apart = 6},
        svm_reference::Kind{
            .name = "", .rows_by_class = {60, 60}, .columns = 6, .apart = 0.7, .duplicates = 50}}) {
    const HostData data = make_data(kind, 21);
    for (const double c : {1e-3, 1.0, 10.0, 1e3}) {
      for (const double gamma : {0.01, 0.1, 10.0}) expect_optimum<false>(data, c, gamma);
    }
  }
}

TEST(SmoSteps, ReachItWhereAllKernelsAreNearOne) {
  const HostData data = make_data({.name = "", .rows_by_class = {60, 71}, .columns = 6, .apart = 0.7}, 22);
  for (const double c : {1e-3, 1.0, 1e3, 1e5}) {
    for (const double gamma : {1e-6, 1e-4, 1e-2}) expect_optimum<true>(data, c, gamma);
  }
}

TEST(Batches, SolveEachPairOnceInTheMemoryThereIs) {
  std::vector<std::vector<int>> rows;
  for (const int count : {500, 33, 64, 700, 1, 320, 321}) rows.emplace_back(static_cast<std::size_t>(count));
  const ClassPlaces places = place_classes(rows);
  EXPECT_EQ(places.total() % kClassPlaces, 0);
  const std::size_t least = matrix_bytes(batch_of_pair(places, {0, 3}).places);  // the largest two
  EXPECT_TRUE(plan_batches(places, least - 1).empty());
  std::size_t before = 0;
  for (const std::size_t bytes :
       {std::size_t{1} << 30, std::size_t{10'000'000}, std::size_t{7'000'000}, least}) {
    const std::vector<Batch> batches = plan_batches(places, bytes);
    EXPECT_GE(batches.size(), before);  // less memory, more batches
    before = batches.size();
    std::set<std::array<int, 2>> seen;
    for (const Batch& batch : batches) {
      EXPECT_LE(static_cast<std::size_t>(batch.places * batch.places) * sizeof(float), bytes);
      std::int64_t sum = 0;
      for (const int k : batch.classes) sum += places.padded(static_cast<std::size_t>(k));
      EXPECT_EQ(sum, batch.places);
      for (const auto& pair : batch.pairs) {
        EXPECT_LT(pair[0], pair[1]);
        EXPECT_TRUE(seen.insert(pair).second);
        for (const int k : pair)
          EXPECT_TRUE(std::find(batch.classes.begin(), batch.classes.end(), k) != batch.classes.end());
      }
    }
    EXPECT_EQ(seen.size(), 21u);
  }
}

TEST(WorkingSets, HoldTheRowsThatViolateMost) {
  // Alphas 0: rows of the first class (v < 0) can rise, the others can fall.
  const std::vector<double> alpha = {0, 0, 0, 1, 0, 0, 0.5, 0};
  const PairValues pair{alpha, 4, 1.0, 1.0};
  const std::vector<double> v = {-1, -3, -2, -9, 4, 1, 3, 2};
  WorkingSet set(2);
  EXPECT_EQ(set.choose(pair, v, {}), 0u);
  EXPECT_EQ(set.rows(0), (std::vector<int>{1, 4}));  // -9 cannot rise any more
  EXPECT_EQ(set.choose(pair, v, {}), 1u);
  EXPECT_EQ(set.rows(1), (std::vector<int>{2, 6}));
  // The half that has stayed longer goes, and its rows may come back.
  EXPECT_EQ(set.choose(pair, v, std::vector<char>{1, 0, 1, 1, 1, 1, 1, 1}), 0u);
  EXPECT_EQ(set.rows(0), (std::vector<int>{0, 4}));
}

TEST(Sigmoids, AreTheMostLikelyOnes) {
  std::vector<double> decisions;
  std::vector<char> is_first;
  for (std::uint64_t k = 0; k < 3000; ++k) {
    const double f = 6 * core::random_unit(1, k) - 3;
    decisions.push_back(f);
    is_first.push_back(core::random_unit(2, k) < 1 / (1 + std::exp(-1.7 * f + 0.4)) ? 1 : 0);
  }
  const Sigmoid found = fit_sigmoid(decisions, is_first);
  EXPECT_NEAR(found.a, -1.7, 0.15);
  EXPECT_NEAR(found.b, 0.4, 0.15);
  EXPECT_NEAR(probability(found, 1.0), 1 / (1 + std::exp(found.a + found.b)), 1e-12);
  EXPECT_EQ(probability({-100, 0}, 1e6), 1 - 1e-7);
}

TEST(Sigmoids, CoupleToTheProbabilitiesThatTheirPairsComeFrom) {
  const std::vector<double> wanted = {0.5, 0.15, 0.3, 0.05};
  std::vector<double> pairwise(16, 0.0);
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) {
      if (a != b) pairwise[4 * a + b] = wanted[a] / (wanted[a] + wanted[b]);
    }
  }
  const std::vector<double> found = couple(pairwise, 4);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(found[k], wanted[k], 0.01);
}

}  // namespace
}  // namespace warpscope::classifiers::rbf::smo_steps_test
