// Linear classifiers against liblinear and against the formulas in double precision, on the CPU and, where there is
// one, on a GPU.

#include "gpu/classifiers/linear/linear.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include "gpu/classifiers/standardize.h"
#include "gpu/core/error.h"
#include "tests/classifiers/random_features.h"
#include "tests/support/device_case.h"

namespace warpscope::classifiers::linear::linear_test {
namespace {

using tests::FeatureShape;
using tests::random_features;
using tests::RandomFeatures;

/// The objective of all classes at the weights of a fit, from the formulas in linear.h.
double objective(const RandomFeatures& data, const LinearFit& fit, double c) {
  const auto width = static_cast<std::size_t>(data.columns) + 1;
  double total = 0;
  for (const double weight : fit.weights) total += 0.5 * weight * weight;
  for (std::size_t row = 0; row < data.labels.size(); ++row) {
    std::vector<double> scores;
    for (int k = 0; k < data.classes; ++k) {
      const double* const w = fit.weights.data() + static_cast<std::size_t>(k) * width;
      double score = w[width - 1];
      for (std::size_t j = 0; j + 1 < width; ++j) {
        score += w[j] * static_cast<double>(data.values[row * (width - 1) + j]);
      }
      scores.push_back(score);
    }
    const auto label = static_cast<std::size_t>(data.labels[row]);
    if (fit.loss == LinearLoss::softmax) {
      const double top = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (std::size_t k = 0; k < scores.size(); ++k) sum += fit.present[k] ? std::exp(scores[k] - top) : 0;
      total += c * (top + std::log(sum) - scores[label]);
      continue;
    }
    for (std::size_t k = 0; k < scores.size(); ++k) {
      if (!fit.present[k]) continue;
      const double short_of = std::max(0.0, 1 - (k == label ? scores[k] : -scores[k]));
      total += c * (fit.loss == LinearLoss::hinge ? short_of : short_of * short_of);
    }
  }
  return total;
}

class Linear : public tests::DeviceCase {
 protected:
  LinearFit fit(const RandomFeatures& data, LinearOptions options, const Watch& watch = {}) {
    const core::Buffer features = uploaded(data.values.data(), data.values.size() * sizeof(float));
    if (options.solver == LinearSolver::automatic) options.solver = LinearSolver::newton;
    return fit_linear({device_, stream_.get()}, data.on(features.as<float>()), options, watch)->fit();
  }
  /// The least objective of the same problem, to five digits, by liblinear.
  static LinearFit least(const RandomFeatures& data, LinearOptions options) {
    const auto cpu = core::open_device("cpu");
    const auto stream = cpu->make_stream();
    options.solver = LinearSolver::package;
    options.tolerance = 1e-5;
    return fit_linear({cpu, stream.get()}, data.on_host(), options)->fit();
  }
  void expect_as_liblinear(const FeatureShape& shape, LinearLoss loss, double c) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.columns << ", " << shape.classes
                                    << " classes, apart " << shape.apart << ", C " << c);
    const RandomFeatures data = random_features(shape);
    LinearOptions options;
    options.loss = loss;
    options.c = c;
    const LinearFit own = fit(data, options), peer = least(data, options);
    EXPECT_TRUE(own.summary.converged) << own.summary.remarks.back();
    const double wanted = objective(data, peer, c), reached = objective(data, own, c);
    EXPECT_LE(reached, wanted * (1 + 1e-3));
    // Each gap is an upper bound of what is missing; liblinear's own bounds may leave it short of its tolerance.
    const double copies = shape.classes == 2 ? 2 : 1;
    double gap = 0, peer_gap = 0, said = 0;
    for (const NewtonReport& report : own.problems)
      gap += copies * report.gap, said += copies * report.objective;
    for (const NewtonReport& report : peer.problems) peer_gap += copies * report.gap;
    EXPECT_NEAR(said, reached, 1e-6 * reached);
    EXPECT_LE(reached - wanted, gap + 1e-5 * wanted);
    EXPECT_LE(wanted - reached, peer_gap + 1e-5 * wanted);
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, Linear, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param == "cuda" ? "Gpu" : "Cpu"; });

TEST_P(Linear, SquaredHingeReachesLiblinearsObjective) {
  for (const double c : {1e-3, 1.0, 1e5}) {
    expect_as_liblinear({300, 13, 3, 0.5}, LinearLoss::squared_hinge, c);
    expect_as_liblinear({500, 33, 10, 0.3, 0.5}, LinearLoss::squared_hinge, c);
  }
  expect_as_liblinear({100, 260, 4, 1}, LinearLoss::squared_hinge, 1);    // more columns than rows: separable
  expect_as_liblinear({257, 1, 2, 1}, LinearLoss::squared_hinge, 10);     // one column, two classes
  expect_as_liblinear({500, 40, 17, 1}, LinearLoss::squared_hinge, 0.1);  // more classes than a tile holds
}

