// Principal components against the exact eigenvectors of the covariance, and that they keep still.

#include "gpu/inspect/pca.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/random.h"

namespace warpscope::inspect::pca_test {
namespace {

struct Sample {
  std::vector<float> values;
  std::size_t count = 0;
  std::size_t dims = 0;
  Rows rows() const { return {values, count, dims}; }
};

/// Rows whose standard deviation falls by `decay` from one hidden direction to the next; the directions are
/// mixtures of the dims, and the mean is not 0.
Sample sample(std::size_t count, std::size_t dims, double decay, std::uint64_t seed = 1) {
  Sample made{std::vector<float>(count * dims), count, dims};
  const std::size_t hidden = std::min<std::size_t>(dims, 12);
  std::uint64_t drawn = 0;
  const auto unit = [&](std::uint64_t stream) { return core::random_unit(stream, drawn++) - 0.5; };
  std::vector<double> mixture(hidden * dims);
  for (double& value : mixture) value = unit(seed);
  for (std::size_t i = 0; i < count; ++i) {
    double size = 10;
    std::vector<double> row(dims, 3.0);
    for (std::size_t h = 0; h < hidden; ++h, size *= decay) {
      const double amount = size * unit(seed + 1);
      for (std::size_t d = 0; d < dims; ++d) row[d] += amount * mixture[h * dims + d];
    }
    for (std::size_t d = 0; d < dims; ++d) made.values[i * dims + d] = static_cast<float>(row[d]);
  }
  return made;
}

/// The eigenvectors of the covariance in double precision.
Eigen exact(const Sample& from) {
  const std::size_t n = from.dims;
  std::vector<double> mean(n), covariance(n * n);
  for (std::size_t i = 0; i < from.count; ++i) {
    for (std::size_t d = 0; d < n; ++d) mean[d] += static_cast<double>(from.values[i * n + d]);
  }
  for (double& value : mean) value /= static_cast<double>(from.count);
  for (std::size_t i = 0; i < from.count; ++i) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        covariance[a * n + b] += (static_cast<double>(from.values[i * n + a]) - mean[a]) *
                                 (static_cast<double>(from.values[i * n + b]) - mean[b]) /
                                 static_cast<double>(from.count - 1);
      }
    }
  }
  return symmetric_eigen(covariance, n);
}

double cosine_with(const Components& found, std::size_t k, const Eigen& wanted, std::size_t n) {
  double sum = 0;
  for (std::size_t d = 0; d < n; ++d) {
    sum += static_cast<double>(found.component(k)[d]) * wanted.vectors[d * n + k];
  }
  return std::fabs(sum);
}

TEST(SymmetricEigen, GivesBackTheMatrix) {
  const std::size_t n = 7;
  std::vector<double> matrix(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      matrix[i * n + j] = matrix[j * n + i] = core::random_unit(3, i * n + j) - 0.5;
  }
  const Eigen eigen = symmetric_eigen(matrix, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0, product = 0;
      for (std::size_t k = 0; k < n; ++k) {
        sum += eigen.values[k] * eigen.vectors[i * n + k] * eigen.vectors[j * n + k];
        product += eigen.vectors[k * n + i] * eigen.vectors[k * n + j];
      }
      EXPECT_NEAR(sum, matrix[i * n + j], 1e-12);
      EXPECT_NEAR(product, i == j ? 1 : 0, 1e-12) << "eigenvectors are orthonormal";
    }
    if (i > 0) {
      EXPECT_LE(eigen.values[i], eigen.values[i - 1]);
    }
  }
}

TEST(PrincipalComponents, AreTheEigenvectorsOfTheCovariance) {
  for (const std::size_t dims : {5u, 16u, 40u}) {
    const Sample rows = sample(60, dims, 0.7);
    const Components found = principal_components(rows.rows(), {.tolerance = 1e-9});
    const Eigen wanted = exact(rows);
    double total = 0;
    for (const double value : wanted.values) total += value;
    EXPECT_NEAR(found.total_variance, total, 1e-5 * total);
    ASSERT_EQ(found.rank, std::min<std::size_t>(6, dims));
    for (std::size_t k = 0; k < found.rank; ++k) {
      EXPECT_NEAR(found.variances[k], wanted.values[k], 1e-5 * wanted.values[0]) << dims << " " << k;
      EXPECT_GT(cosine_with(found, k, wanted, dims), 0.9999) << dims << " " << k;
      EXPECT_NEAR(found.share(k), wanted.values[k] / total, 1e-5);
    }
  }
}

TEST(PrincipalComponents, HaveScoresThatGiveBackTheRows) {
  const Sample rows = sample(9, 6, 0.5);
  const Components found = principal_components(rows.rows(), {.tolerance = 1e-9});
  for (std::size_t i = 0; i < rows.count; ++i) {
    for (std::size_t d = 0; d < rows.dims; ++d) {
      float sum = found.mean[d];
      for (std::size_t k = 0; k < found.rank; ++k)
        sum += found.scores[i * found.rank + k] * found.component(k)[d];
      EXPECT_NEAR(sum, rows.values[i * rows.dims + d], 1e-4);
    }
  }
}

