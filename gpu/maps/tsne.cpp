// t-SNE with sparse affinities and exact repulsion.
//
//   p_ij = (p_j|i + p_i|j) / (2 n)
//   p_j|i = exp(-beta_i d_ij^2) / sum over the neighbours k of i of exp(-beta_i d_ik^2)
//   q_ij = (1 + |y_i - y_j|^2)^-1 / Z,   Z = sum over all pairs k != l of (1 + |y_k - y_l|^2)^-1
//   KL(P || Q) = sum p_ij log(p_ij / q_ij) is minimized over y.
//
// Neighbours are the 3 x perplexity nearest rows; beta_i gives the row's p_j|i the perplexity that is asked for.
// Descent with momentum and gains, as in scikit-learn: both begin anew when the exaggeration ends. `initial` is
// scaled so that the deviation of its first column is 1e-4.
//
// Source: L. van der Maaten, G. Hinton, "Visualizing data using t-SNE" (2008); sparse affinities: L. van der Maaten,
// "Accelerating t-SNE using tree-based algorithms" (2014), section 4.1.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gpu/core/require.h"
#include "gpu/maps/affinities.h"
#include "gpu/maps/graph.h"
#include "gpu/maps/stepped_map.h"
#include "gpu/maps/tsne_step.h"

namespace warpscope::maps {
namespace {

constexpr double kInitialDeviation = 1e-4;

void check_options(const TsneOptions& options, std::int64_t rows) {
  // With all other rows as neighbours, equally far, the perplexity is rows - 1.
  core::require(options.perplexity > 1 && options.perplexity < static_cast<double>(rows - 1),
                "a perplexity of {} is not between 1 and {}, one less than the {} rows", options.perplexity,
                rows - 1, rows);
  core::require(3 * options.perplexity <= kMostNeighbours,
                "a perplexity of {} needs more than {} neighbours a row; choose at most {}",
                options.perplexity, kMostNeighbours, kMostNeighbours / 3);
  core::require(options.iterations >= 1 && options.exaggeration_iterations >= 0,
                "t-SNE needs at least one iteration");
  core::require(options.early_exaggeration >= 1 && options.learning_rate >= 0 &&
                    std::isfinite(options.early_exaggeration) && std::isfinite(options.learning_rate),
                "t-SNE needs an early exaggeration of at least 1 ({}) and a learning rate above 0, "
                "or 0 for its own choice ({})",
                options.early_exaggeration, options.learning_rate);
  for (const double momentum : {options.early_momentum, options.momentum})
    core::require(momentum >= 0 && momentum < 1, "a momentum of {} is not in [0, 1)", momentum);
}

int neighbours_of(const TsneOptions& options, std::int64_t rows) {
  const auto wanted = static_cast<std::int64_t>(std::ceil(3 * options.perplexity));
  return static_cast<int>(std::min({wanted, rows - 1, std::int64_t{kMostNeighbours}}));
}

std::vector<float> first_tsne_positions(const MapOptions& options, std::int64_t rows) {
  std::vector<double> points = given_positions(options, rows);
  double deviation = 1;
  if (points.empty()) {
    points.resize(2 * static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < points.size(); ++i) points[i] = random_normal(options.seed, i);
  } else {
    double squares = 0;
    for (std::size_t i = 0; i < points.size(); i += 2) squares += points[i] * points[i];
    deviation = std::sqrt(squares / static_cast<double>(rows));
  }
  std::vector<float> scaled(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    scaled[i] = static_cast<float>(points[i] / deviation * kInitialDeviation);
  }
  return scaled;
}

class Tsne final : public SteppedMap {
 public:
  Tsne(const Place& where, const FeatureMatrix& features, const MapOptions& options, const Watch& watch)
      : SteppedMap(where, features.rows, options.tsne.iterations), options_(options.tsne) {
    const std::vector<float> points = first_tsne_positions(options, features.rows);
    Neighbours neighbours;
    phase("neighbours",
          [&] { neighbours = nearest_rows(where, features, neighbours_of(options_, features.rows), watch); });
    if (watch.stop.stop_requested()) throw classifiers::Cancelled();
    phase("affinities", [&] { find_affinities(neighbours); });
    phase("upload", [&] { prepare(points); });
    if (options_.learning_rate <= 0) {
      options_.learning_rate = std::max(static_cast<double>(rows()) / options_.early_exaggeration / 4, 50.0);
    }
  }

