#pragma once
// Principal components of many long rows, brought up to date again and again while the rows change.

#include <cstddef>
#include <span>
#include <vector>

namespace warpscope::inspect {

/// `count` rows of `dims` numbers, row by row.
struct Rows {
  std::span<const float> values;
  std::size_t count = 0;
  std::size_t dims = 0;
};

/// The first components of rows x_i:
///   x_i = mean + sum_k score[i, k] component[k] + what further components hold
/// with components of norm 1, orthogonal to each other, and scores whose mean is 0.
struct Components {
  std::size_t rank = 0;           ///< how many components
  std::vector<float> mean;        ///< (dims)
  std::vector<float> components;  ///< (rank, dims)
  std::vector<float> scores;      ///< (count, rank)
  std::vector<double> variances;  ///< (rank): sum_i score[i, k]^2 / (count - 1)
  double total_variance = 0;      ///< of all dims together
  int iterations = 0;

  std::span<const float> component(std::size_t k) const {
    const std::size_t dims = mean.size();
    return std::span(components).subspan(k * dims, dims);
  }
  /// Part of the variance that lies along component k, from 0 to 1.
  double share(std::size_t k) const { return total_variance > 0 ? variances[k] / total_variance : 0; }
};

struct PcaOptions {
  std::size_t rank = 6;     ///< at most; never more than there are rows or dims, nor than kLargestRank
  double tolerance = 1e-5;  ///< iterates until no variance changes by more than this part of the largest
  int most_iterations = 60;
};

inline constexpr std::size_t kLargestRank = 8;

/// The components of the largest variances, the largest first, by subspace iteration with Rayleigh-Ritz:
///   Y = X Q,   G = Y^T Y = W diag(l) W^T,   Q <- orth(X^T Y W)
/// where X holds the rows less their mean and Q, (dims, 16), begins with the components of `before`, filled up
/// with random vectors; the components are the columns of Q W, the variances l / (count - 1). Signs are those
/// that make the largest number of a component positive. All numbers must be finite, and `count` at least 2;
/// throws std::invalid_argument otherwise.
/// Source: N. Halko, P. Martinsson, J. Tropp, "Finding structure with randomness" (2011), algorithm 4.4.
Components principal_components(const Rows& rows, const PcaOptions& options = {},
                                const Components* before = nullptr);

/// Gives components the signs and the places that make the picture most like the one before, so that it
/// neither flips nor swaps its axes: each place takes the component whose scores, over the same rows, have the
/// largest |cosine| with the scores of that place before, and the sign of that cosine. A component does not
/// stay behind one with a variance less than 1/1.25 of its own. Does nothing where the rows are not as many.
void align(Components& now, const Components& before);

/// Eigenvalues of a symmetric matrix, the largest first, and eigenvectors as columns, by Jacobi's rotations.
/// Source: G. Golub, C. Van Loan, "Matrix Computations" (2013), section 8.5.
struct Eigen {
  std::vector<double> values;   ///< (n)
  std::vector<double> vectors;  ///< (n, n), row by row; column j belongs to value j
};
Eigen symmetric_eigen(std::vector<double> matrix, std::size_t n);

}  // namespace warpscope::inspect