TEST(PrincipalComponents, BeginWithThoseOfBeforeAndAreFoundSooner) {
  const Sample rows = sample(80, 200, 0.9);
  const Components cold = principal_components(rows.rows());
  const Components warm = principal_components(rows.rows(), {}, &cold);
  EXPECT_LT(warm.iterations, cold.iterations);
  EXPECT_NEAR(warm.variances[0], cold.variances[0], 1e-4 * cold.variances[0]);
}

TEST(PrincipalComponents, OfEqualRowsHaveNoVariance) {
  const Sample rows{std::vector<float>(std::size_t{12} * 5, 2.0f), 12, 5};
  const Components found = principal_components(rows.rows());
  ASSERT_EQ(found.rank, 5u);
  for (const double variance : found.variances) EXPECT_EQ(variance, 0);
  EXPECT_EQ(found.share(0), 0);
  for (const float score : found.scores) EXPECT_EQ(score, 0);
}

TEST(PrincipalComponents, AreNoMoreThanTwoRowsCanHave) {
  const Components found = principal_components(sample(2, 30, 0.8).rows());
  EXPECT_EQ(found.rank, 2u);
  EXPECT_NEAR(found.share(0), 1, 1e-6);
  EXPECT_NEAR(found.share(1), 0, 1e-6);
}

TEST(PrincipalComponents, OfNumbersThatAreNotFiniteOrOfOneRowAreRefused) {
  Sample rows = sample(10, 4, 0.8);
  rows.values[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(principal_components(rows.rows()), std::invalid_argument);
  EXPECT_THROW(principal_components(sample(1, 4, 0.8).rows()), std::invalid_argument);
}

/// Component `k` with the other sign.
void flip(Components& components, std::size_t k) {
  const std::size_t dims = components.mean.size();
  for (std::size_t d = 0; d < dims; ++d) components.components[k * dims + d] *= -1;
  for (std::size_t i = k; i < components.scores.size(); i += components.rank) components.scores[i] *= -1;
}

TEST(Align, TakesBackASignThatFlipped) {
  const Components before = principal_components(sample(40, 20, 0.7).rows());
  Components now = before;
  flip(now, 0);
  flip(now, 3);
  align(now, before);
  EXPECT_EQ(now.scores, before.scores);
  EXPECT_EQ(now.components, before.components);
}

/// Two clouds along the axes of a plane, with standard deviations `x` and `y` but for a common factor.
Sample cross(float x, float y) {
  Sample made{{}, 8, 2};
  for (const float side : {-3.0f, -1.0f, 1.0f, 3.0f}) {
    made.values.insert(made.values.end(), {side * x, 0, 0, side * y});
  }
  return made;
}

TEST(Align, KeepsTheOrderOfComponentsWhoseVariancesComeClose) {
  const Components before = principal_components(cross(1.0f, 0.98f).rows(), {.tolerance = 1e-12});
  Components now = principal_components(cross(0.98f, 1.0f).rows(), {.tolerance = 1e-12});
  ASSERT_GT(std::fabs(now.component(0)[1]), 0.99f) << "they have changed places";
  align(now, before);
  EXPECT_GT(now.component(0)[0], 0.99f);
  EXPECT_GT(now.variances[1], now.variances[0]);
}

TEST(Align, LetsAComponentPassThatHasGrownByMoreThanAQuarter) {
  const Components before = principal_components(cross(1.0f, 0.98f).rows(), {.tolerance = 1e-12});
  Components now = principal_components(cross(0.8f, 1.0f).rows(), {.tolerance = 1e-12});
  align(now, before);
  EXPECT_GT(std::fabs(now.component(0)[1]), 0.99f);
  EXPECT_GT(now.variances[0], now.variances[1]);
}

TEST(Align, HoldsThePictureStillWhileTheRowsDriftAndTurn) {
  Sample rows = sample(50, 30, 0.8);
  Components before = principal_components(rows.rows());
  for (std::uint64_t step = 0; step < 20; ++step) {
    for (std::size_t i = 0; i < rows.values.size(); ++i)
      rows.values[i] += 0.05f * static_cast<float>(core::random_unit(step, i) - 0.5);
    Components now = principal_components(rows.rows(), {}, &before);
    align(now, before);
    for (std::size_t k = 0; k < 2; ++k) {
      double both = 0, length = 0;
      for (std::size_t i = 0; i < rows.count; ++i) {
        const auto a = static_cast<double>(now.scores[i * now.rank + k]);
        const auto b = static_cast<double>(before.scores[i * now.rank + k]);
        both += a * b;
        length += b * b;
      }
      EXPECT_GT(both, 0.95 * length) << step << " " << k;
    }
    before = now;
  }
}

TEST(Align, LeavesOtherRowsAsTheyAre) {
  Components now = principal_components(sample(40, 20, 0.7).rows());
  const Components before = principal_components(sample(41, 20, 0.7).rows());
  flip(now, 0);
  const Components wanted = now;
  align(now, before);
  EXPECT_EQ(now.scores, wanted.scores);
}

}  // namespace
}  // namespace warpscope::inspect::pca_test
