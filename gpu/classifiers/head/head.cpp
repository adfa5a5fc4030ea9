#include "gpu/classifiers/head/head.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "gpu/classifiers/columns.h"
#include "gpu/classifiers/head/take_rows.h"
#include "gpu/classifiers/scores.h"
#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/core/require.h"

namespace warpscope::classifiers::head {
namespace {

using core::Buffer;
using ops::step::StepControl;

constexpr int kMostClasses = 256;  // of ops::cross_entropy
constexpr int kMostHidden = 4096;
constexpr std::int64_t kPiece = 1024;  // rows that are classified at once

void check(const LabelledFeatures& data, const HeadOptions& options) {
  check_labels(data);
  core::require(data.classes <= kMostClasses, "a head tells up to {} classes apart, not {}", kMostClasses,
                data.classes);
  core::require(options.c > 0 && std::isfinite(options.c), "C is a number above 0, not {:g}", options.c);
  core::require(options.hidden >= 1 && options.hidden <= kMostHidden,
                "a head has 1 to {} hidden units, not {}", kMostHidden, options.hidden);
  core::require(options.epochs >= 1 && options.epochs <= kMostEpochs,
                "a head is trained for 1 to {} epochs, not {}", kMostEpochs, options.epochs);
}

/// One for each update.
std::vector<StepControl> controls(const HeadOptions& options, std::int64_t rows, std::int64_t updates) {
  constexpr float kFirstDecay = 0.9f, kSecondDecay = 0.999f, kEpsilon = 1e-8f;
  std::vector<StepControl> made(static_cast<std::size_t>(updates));
  for (std::size_t i = 0; i < made.size(); ++i) {
    const double done = static_cast<double>(i) / static_cast<double>(updates);
    made[i].learning_rate = static_cast<float>(options.rate * 0.5 * (1 + std::cos(std::numbers::pi * done)));
    made[i].first_decay = kFirstDecay;
    made[i].second_decay = kSecondDecay;
    made[i].epsilon = kEpsilon;
    made[i].weight_decay = static_cast<float>(1 / (options.c * static_cast<double>(rows)));
    made[i].updates = static_cast<std::uint32_t>(i);
  }
  return made;
}

/// The training of a head, one epoch after the other.
class Training {
 public:
  Training(const Place& place, const LabelledFeatures& data, const HeadOptions& options)
      : place_(place),
        data_(data),
        seed_(options.seed),
        batch_(std::min<std::int64_t>(options.batch, data.features.rows)),
        batches_(data.features.rows / batch_),
        shape_{data.features.columns, options.hidden, data.classes},
        network_(place, shape_, batch_),
        parameters_(core::upload(place.device, *place.stream, initial_parameters(shape_, options.seed))),
        moments_(place.device, 2 * parameters_.bytes()),
        controls_(core::upload(place.device, *place.stream,
                               controls(options, data.features.rows, batches_ * options.epochs))),
        order_(static_cast<std::size_t>(data.features.rows)),
        labels_(order_.size()),
        order_there_(place.device, order_.size() * sizeof(std::uint32_t)),
        labels_there_(place.device, labels_.size()),
        rows_(place.device,
              static_cast<std::size_t>(batch_) * static_cast<std::size_t>(shape_.columns) * sizeof(float)),
        metrics_(place.device, static_cast<std::size_t>(batches_) * ops::step::kMetrics * sizeof(float)) {
    place.stream->fill(moments_.data(), 0, moments_.bytes());
    std::iota(order_.begin(), order_.end(), 0u);
  }

  std::int64_t batches() const { return batches_; }
  const NetworkShape& shape() const { return shape_; }
  Buffer& parameters() { return parameters_; }

  /// The mean loss of the epoch's batches, each before its update.
  double epoch(int number, const Watch& watch) {
    shuffle(number);
    for (std::int64_t i = 0; i < batches_; ++i) {
      if (watch.stop.stop_requested()) throw Cancelled();
      take_rows(place_, data_.features, order_there_.as<std::uint32_t>() + i * batch_, batch_,
                rows_.as<float>());
      network_.step({.rows = rows_.as<float>(),
                     .labels = labels_there_.as<std::uint8_t>() + i * batch_,
                     .control = controls_.as<StepControl>() + number * batches_ + i,
                     .metrics = metrics_.as<float>() + i * ops::step::kMetrics},
                    parameters_.as<float>(), moments_.as<float>());
    }
    const auto metrics =
        core::download<float>(*place_.stream, metrics_.data(), metrics_.bytes() / sizeof(float));
    double sum = 0;
    for (std::size_t i = 0; i < metrics.size(); i += ops::step::kMetrics)
      sum += static_cast<double>(metrics[i + ops::step::kLossMetric]);
    return sum / static_cast<double>(batches_);
  }

