// Jacobi's method for small symmetric matrices.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gpu/inspect/pca.h"

namespace warpscope::inspect {
namespace {

constexpr int kMostSweeps = 60;

/// Cosine and sine of the rotation that makes a[p, q] zero.
struct Rotation {
  double c = 1;
  double s = 0;
};

Rotation rotation(double pp, double pq, double qq) {
  const double tau = (qq - pp) / (2 * pq);
  const double t = (tau >= 0 ? 1.0 : -1.0) / (std::fabs(tau) + std::sqrt(1 + tau * tau));
  const double c = 1 / std::sqrt(1 + t * t);
  return {c, t * c};
}

/// Columns p and q of an (n, n) matrix, turned.
void turn_columns(std::vector<double>& matrix, std::size_t n, std::size_t p, std::size_t q, Rotation by) {
  for (std::size_t i = 0; i < n; ++i) {
    const double left = matrix[i * n + p], right = matrix[i * n + q];
    matrix[i * n + p] = by.c * left - by.s * right;
    matrix[i * n + q] = by.s * left + by.c * right;
  }
}

void turn_rows(std::vector<double>& matrix, std::size_t n, std::size_t p, std::size_t q, Rotation by) {
  for (std::size_t i = 0; i < n; ++i) {
    const double upper = matrix[p * n + i], lower = matrix[q * n + i];
    matrix[p * n + i] = by.c * upper - by.s * lower;
    matrix[q * n + i] = by.s * upper + by.c * lower;
  }
}

/// One rotation for each pair; false if all was diagonal already.
bool sweep(std::vector<double>& matrix, std::vector<double>& vectors, std::size_t n) {
  bool turned = false;
  for (std::size_t p = 0; p < n; ++p) {
    for (std::size_t q = p + 1; q < n; ++q) {
      const double pq = matrix[p * n + q];
      const double pp = matrix[p * n + p], qq = matrix[q * n + q];
      if (std::fabs(pq) <= 1e-15 * std::sqrt(std::fabs(pp * qq)) || pq == 0) continue;
      const Rotation by = rotation(pp, pq, qq);
      turn_columns(matrix, n, p, q, by);
      turn_rows(matrix, n, p, q, by);
      turn_columns(vectors, n, p, q, by);
      turned = true;
    }
  }
  return turned;
}

}  // namespace

Eigen symmetric_eigen(std::vector<double> matrix, std::size_t n) {
  std::vector<double> vectors(n * n);
  for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1;
  for (int i = 0; i < kMostSweeps && sweep(matrix, vectors, n); ++i) continue;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return matrix[a * n + a] > matrix[b * n + b]; });
  Eigen result;
  result.vectors.resize(n * n);
  for (std::size_t j = 0; j < n; ++j) {
    result.values.push_back(matrix[order[j] * n + order[j]]);
    for (std::size_t i = 0; i < n; ++i) result.vectors[i * n + j] = vectors[i * n + order[j]];
  }
  return result;
}

}  // namespace warpscope::inspect
