// UMAP: a graph of nearest neighbours with weights in [0, 1], laid out by attraction along its edges and repulsion
// between random pairs.
//
//   w_i->j = exp(-max(0, d_ij - rho_i) / sigma_i),   w_ij = w_i->j + w_j->i - w_i->j w_j->i
//
// rho_i is the distance of the nearest row that is not a duplicate, and sigma_i makes the weights of a row sum up to
// log2(n_neighbors). An edge attracts every (largest w / w_ij) epochs, and each time comes with negative samples.
//
// What differs from umap-learn: epochs are synchronous. The reference moves points while other threads read them, so
// that no two runs are alike. Here an epoch is a fixed number of steps, each with a part of the edges; in a step
// every point gathers its own forces from the former positions, in a fixed order, and random numbers depend
// only on seed, epoch and edge. Points begin at `initial`, scaled so that the largest coordinate is 10, with a little
// noise, or at random: there is no spectral beginning.
//
// Source: L. McInnes, J. Healy, J. Melville, "UMAP: Uniform manifold approximation and projection for dimension
// reduction" (2018), sections 3 and 4.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gpu/core/random.h"
#include "gpu/core/require.h"
#include "gpu/maps/affinities.h"
#include "gpu/maps/graph.h"
#include "gpu/maps/stepped_map.h"
#include "gpu/maps/umap_step.h"

namespace warpscope::maps {
namespace {

constexpr double kInitialSize = 10;
constexpr double kInitialNoise = 1e-4;
constexpr std::int64_t kSmallRows = 10000;
constexpr int kEpochsOfSmall = 500, kEpochsOfLarge = 200;
constexpr int kParts = 4;  // steps of an epoch; with one, points leap far beyond their places in early epochs

void check_options(const UmapOptions& options) {
  core::require(options.n_neighbors >= 2 && options.n_neighbors <= kMostNeighbours + 1,
                "UMAP takes 2 to {} neighbours, the row itself among them, not {}", kMostNeighbours + 1,
                options.n_neighbors);
  core::require(options.min_dist >= 0 && options.spread > 0 && options.min_dist <= options.spread &&
                    std::isfinite(options.spread),
                "UMAP needs 0 <= min_dist <= spread and a spread above 0, not min_dist {} and spread {}",
                options.min_dist, options.spread);
  core::require(options.epochs >= 0 && options.negative_samples >= 0,
                "UMAP takes no negative number of epochs ({}) or negative samples ({})", options.epochs,
                options.negative_samples);
  core::require(options.learning_rate > 0 && options.repulsion >= 0 && std::isfinite(options.learning_rate) &&
                    std::isfinite(options.repulsion),
                "UMAP needs a learning rate above 0 ({}) and a repulsion of at least 0 ({})",
                options.learning_rate, options.repulsion);
}

int epochs_of(const UmapOptions& options, std::int64_t rows) {
  if (options.epochs > 0) return options.epochs;
  return rows <= kSmallRows ? kEpochsOfSmall : kEpochsOfLarge;
}

std::vector<float> first_umap_positions(const MapOptions& options, std::int64_t rows) {
  std::vector<double> points = given_positions(options, rows);
  std::vector<float> placed(2 * static_cast<std::size_t>(rows));
  double size = 0;
  for (const double x : points) size = std::max(size, std::abs(x));
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const double place =
        points.empty() ? kInitialSize * (2 * core::random_unit(options.seed, i) - 1)
                       : kInitialSize / size * points[i] + kInitialNoise * random_normal(options.seed, i);
    placed[i] = static_cast<float>(place);
  }
  return placed;
}

class Umap final : public SteppedMap {
 public:
  Umap(const Place& where, const FeatureMatrix& features, const MapOptions& options, const Watch& watch)
      : SteppedMap(where, features.rows, epochs_of(options.umap, features.rows)),
        options_(options.umap),
        seed_(options.seed),
        curve_(fit_curve(options.umap.min_dist, options.umap.spread)) {
    const std::vector<float> points = first_umap_positions(options, features.rows);
    const std::int64_t others = std::min<std::int64_t>(options_.n_neighbors, features.rows) - 1;
    if (others < options_.n_neighbors - 1) {
      remark(fmt::format("{} neighbours are all that {} rows have", others + 1, features.rows));
    }
    Neighbours neighbours;
    phase("neighbours", [&] { neighbours = nearest_rows(where, features, static_cast<int>(others), watch); });
    if (watch.stop.stop_requested()) throw classifiers::Cancelled();
    phase("affinities", [&] { find_graph(neighbours); });
    phase("upload", [&] { prepare(points); });
  }

  std::string_view name() const override { return "umap"; }

 private:
  void enqueue(int index) override {
    UmapStep step;
    step.a = static_cast<float>(curve_.a);
    step.b = static_cast<float>(curve_.b);
    step.repulsion = static_cast<float>(options_.repulsion);
    step.learning_rate =
        static_cast<float>(options_.learning_rate * (1 - static_cast<double>(index) / iterations()));
    step.negative_samples = options_.negative_samples;
    step.seed = seed_;
    step.epoch = index + 1;
    step.parts = kParts;
    for (step.part = 0; step.part < kParts; ++step.part) {
      move_along_edges(*place().device, *place().stream, memory_, step);
      float* const now = memory_.after;
      memory_.after = const_cast<float*>(memory_.before);  // both are parts of positions_
      memory_.before = now;
    }
  }
  const float* current() const override { return memory_.before; }

  void find_graph(const Neighbours& neighbours) {
    const RowWeights weights = memberships(neighbours);
    if (weights.missed > 0) {
      remark(fmt::format(
          "{} rows have too many duplicates or neighbours at one distance for weights that sum up to "
          "log2({})",
          weights.missed, neighbours.count + 1));
    }
    graph_ = symmetric_graph(neighbours, weights.weights, [](double a, double b) { return a + b - a * b; });
    const float largest = *std::ranges::max_element(graph_.weights);
    for (float& weight : graph_.weights) weight /= largest;
  }

  void prepare(const std::vector<float>& points) {
    starts_ = uploaded(graph_.starts);
    columns_ = uploaded(graph_.columns);
    rates_ = uploaded(graph_.weights);
    graph_ = {};
    positions_ = uploaded(points);
    others_ = room(positions_.bytes());
    memory_ = {static_cast<int>(rows()), starts_.as<int>(),      columns_.as<int>(),
               rates_.as<float>(),       positions_.as<float>(), others_.as<float>()};
  }

  UmapOptions options_;
  std::uint64_t seed_;
  Curve curve_;
  Graph graph_;  ///< until it is uploaded
  core::Buffer starts_, columns_, rates_, positions_, others_;
  UmapMemory memory_;
};

}  // namespace

std::unique_ptr<Map> make_umap(const Place& place, const FeatureMatrix& features, const MapOptions& options,
                               const Watch& watch) {
  check_features(place, features);
  check_options(options.umap);
  return std::make_unique<Umap>(place, features, options, watch);
}

}  // namespace warpscope::maps
