#pragma once
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
// every point gathers its own forces from the positions of before, in a fixed order, and random numbers depend on
// seed, epoch and edge alone. Points begin at `initial`, scaled so that the largest coordinate is 10, with a little
// noise, or at random: there is no spectral beginning.
//
// Source: L. McInnes, J. Healy, J. Melville, "UMAP: Uniform manifold approximation and projection for dimension
// reduction" (2018), sections 3 and 4.

#include "gpu/maps/map.h"

namespace warpscope::maps {

/// Row "umap" of the table; objective() knows nothing: the method never computes its cross-entropy.
std::unique_ptr<Map> make_umap(const Place& place, const FeatureMatrix& features, const MapOptions& options,
                               const Watch& watch);

}  // namespace warpscope::maps
