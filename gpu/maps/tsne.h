#pragma once
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

#include "gpu/maps/map.h"

namespace warpscope::maps {

/// Row "tsne" of the table; objective() is the KL divergence, in nats, without exaggeration.
std::unique_ptr<Map> make_tsne(const Place& place, const FeatureMatrix& features, const MapOptions& options,
                               const Watch& watch);

}  // namespace warpscope::maps