TEST_P(Linear, HingeReachesLiblinearsObjective) {
  for (const double c : {1e-3, 1.0, 100.0}) expect_as_liblinear({150, 13, 3, 0.5}, LinearLoss::hinge, c);
  expect_as_liblinear({400, 33, 10, 0.3, 0.5}, LinearLoss::hinge, 0.1);
  expect_as_liblinear({100, 260, 4, 1}, LinearLoss::hinge, 1);
  expect_as_liblinear({257, 1, 2, 1}, LinearLoss::hinge, 10);
}

TEST_P(Linear, SoftmaxRegressionEndsWhereItsGradientIsAlmostZero) {
  for (const double c : {1e-3, 1.0, 1e3}) {
    const RandomFeatures data = random_features({400, 21, 5, 0.5, 0.3});
    LinearOptions options;
    options.loss = LinearLoss::softmax;
    options.c = c;
    const LinearFit own = fit(data, options);
    options.tolerance = 1e-9;
    const LinearFit exact = fit(data, options);
    EXPECT_TRUE(own.summary.converged);
    EXPECT_TRUE(exact.summary.converged);
    const double reached = objective(data, own, c), wanted = objective(data, exact, c);
    EXPECT_NEAR(own.problems[0].objective, reached, 1e-9 * reached);
    EXPECT_LE(reached, wanted * (1 + 1e-3));
    // No weight, changed either way, makes it less.
    LinearFit moved = exact;
    for (std::size_t i = 0; i < moved.weights.size(); i += 7) {
      for (const double step : {-1e-2, 1e-2}) {
        moved.weights[i] = exact.weights[i] + step;
        EXPECT_GT(objective(data, moved, c), wanted * (1 - 2e-9));
        moved.weights[i] = exact.weights[i];
      }
    }
  }
}

TEST_P(Linear, DuplicatesConstantColumnsAndAnEmptyClassAreNoTrouble) {
  RandomFeatures data = random_features({200, 9, 3, 0.5});
  for (std::size_t row = 100; row < 200; ++row) {  // copies, some of them with another label
    std::copy_n(data.values.begin() + static_cast<long>(9 * (row - 100)), 9,
                data.values.begin() + static_cast<long>(9 * row));
  }
  for (std::size_t row = 0; row < 200; ++row) {
    data.values[9 * row] = 3;
    data.values[9 * row + 1] = 0;
    if (data.labels[row] == 2) data.labels[row] = 3;
  }
  data.classes = 5;  // 2 and 4 are empty
  for (const LinearLoss loss : {LinearLoss::squared_hinge, LinearLoss::hinge, LinearLoss::softmax}) {
    LinearOptions options;
    options.loss = loss;
    const LinearFit own = fit(data, options);
    EXPECT_TRUE(own.summary.converged);
    EXPECT_EQ(own.present, (std::vector<bool>{true, true, false, true, false}));
    EXPECT_EQ(own.summary.remarks.size(), 2u);
    if (loss != LinearLoss::softmax) {
      EXPECT_LE(objective(data, own, 1), (1 + 1e-3) * objective(data, least(data, options), 1));
    }
    const core::Buffer features = uploaded(data.values.data(), data.values.size() * sizeof(float));
    const Prediction labels =
        LinearClassifier(own).predict({device_, stream_.get()}, data.on(features.as<float>()).features);
    EXPECT_EQ(std::count(labels.labels.begin(), labels.labels.end(), 2), 0);
    EXPECT_EQ(std::count(labels.labels.begin(), labels.labels.end(), 4), 0);
  }
}

TEST_P(Linear, PredictionIsTheLargestScore) {
  const RandomFeatures data = random_features({150, 7, 4, 2});
  LinearOptions options;
  options.loss = LinearLoss::softmax;
  const core::Buffer features = uploaded(data.values.data(), data.values.size() * sizeof(float));
  const auto classifier = fit_linear({device_, stream_.get()}, data.on(features.as<float>()), options);
  const Prediction made =
      classifier->predict({device_, stream_.get()}, data.on(features.as<float>()).features);
  ASSERT_EQ(made.labels.size(), 150u);
  const std::vector<double>& weights = classifier->fit().weights;
  int right = 0;
  for (std::size_t row = 0; row < 150; ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      double score = weights[8 * k + 7];
      for (std::size_t j = 0; j < 7; ++j)
        score += weights[8 * k + j] * static_cast<double>(data.values[7 * row + j]);
      EXPECT_NEAR(made.scores[4 * row + k], score, 1e-5 * (1 + std::abs(score)));
      EXPECT_LE(made.scores[4 * row + k], made.scores[4 * row + static_cast<std::size_t>(made.labels[row])]);
      sum += static_cast<double>(made.probabilities[4 * row + k]);
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_GE(made.margins[row], 0);
    right += made.labels[row] == data.labels[row] ? 1 : 0;
  }
  EXPECT_GT(right, 140);
}