  std::string_view name() const override { return "tsne"; }

  std::optional<double> objective() override {
    find_forces(*place().device, *place().stream, memory_);
    PairSums all;
    const auto blocks = static_cast<std::size_t>(point_blocks(rows()));
    for (const PairSums& block : core::download<PairSums>(*place().stream, sums_.data(), blocks)) {
      all.normalizer += block.normalizer;
      all.attraction += block.attraction;
    }
    // sum p log(p / q), with -log q = log(1 + d^2) + log Z
    return negative_entropy_ + all.attraction + affinity_sum_ * std::log(all.normalizer);
  }

 private:
  void enqueue(int index) override {
    const bool early = index < options_.exaggeration_iterations;
    if (index == options_.exaggeration_iterations) rest();
    find_forces(*place().device, *place().stream, memory_);
    move_points(*place().device, *place().stream, memory_,
                {static_cast<float>(early ? options_.early_exaggeration : 1.0),
                 static_cast<float>(early ? options_.early_momentum : options_.momentum),
                 static_cast<float>(options_.learning_rate)});
  }
  const float* current() const override { return memory_.positions; }

  void find_affinities(const Neighbours& neighbours) {
    const RowWeights rows_of_p = conditional_probabilities(neighbours, options_.perplexity);
    if (rows_of_p.missed > 0) {
      remark(fmt::format(
          "{} rows have more neighbours at one and the same distance than the perplexity {}; those "
          "attract alike",
          rows_of_p.missed, options_.perplexity));
    }
    const double both = 2.0 * static_cast<double>(neighbours.rows);
    graph_ =
        symmetric_graph(neighbours, rows_of_p.weights, [both](double a, double b) { return (a + b) / both; });
    for (const float weight : graph_.weights) {
      const auto p = static_cast<double>(weight);
      affinity_sum_ += p;
      if (p > 0) negative_entropy_ += p * std::log(p);
    }
  }

  void prepare(const std::vector<float>& points) {
    starts_ = uploaded(graph_.starts);
    columns_ = uploaded(graph_.columns);
    affinities_ = uploaded(graph_.weights);
    graph_ = {};
    const auto count = static_cast<std::size_t>(rows());
    memory_.points = static_cast<int>(rows());
    memory_.chunks = repulsion_chunks(place().device->info(), rows());
    positions_ = uploaded(points);
    // Velocities, gains, attraction, repulsion.
    state_ = room(4 * 2 * count * sizeof(float));
    sums_ = room(static_cast<std::size_t>(point_blocks(rows())) * sizeof(PairSums));
    if (place().device->kind() == core::DeviceKind::cuda) {
      partial_ = room(3 * count * static_cast<std::size_t>(memory_.chunks) * sizeof(float));
    }
    memory_.starts = starts_.as<int>();
    memory_.columns = columns_.as<int>();
    memory_.affinities = affinities_.as<float>();
    memory_.positions = positions_.as<float>();
    memory_.velocities = state_.as<float>();
    memory_.gains = memory_.velocities + 2 * count;
    memory_.attraction = memory_.gains + 2 * count;
    memory_.repulsion = memory_.attraction + 2 * count;
    memory_.sums = sums_.as<PairSums>();
    memory_.partial = partial_.as<float>();
    ones_ = uploaded(std::vector<float>(2 * count, 1.0f));
    rest();
  }

  /// No velocity, gains of 1.
  void rest() {
    place().stream->fill(memory_.velocities, 0, 2 * static_cast<std::size_t>(rows()) * sizeof(float));
    place().stream->copy(memory_.gains, ones_.data(), ones_.bytes());
  }

  TsneOptions options_;
  Graph graph_;  ///< until it is uploaded
  double affinity_sum_ = 0;
  double negative_entropy_ = 0;  ///< sum p log p
  core::Buffer starts_, columns_, affinities_, positions_, state_, sums_, partial_, ones_;
  TsneMemory memory_;
};

}  // namespace

std::unique_ptr<Map> make_tsne(const Place& place, const FeatureMatrix& features, const MapOptions& options,
                               const Watch& watch) {
  check_features(place, features);
  check_options(options.tsne, features.rows);
  return std::make_unique<Tsne>(place, features, options, watch);
}

}  // namespace warpscope::maps
