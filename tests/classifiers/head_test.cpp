// The head against the same network in double precision, on the CPU and, where there is one, on a GPU.

#include "gpu/classifiers/head/head.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "gpu/classifiers/head/take_rows.h"
#include "gpu/core/error.h"
#include "tests/classifiers/random_features.h"
#include "tests/support/device_case.h"

namespace warpscope::classifiers::head::head_test {
namespace {

using tests::random_features;
using tests::RandomFeatures;

class Head : public tests::DeviceCase {
 protected:
  Place place() const { return {device_, stream_.get()}; }
  core::Buffer on_device(const RandomFeatures& data) {
    return uploaded(data.values.data(), data.values.size() * sizeof(float));
  }
  Prediction learned(const RandomFeatures& data, const RandomFeatures& others,
                     const HeadOptions& options = {}) {
    const core::Buffer training = on_device(data), rows = on_device(others);
    return fit_head(place(), data.on(training.as<float>()), options)
        ->predict(place(), others.on(rows.as<float>()).features);
  }
  template <class T>
  std::vector<T> downloaded(const core::Buffer& buffer) {
    std::vector<T> values(buffer.bytes() / sizeof(T));
    stream_->copy(values.data(), buffer.data(), buffer.bytes());
    stream_->synchronize();
    return values;
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, Head, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param == "cuda" ? "Gpu" : "Cpu"; });

double accuracy(const Prediction& made, const RandomFeatures& data) {
  int right = 0;
  for (std::size_t row = 0; row < data.labels.size(); ++row)
    right += made.labels[row] == data.labels[row] ? 1 : 0;
  return right / static_cast<double>(data.labels.size());
}

/// The gradient of the mean cross-entropy and the loss, as the formulas say, in double precision.
struct Reference {
  std::vector<double> gradient;
  double loss = 0;
};

Reference reference(const NetworkShape& shape, const RandomFeatures& data,
                    const std::vector<float>& parameters) {
  const NetworkLayout at(shape);
  const auto columns = static_cast<std::size_t>(shape.columns),
             hidden = static_cast<std::size_t>(shape.hidden),
             classes = static_cast<std::size_t>(shape.classes), rows = data.labels.size();
  Reference made{std::vector<double>(at.elements, 0.0)};
  const auto p = [&](std::size_t i) { return static_cast<double>(parameters[i]); };
  for (std::size_t row = 0; row < rows; ++row) {
    const auto x = [&](std::size_t j) { return static_cast<double>(data.values[row * columns + j]); };
    std::vector<double> a(hidden), z(classes), of_z(classes);
    for (std::size_t h = 0; h < hidden; ++h) {
      a[h] = p(at.first_bias + h);
      for (std::size_t j = 0; j < columns; ++j) a[h] += p(at.first_weights + h * columns + j) * x(j);
      a[h] = std::max(0.0, a[h]);
    }
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      z[k] = p(at.second_bias + k);
      for (std::size_t h = 0; h < hidden; ++h) z[k] += p(at.second_weights + k * hidden + h) * a[h];
      sum += std::exp(z[k]);
    }
    const auto label = static_cast<std::size_t>(data.labels[row]);
    made.loss += (std::log(sum) - z[label]) / static_cast<double>(rows);
    for (std::size_t k = 0; k < classes; ++k) {
      of_z[k] = (std::exp(z[k]) / sum - (k == label ? 1 : 0)) / static_cast<double>(rows);
      made.gradient[at.second_bias + k] += of_z[k];
    }
    for (std::size_t h = 0; h < hidden; ++h) {
      double of_a = 0;
      for (std::size_t k = 0; k < classes; ++k) {
        of_a += p(at.second_weights + k * hidden + h) * of_z[k];
        made.gradient[at.second_weights + k * hidden + h] += of_z[k] * a[h];
      }
      if (a[h] <= 0) continue;
      made.gradient[at.first_bias + h] += of_a;
      for (std::size_t j = 0; j < columns; ++j)
        made.gradient[at.first_weights + h * columns + j] += of_a * x(j);
    }
  }
  return made;
}

TEST_P(Head, AStepFollowsTheGradientOfTheFormulas) {
  struct Case {
    NetworkShape shape;
    int rows;
  };
  for (const Case& one :
       {Case{{37, 19, 5}, 33}, Case{{64, 128, 10}, 256}, Case{{1, 1, 2}, 1}, Case{{130, 7, 3}, 2}}) {
    RandomFeatures data = random_features({one.rows, one.shape.columns, one.shape.classes, 1});
    for (int& label : data.labels) label %= one.shape.classes;
    const std::vector<float> before = initial_parameters(one.shape, 3);
    Reference expected = reference(one.shape, data, before);
    // With epsilon = 1 the first update of Adam is rate g / (|g| + 1), from which g can be read.
    ops::step::StepControl control;
    control.learning_rate = 1;
    control.first_decay = 0.9f;
    control.second_decay = 0.999f;
    control.epsilon = 1;
    const std::vector<std::uint8_t> labels(data.labels.begin(), data.labels.end());
    const core::Buffer rows = on_device(data), marks = uploaded(labels.data(), labels.size()),
                       controls = uploaded(&control, sizeof control),
                       parameters = uploaded(before.data(), before.size() * sizeof(float)),
                       moments(device_, 2 * parameters.bytes()),
                       metrics(device_, ops::step::kMetrics * sizeof(float));
    stream_->fill(moments.data(), 0, moments.bytes());
    Network network(place(), one.shape, one.rows);
    network.step({rows.as<float>(), marks.as<std::uint8_t>(), controls.as<ops::step::StepControl>(),
                  metrics.as<float>()},
                 parameters.as<float>(), moments.as<float>());
    const std::vector<float> after = downloaded<float>(parameters);
    double wrong = 0, size = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      const double change = static_cast<double>(before[i]) - static_cast<double>(after[i]);
      const double gradient = change / (1 - std::abs(change));
      wrong += std::pow(gradient - expected.gradient[i], 2);
      size += std::pow(expected.gradient[i], 2);
    }
    const double bound = device_->kind() == core::DeviceKind::cuda ? 5e-3 : 1e-5;  // TF32 has 10 bits
    EXPECT_LT(std::sqrt(wrong / size), bound) << one.shape.columns << " columns, " << one.rows << " rows";
    EXPECT_NEAR(downloaded<float>(metrics)[ops::step::kLossMetric], expected.loss, bound * expected.loss);
  }
}