TEST_P(Linear, WhatCannotBeIsOneSentence) {
  RandomFeatures data = random_features({20, 4, 2, 1});
  const auto sentence = [&](const RandomFeatures& wrong, const LinearOptions& options) -> std::string {
    try {
      fit(wrong, options);
    } catch (const core::BadInput& error) {
      return error.what();
    }
    return "";
  };
  LinearOptions options;
  options.c = -1;
  EXPECT_EQ(sentence(data, options), "C is -1; it must be a number above 0");
  options.c = 1;
  options.tolerance = 0;
  EXPECT_EQ(sentence(data, options), "the tolerance is 0; it must be between 0 and 1");
  options.tolerance = 1e-3;
  data.values[4 * 7 + 2] = std::numeric_limits<float>::infinity();
  data.values[4 * 5 + 1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(sentence(data, options), "the features hold NaN in row 5, column 1 (both counted from 0)");
}

/// Rectified mixtures of few factors, standardized, of which many are 0 in almost all rows, as the latents of a network
/// are: columns hang together, and a long tail of them bends along every direction.
RandomFeatures rare_and_correlated(int rows, int columns, int classes) {
  constexpr int kFactors = 60;
  RandomFeatures data;
  data.rows = rows;
  data.columns = columns;
  data.classes = classes;
  std::uint64_t drawn = 0;
  for (int row = 0; row < rows; ++row) {
    data.labels.push_back(row % classes);
    double factors[kFactors];
    for (int f = 0; f < kFactors; ++f) {
      factors[f] = tests::random_normal(1, drawn++) + (f % classes == data.labels.back() ? 0.2 : 0.0);
    }
    for (int j = 0; j < columns; ++j) {
      double sum = 0, weight2 = 0;
      for (int f = 0; f < kFactors; ++f) {
        const double weight = tests::random_normal(3, static_cast<std::uint64_t>(kFactors * j + f)) / (1 + f);
        sum += weight * factors[f];
        weight2 += weight * weight;
      }
      const double noise = 0.01 * tests::random_normal(2, drawn++);
      data.values.push_back(
          static_cast<float>(std::max(0.0, sum / std::sqrt(weight2) - 3.0 * j / columns + noise)));
    }
  }
  const auto cpu = core::open_device("cpu");
  const auto stream = cpu->make_stream();
  const FeatureMatrix features = data.on_host().features;
  const Place place{cpu, stream.get()};
  standardize(place, find_standardization(place, features), features, data.values.data());
  return data;
}

TEST_P(Linear, RareAndCorrelatedColumnsConvergeThoughTheLossesBendAlongNewtonsDirections) {
  const RandomFeatures data = rare_and_correlated(1000, 160, 3);
  LinearOptions options;
  options.most_products = 280;  // Newton's directions by themselves take more
  const LinearFit own = fit(data, options);
  EXPECT_TRUE(own.summary.converged) << own.summary.remarks.back();
  options.most_products = 20000;
  options.tolerance = 1e-6;
  const LinearFit exact = fit(data, options);
  EXPECT_TRUE(exact.summary.converged);
  const double reached = objective(data, own, 1), wanted = objective(data, exact, 1);
  EXPECT_LE(reached, wanted * (1 + 1e-3));
  double gap = 0, said = 0;
  for (const NewtonReport& report : exact.problems) gap += report.gap, said += report.objective;
  EXPECT_LE(gap, 1e-3 * said) << "the dual bound proves that it is the least";
}

TEST_P(Linear, ABoundThatIsReachedIsTold) {
  LinearOptions options;
  options.c = 1e4;
  options.tolerance = 1e-9;
  options.most_products = 2;
  const LinearFit own = fit(random_features({300, 40, 3, 0.2, 1}), options);
  EXPECT_FALSE(own.summary.converged);
  ASSERT_FALSE(own.summary.remarks.empty());
  EXPECT_EQ(own.summary.remarks.back(),
            "ended before the tolerance was reached: the bound of 2 products was reached");
  EXPECT_GT(own.summary.reached, 1e-9);
}

TEST_P(Linear, AFitThatIsStoppedThrows) {
  std::stop_source source;
  Watch watch;
  watch.stop = source.get_token();
  int calls = 0;
  watch.progress = [&](double part, std::string_view) {
    EXPECT_GE(part, 0);
    EXPECT_LE(part, 1);
    if (++calls == 2) source.request_stop();
  };
  LinearOptions options;
  options.tolerance = 1e-9;
  EXPECT_THROW(fit(random_features({300, 40, 3, 0.2}), options, watch), Cancelled);
  EXPECT_EQ(calls, 2);
}

TEST(LinearByLiblinear, AFitThatIsStoppedThrows) {
  const auto cpu = core::open_device("cpu");
  const auto stream = cpu->make_stream();
  const RandomFeatures data = random_features({300, 40, 3, 0.2});
  for (const LinearLoss loss : {LinearLoss::squared_hinge, LinearLoss::hinge}) {
    std::stop_source source;
    Watch watch;
    watch.stop = source.get_token();
    watch.progress = [&](double, std::string_view) { source.request_stop(); };
    LinearOptions options;
    options.loss = loss;
    EXPECT_THROW(fit_linear({cpu, stream.get()}, data.on_host(), options, watch), Cancelled);
  }
}

}  // namespace
}  // namespace warpscope::classifiers::linear::linear_test
