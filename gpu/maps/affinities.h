#pragma once
// How alike neighbours are, row by row: t-SNE's conditional probabilities and UMAP's memberships.

#include <cstdint>
#include <vector>

#include "gpu/maps/graph.h"

namespace warpscope::maps {

/// Weights of neighbours before they are made symmetric.
struct RowWeights {
  std::vector<float> weights;  ///< (rows, count)
  std::int64_t missed = 0;     ///< rows that cannot meet what is asked for
};

/// p_j|i = exp(-beta_i d_ij^2) / sum over k of exp(-beta_i d_ik^2) over the neighbours of each row, with the beta_i
/// (found by bisection of its logarithm) for which exp(-sum p_j|i log p_j|i) = perplexity, to 1e-6 relative. Rows
/// with more than `perplexity` nearest neighbours at one distance cannot meet it: those get equal parts, and are
/// counted in `missed`. 1 < perplexity < count. Source: L. van der Maaten, G. Hinton, "Visualizing data using t-SNE"
/// (2008), section 2.
RowWeights conditional_probabilities(const Neighbours& neighbours, double perplexity);

/// w_i->j = exp(-max(0, d_ij - rho_i) / sigma_i), with rho_i the smallest distance above 0 (0 if there is none) and the
/// sigma_i (found by bisection) for which the weights of a row sum up to log2(count + 1), to 1e-5, but at least 1e-3
/// times the mean distance, the row itself among them: of the row if rho_i > 0, else of all. `missed` counts rows
/// whose sum is off: those with more neighbours at rho_i or nearer than log2(count + 1). Source: L. McInnes, J.
/// Healy, J. Melville, "UMAP" (2018), algorithm 3, and umap-learn's smooth_knn_dist.
RowWeights memberships(const Neighbours& neighbours);

}  // namespace warpscope::maps
