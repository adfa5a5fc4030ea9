#pragma once
// Neighbours with weights as a symmetric sparse matrix.

#include <functional>
#include <span>
#include <vector>

#include "gpu/maps/neighbours.h"

namespace warpscope::maps {

/// A symmetric (rows, rows) matrix with zeros on its diagonal, in compressed rows: those of row i are
/// [starts[i], starts[i + 1]), with columns that rise.
struct Graph {
  std::vector<int> starts;  ///< (rows + 1)
  std::vector<int> columns;
  std::vector<float> weights;
};

/// combine(w_ij, w_ji) for each pair of which at least one is a neighbour of the other; what is not a neighbour
/// weighs 0. `weights`: (rows, count), as the neighbours. combine must give the same for swapped arguments. Throws
/// BadInput where the pairs are beyond 2^31.
Graph symmetric_graph(const Neighbours& neighbours, std::span<const float> weights,
                      const std::function<double(double, double)>& combine);

}  // namespace warpscope::maps
