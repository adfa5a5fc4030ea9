#include "gpu/maps/affinities.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <span>

#include "gpu/core/parallel.h"

namespace warpscope::maps {
namespace {

constexpr std::int64_t kPieceRows = 64;
constexpr int kMostHalvings = 100;
constexpr double kEntropyTolerance = 1e-6;  // of log(perplexity): relative to the perplexity itself
constexpr double kSumTolerance = 1e-5;
constexpr double kLeastScale = 1e-3;

/// Fills `weights` row by row; `fill` returns whether the row met what is asked for.
RowWeights for_rows(
    const Neighbours& neighbours,
    const std::function<bool(std::span<const float> squared, std::span<float> weights)>& fill) {
  const auto count = static_cast<std::size_t>(neighbours.count);
  RowWeights made;
  made.weights.resize(neighbours.squared_distances.size());
  std::atomic<std::int64_t> missed{0};
  core::parallel_for(neighbours.rows, kPieceRows, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::size_t first = static_cast<std::size_t>(i) * count;
      const bool met = fill(std::span(neighbours.squared_distances).subspan(first, count),
                            std::span(made.weights).subspan(first, count));
      if (!met) ++missed;
    }
  });
  made.missed = missed;
  return made;
}

/// A scale in (0, infinity) at which `excess`, which rises with it, is 0 to `tolerance`, by doubling from `scale` and
/// then halving the interval.
double solve_scale(double scale, double tolerance, const std::function<double(double)>& excess) {
  double low = 0, high = INFINITY;
  for (int i = 0; i < kMostHalvings; ++i) {
    const double now = excess(scale);
    if (std::abs(now) < tolerance) break;
    (now > 0 ? high : low) = scale;
    scale = std::isinf(high) ? scale * 2 : (low + high) / 2;
  }
  return scale;
}

/// log of the perplexity of exp(-(d - nearest) / scale).
double entropy(std::span<const float> squared, double scale) {
  double sum = 0, moment = 0;
  for (const float d : squared) {
    const double over = (static_cast<double>(d) - static_cast<double>(squared[0])) / scale;
    const double part = std::exp(-over);
    sum += part;
    moment += over * part;
  }
  return std::log(sum) + moment / sum;
}

bool fill_probabilities(std::span<const float> squared, double perplexity, std::span<float> weights) {
  const double wanted = std::log(perplexity);
  double mean = 0;
  std::ptrdiff_t nearest = 0;
  for (const float d : squared) {
    const double over = static_cast<double>(d) - static_cast<double>(squared[0]);
    mean += over / static_cast<double>(squared.size());
    nearest += over > 0 ? 0 : 1;
  }
  const bool possible = static_cast<double>(nearest) <= perplexity;
  if (!possible || mean <= 0) {
    const float part = 1.0f / static_cast<float>(nearest);
    for (std::size_t k = 0; k < weights.size(); ++k)
      weights[k] = static_cast<std::ptrdiff_t>(k) < nearest ? part : 0;
    return false;
  }
  const double scale =
      solve_scale(mean, kEntropyTolerance, [&](double now) { return entropy(squared, now) - wanted; });
  double sum = 0;
  for (const float d : squared)
    sum += std::exp(-(static_cast<double>(d) - static_cast<double>(squared[0])) / scale);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const double over = static_cast<double>(squared[k]) - static_cast<double>(squared[0]);
    weights[k] = static_cast<float>(std::exp(-over / scale) / sum);
  }
  return true;
}

double sum_of_memberships(std::span<const double> distances, double rho, double sigma) {
  double sum = 0;
  for (const double d : distances) sum += d > rho ? std::exp(-(d - rho) / sigma) : 1.0;
  return sum;
}

bool fill_memberships(std::span<const float> squared, double mean_of_all, std::span<float> weights) {
  std::vector<double> distances(squared.size());
  double mean = 0;
  for (std::size_t k = 0; k < squared.size(); ++k) {
    distances[k] = std::sqrt(static_cast<double>(squared[k]));
    mean += distances[k] / static_cast<double>(squared.size() + 1);
  }
  const auto above = std::upper_bound(distances.begin(), distances.end(), 0.0);
  const double rho = above == distances.end() ? 0.0 : *above;
  const double wanted = std::log2(static_cast<double>(squared.size() + 1));
  const auto excess = [&](double sigma) { return sum_of_memberships(distances, rho, sigma) - wanted; };
  double sigma =
      std::max(solve_scale(1.0, kSumTolerance, excess), kLeastScale * (rho > 0 ? mean : mean_of_all));
  if (!std::isfinite(sigma)) sigma = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const double over = distances[k] - rho;
    weights[k] = over <= 0 || sigma <= 0 ? 1.0f : static_cast<float>(std::exp(-over / sigma));
  }
  return sigma > 0 && std::abs(excess(sigma)) < 2 * kSumTolerance;
}

}  // namespace

RowWeights conditional_probabilities(const Neighbours& neighbours, double perplexity) {
  return for_rows(neighbours, [&](std::span<const float> squared, std::span<float> weights) {
    return fill_probabilities(squared, perplexity, weights);
  });
}

RowWeights memberships(const Neighbours& neighbours) {
  double mean = 0;
  for (const float d : neighbours.squared_distances) mean += std::sqrt(static_cast<double>(d));
  mean /= static_cast<double>(neighbours.rows) * (neighbours.count + 1);
  return for_rows(neighbours, [&](std::span<const float> squared, std::span<float> weights) {
    return fill_memberships(squared, mean, weights);
  });
}

}  // namespace warpscope::maps