TEST_P(Head, RowsAreTakenInTheOrderAskedFor) {
  for (const int columns : {1, 5, 64, 1030}) {
    const RandomFeatures data = random_features({50, columns, 2, 1});
    const std::vector<std::uint32_t> order{7, 0, 49, 7, 13};
    const core::Buffer rows = on_device(data),
                       places = uploaded(order.data(), order.size() * sizeof(std::uint32_t)),
                       taken(device_, order.size() * static_cast<std::size_t>(columns) * sizeof(float));
    take_rows(place(), data.on(rows.as<float>()).features, places.as<std::uint32_t>(), 5, taken.as<float>());
    const std::vector<float> values = downloaded<float>(taken);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto width = static_cast<std::size_t>(columns);
      ASSERT_EQ(values[i], data.values[order[i / width] * width + i % width]);
    }
  }
}

TEST_P(Head, LearnsWhatNoPlaneCanTellApart) {
  RandomFeatures data = random_features({1200, 6, 2, 0});
  RandomFeatures others = random_features({400, 6, 2, 0, 0, 7});
  for (RandomFeatures* each : {&data, &others}) {
    for (std::size_t row = 0; row < each->labels.size(); ++row) {
      each->labels[row] = (each->values[6 * row] > 0) != (each->values[6 * row + 1] > 0) ? 1 : 0;
    }
  }
  EXPECT_GT(accuracy(learned(data, others, {.epochs = 100, .c = 10, .rate = 1e-2}), others), 0.93);
}

TEST_P(Head, TheSameRowsGiveTheSameBits) {
  const RandomFeatures data = random_features({300, 20, 4, 1});
  const Prediction first = learned(data, data), second = learned(data, data);
  EXPECT_EQ(first.scores, second.scores);
  EXPECT_NE(first.scores, learned(data, data, {.seed = 1}).scores);
}

TEST_P(Head, MoreEpochsLowerTheObjective) {
  const RandomFeatures data = random_features({500, 20, 4, 0.5});
  const core::Buffer rows = on_device(data);
  double before = std::numeric_limits<double>::infinity();
  for (const int epochs : {1, 5, 25}) {
    const auto fitted = fit_head(place(), data.on(rows.as<float>()), {.epochs = epochs});
    EXPECT_LT(fitted->summary().objective, before);
    EXPECT_TRUE(fitted->summary().converged);
    before = fitted->summary().objective;
  }
}

TEST_P(Head, ProbabilitiesAreThoseOfTheScores) {
  const RandomFeatures data = random_features({1500, 10, 3, 1});  // more than one piece of rows
  const Prediction made = learned(data, data, {.epochs = 3});
  ASSERT_EQ(made.labels.size(), 1500u);
  for (std::size_t row = 0; row < 1500; ++row) {
    const auto z = [&](std::size_t k) { return static_cast<double>(made.scores[3 * row + k]); };
    const double sum = std::exp(z(0)) + std::exp(z(1)) + std::exp(z(2));
    for (std::size_t k = 0; k < 3; ++k)
      ASSERT_NEAR(made.probabilities[3 * row + k], std::exp(z(k)) / sum, 1e-5);
  }
}

TEST_P(Head, AnEmptyClassDuplicatesAndConstantColumnsDoNoHarm) {
  RandomFeatures data = random_features({200, 8, 2, 3});
  data.classes = 4;
  for (std::size_t row = 0; row < 200; ++row) data.values[8 * row + 3] = 1;
  std::copy_n(data.values.begin(), 8, data.values.begin() + 8);
  EXPECT_GT(accuracy(learned(data, data, {.epochs = 60, .c = 10}), data), 0.95);
}

TEST_P(Head, RefusesWhatItCannotLearnFrom) {
  RandomFeatures data = random_features({40, 4, 2, 1});
  EXPECT_THROW(learned(data, data, {.hidden = 0}), core::BadInput);
  EXPECT_THROW(learned(data, data, {.epochs = 0}), core::BadInput);
  EXPECT_THROW(learned(data, data, {.c = -1}), core::BadInput);
  EXPECT_THROW(learned(data, random_features({5, 3, 2, 1})), core::BadInput);
  data.values[9] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(learned(data, data), core::BadInput);
}

TEST_P(Head, IsEndedWhereItStands) {
  const RandomFeatures data = random_features({500, 20, 4, 0.5});
  const core::Buffer rows = on_device(data);
  std::stop_source stop;
  Watch watch{[&](double part, std::string_view) {
                if (part >= 0.5) stop.request_stop();
              },
              stop.get_token()};
  EXPECT_THROW(fit_head(place(), data.on(rows.as<float>()), {}, watch), Cancelled);
}

}  // namespace
}  // namespace warpscope::classifiers::head::head_test
