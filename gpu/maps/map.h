#pragma once
// Maps: rows of features as points in the plane, so that rows that are alike lie side by side.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/classifiers/classifier.h"
#include "gpu/classifiers/features.h"
#include "gpu/core/not_sent.h"

namespace warpscope::maps {

using classifiers::FeatureMatrix;
using classifiers::Place;
using classifiers::Watch;

/// Source of the names and defaults: L. van der Maaten, G. Hinton, "Visualizing data using t-SNE" (2008), and
/// scikit-learn's TSNE.
struct TsneOptions {
  double perplexity = 30;          ///< effective number of neighbours of a row, in (1, rows - 1)
  double early_exaggeration = 12;  ///< factor of the attraction in the first iterations
  int exaggeration_iterations = 250;
  int iterations = 1000;     ///< of both phases together
  double learning_rate = 0;  ///< 0: max(rows / early_exaggeration / 4, 50)
  double early_momentum = 0.5;
  double momentum = 0.8;
};

/// Source of the names and defaults: L. McInnes, J. Healy, J. Melville, "UMAP: Uniform manifold approximation and
/// projection for dimension reduction" (2018), and its package umap-learn.
struct UmapOptions {
  int n_neighbors = 15;      ///< of a row, itself among them: at least 2
  double min_dist = 0.1;     ///< how close points may lie, in units of the plane; at most `spread`
  double spread = 1;         ///< the scale at which points count as apart
  int epochs = 0;            ///< 0: 500 up to 10,000 rows, 200 above
  int negative_samples = 5;  ///< repulsions for each attraction
  double learning_rate = 1;  ///< falls to 0 in a straight line
  double repulsion = 1;      ///< weight of negative samples
};

struct MapOptions {
  std::uint64_t seed = 0;
  /// (rows, 2), row by row: where points begin; read only by make(). Usually the first two principal components.
  /// Every map scales it to what its method begins with. Empty: random numbers from the seed.
  core::NotSent<std::span<const float>> initial;
  TsneOptions tsne;
  UmapOptions umap;
};

/// A map while it settles. It owns all that it needs; the features are not looked at again. Its calls come from one
/// thread at a time, which has made the device its current one. The same features, options and device give the same
/// bits, however the iterations are divided over calls.
class Map {
 public:
  virtual ~Map() = default;
  virtual std::string_view name() const = 0;  ///< of its row in map_table()
  virtual std::int64_t rows() const = 0;
  virtual int iterations() const = 0;  ///< of the whole map
  virtual int iteration() const = 0;   ///< how many of them are done
  /// Makes up to `count` iterations, fewer where the map is done, and returns how many. Waits for them. Looks at
  /// watch.stop at least every 50 ms of device time and throws Cancelled; the map can be stepped on from there.
  virtual int step(int count, const Watch& watch = {}) = 0;
  /// (rows, 2), row by row, on the host, with a mean of 0.
  virtual std::vector<float> positions() = 0;
  /// What the method minimizes, at the positions of now; nothing where the method never computes it.
  virtual std::optional<double> objective() = 0;
  /// Seconds of the parts of make(), in order.
  virtual const std::vector<classifiers::PhaseTime>& phases() const = 0;
  /// Sentences for people: rows with too many duplicates, fewer neighbours than asked for.
  virtual const std::vector<std::string>& remarks() const = 0;
};

/// A method, one row of the table.
struct MapKind {
  std::string_view name;     ///< as on the command line: "tsne"
  std::string_view title;    ///< as people write it: "t-SNE"
  std::string_view summary;  ///< one sentence
  /// Finds neighbours and affinities, the costly beginning. `features` lie in memory of `place`. Throws BadInput in
  /// one sentence if there are too few rows, if an option is out of its range, if `initial` has another size or if a
  /// number is not finite (naming the first row and column); Cancelled; OutOfMemory.
  std::unique_ptr<Map> (*make)(const Place& place, const FeatureMatrix& features, const MapOptions& options,
                               const Watch& watch);
};

std::span<const MapKind> map_table();

/// Throws BadInput that lists the names.
const MapKind& find_map(std::string_view name);

}  // namespace warpscope::maps