 private:
  /// Fisher and Yates; the order of the epoch before is where it begins.
  void shuffle(int number) {
    core::SplitMix64 random(core::random_bits(seed_, static_cast<std::uint64_t>(number)));
    for (std::size_t left = order_.size(); left > 1; --left)
      std::swap(order_[left - 1], order_[random.next() % left]);
    for (std::size_t n = 0; n < order_.size(); ++n)
      labels_[n] = static_cast<std::uint8_t>(data_.labels[order_[n]]);
    place_.stream->copy(order_there_.data(), order_.data(), order_there_.bytes());
    place_.stream->copy(labels_there_.data(), labels_.data(), labels_there_.bytes());
  }

  Place place_;
  const LabelledFeatures& data_;
  std::uint64_t seed_;
  std::int64_t batch_, batches_;
  NetworkShape shape_;
  Network network_;
  Buffer parameters_, moments_, controls_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint8_t> labels_;
  Buffer order_there_, labels_there_, rows_, metrics_;
};

/// (rows, classes)
std::vector<float> logits_of(const Place& place, const NetworkShape& shape, const float* parameters,
                             const FeatureMatrix& features, const Watch& watch) {
  std::vector<float> logits(static_cast<std::size_t>(features.rows) *
                            static_cast<std::size_t>(shape.classes));
  std::unique_ptr<Network> network;
  for (std::int64_t first = 0, made_for = 0; first < features.rows; first += kPiece) {
    if (watch.stop.stop_requested()) throw Cancelled();
    const std::int64_t count = std::min(kPiece, features.rows - first);
    if (count != std::exchange(made_for, count)) network = std::make_unique<Network>(place, shape, count);
    network->forward(features.values + first * features.columns, parameters);
    place.stream->copy(logits.data() + first * shape.classes, network->logits(),
                       static_cast<std::size_t>(count * shape.classes) * sizeof(float));
    place.stream->synchronize();
  }
  return logits;
}

/// What the class comment of head.h minimizes.
double objective_of(const std::vector<float>& parameters, const std::vector<float>& logits,
                    const LabelledFeatures& data, double c) {
  double squares = 0;
  for (const float p : parameters) squares += static_cast<double>(p) * static_cast<double>(p);
  double loss = 0;
  const auto classes = static_cast<std::size_t>(data.classes);
  for (std::size_t row = 0; row < data.labels.size(); ++row) {
    const std::span<const float> z(logits.data() + row * classes, classes);
    const auto most = static_cast<double>(*std::ranges::max_element(z));
    double sum = 0;
    for (const float one : z) sum += std::exp(static_cast<double>(one) - most);
    loss += std::log(sum) + most - static_cast<double>(z[static_cast<std::size_t>(data.labels[row])]);
  }
  return squares / (2 * c) + loss;
}

}  // namespace

std::unique_ptr<HeadClassifier> fit_head(const Place& place, const LabelledFeatures& data,
                                         const HeadOptions& options, const Watch& watch) {
  check(data, options);
  check_finite(place, data.features, "the training rows");
  FitSummary summary;
  core::Phases phases;
  phases.begin("memory and variants");
  Training training(place, data, options);
  phases.begin("epochs");
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    if (watch.progress)
      watch.progress(static_cast<double>(epoch) / options.epochs, fmt::format("epoch {}", epoch + 1));
    if (!std::isfinite(training.epoch(epoch, watch))) {
      throw core::BadInput(fmt::format(
          "the head's loss is not finite after epoch {}: the features are too large; standardize them",
          epoch + 1));
    }
  }
  phases.begin("objective");
  const NetworkShape shape = training.shape();
  const std::vector<float> logits =
      logits_of(place, shape, training.parameters().as<float>(), data.features, watch);
  const auto parameters =
      core::download<float>(*place.stream, training.parameters().data(), NetworkLayout(shape).elements);
  summary.objective = objective_of(parameters, logits, data, options.c);
  summary.phases = phases.end();
  summary.converged = true;
  summary.rule = "none: the epochs are over";
  summary.iterations = training.batches() * options.epochs;
  return std::make_unique<HeadClassifier>(shape, std::move(training.parameters()), std::move(summary));
}

Prediction HeadClassifier::predict(const Place& place, const FeatureMatrix& features,
                                   const Watch& watch) const {
  if (features.columns != shape_.columns) {
    throw core::BadInput(fmt::format("the classifier takes {} columns, the features have {}", shape_.columns,
                                     features.columns));
  }
  const std::vector<bool> present(static_cast<std::size_t>(shape_.classes), true);
  if (features.rows == 0) return prediction_of({}, present, true);
  check_finite(place, features);
  const std::vector<float> logits = logits_of(place, shape_, parameters_.as<float>(), features, watch);
  return prediction_of(std::vector<double>(logits.begin(), logits.end()), present, true);
}

}  // namespace warpscope::classifiers::head
