#include "gpu/inspect/pca.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "gpu/core/random.h"

namespace warpscope::inspect {
namespace {

/// Columns of the subspace: more than components are asked for, so that it converges faster. Fixed, so that the
/// compiler makes vector instructions of the innermost loops.
constexpr std::size_t kWidth = 16;
/// Rows whose products with a tall matrix are added in one pass over it.
constexpr std::size_t kBlock = 8;
constexpr double kOrderSlack = 1.25;

using Row = std::array<float, kWidth>;
using Tall = std::vector<Row>;  ///< (rows or dims, kWidth)

class Subspace {
 public:
  Subspace(const Rows& rows, const PcaOptions& options)
      : rows_(rows),
        options_(options),
        width_(std::min({kWidth, rows.count, rows.dims})),
        mean_(rows.dims),
        basis_(rows.dims, Row{}),
        products_(rows.count, Row{}) {
    find_mean();
  }

  Components run(const Components* before) {
    begin(before);
    Components result;
    result.rank = std::min({options_.rank, kLargestRank, width_});
    Eigen ritz;
    std::vector<double> earlier(result.rank, -1);
    for (result.iterations = 1;; ++result.iterations) {
      multiply();
      ritz = symmetric_eigen(gram(), width_);
      if (settled(ritz.values, earlier) || result.iterations >= options_.most_iterations) break;
      for (std::size_t k = 0; k < earlier.size(); ++k) earlier[k] = ritz.values[k];
      multiply_back(ritz);
      make_orthonormal();
    }
    fill(result, ritz);
    return result;
  }

 private:
  const float* row(std::size_t i) const { return rows_.values.data() + i * rows_.dims; }

  void find_mean() {
    std::vector<double> sums(rows_.dims);
    for (std::size_t i = 0; i < rows_.count; ++i) {
      const float* const x = row(i);
      for (std::size_t d = 0; d < rows_.dims; ++d) sums[d] += static_cast<double>(x[d]);
    }
    for (std::size_t d = 0; d < rows_.dims; ++d) {
      mean_[d] = static_cast<float>(sums[d] / static_cast<double>(rows_.count));
    }
  }

  double total_variance() const {
    double sum = 0;
    for (std::size_t i = 0; i < rows_.count; ++i) {
      const float* const x = row(i);
      for (std::size_t d = 0; d < rows_.dims; ++d) {
        const double off = static_cast<double>(x[d]) - static_cast<double>(mean_[d]);
        sum += off * off;
      }
    }
    return sum / static_cast<double>(rows_.count - 1);
  }

  void begin(const Components* before) {
    const std::size_t known = before != nullptr && before->mean.size() == rows_.dims ? before->rank : 0;
    for (std::size_t d = 0; d < rows_.dims; ++d) {
      for (std::size_t k = 0; k < width_; ++k) {
        basis_[d][k] = k < known ? before->components[k * rows_.dims + d]
                                 : static_cast<float>(core::random_unit(k, d) - 0.5);
      }
    }
    make_orthonormal();
  }

  /// products = X basis
  void multiply() {
    for (std::size_t i = 0; i < rows_.count; ++i) {
      const float* const x = row(i);
      Row sum{};
      for (std::size_t d = 0; d < rows_.dims; ++d) {
        const float value = x[d] - mean_[d];
        for (std::size_t k = 0; k < kWidth; ++k) sum[k] += value * basis_[d][k];
      }
      products_[i] = sum;
    }
  }

  std::vector<double> gram() const {
    std::vector<double> sums(width_ * width_);
    for (const Row& y : products_) {
      for (std::size_t a = 0; a < width_; ++a) {
        for (std::size_t b = 0; b < width_; ++b) {
          sums[a * width_ + b] += static_cast<double>(y[a]) * static_cast<double>(y[b]);
        }
      }
    }
    return sums;
  }

  bool settled(const std::vector<double>& values, const std::vector<double>& earlier) const {
    const double allowed = options_.tolerance * std::fabs(values[0]);
    for (std::size_t k = 0; k < earlier.size(); ++k) {
      if (!(std::fabs(values[k] - earlier[k]) <= allowed)) return false;
    }
    return true;
  }

  /// tall W, for the eigenvectors W of the products.
  void turn(Tall& tall, const Eigen& ritz) const {
    for (Row& each : tall) {
      Row turned{};
      for (std::size_t k = 0; k < width_; ++k) {
        double sum = 0;
        for (std::size_t j = 0; j < width_; ++j) {
          sum += static_cast<double>(each[j]) * ritz.vectors[j * width_ + k];
        }
        turned[k] = static_cast<float>(sum);
      }
      each = turned;
    }
  }

  /// basis = X^T products W
  void multiply_back(const Eigen& ritz) {
    turn(products_, ritz);
    std::ranges::fill(basis_, Row{});
    for (std::size_t first = 0; first < rows_.count; first += kBlock) {
      const std::size_t end = std::min(first + kBlock, rows_.count);
      for (std::size_t d = 0; d < rows_.dims; ++d) {
        Row sum = basis_[d];
        for (std::size_t i = first; i < end; ++i) {
          const float value = row(i)[d] - mean_[d];
          for (std::size_t k = 0; k < kWidth; ++k) sum[k] += value * products_[i][k];
        }
        basis_[d] = sum;
      }
    }
  }

  double dot(std::size_t a, std::size_t b) const {
    double sum = 0;
    for (const Row& each : basis_) sum += static_cast<double>(each[a]) * static_cast<double>(each[b]);
    return sum;
  }

  /// Takes from column k what lies along the columns before it.
  void take_out(std::size_t k) {
    for (std::size_t j = 0; j < k; ++j) {
      const double along = dot(j, k);
      for (Row& each : basis_) {
        each[k] = static_cast<float>(static_cast<double>(each[k]) - along * static_cast<double>(each[j]));
      }
    }
  }

  /// Gram-Schmidt, each column twice. A column that depends on those before it becomes a random one.
  void make_orthonormal() {
    std::uint64_t seed = kWidth;
    for (std::size_t k = 0; k < width_; ++k) {
      double left = 0;
      for (double length = std::sqrt(dot(k, k));; length = std::sqrt(dot(k, k))) {
        take_out(k);
        left = std::sqrt(dot(k, k));
        if (left > 1e-6 * length && left > 0) break;
        ++seed;
        for (std::size_t d = 0; d < rows_.dims; ++d) {
          basis_[d][k] = static_cast<float>(core::random_unit(seed, d) - 0.5);
        }
      }
      scale(k, 1 / left);
      take_out(k);
      scale(k, 1 / std::sqrt(dot(k, k)));
    }
  }

  void scale(std::size_t k, double by) {
    for (Row& each : basis_) each[k] = static_cast<float>(by * static_cast<double>(each[k]));
  }

  void fill(Components& result, const Eigen& ritz) {
    turn(products_, ritz);
    turn(basis_, ritz);
    result.total_variance = total_variance();
    for (std::size_t k = 0; k < result.rank; ++k) {
      result.variances.push_back(std::max(0.0, ritz.values[k]) / static_cast<double>(rows_.count - 1));
      const auto largest = std::ranges::max_element(
          basis_, [k](const Row& a, const Row& b) { return std::fabs(a[k]) < std::fabs(b[k]); });
      const float sign = (*largest)[k] < 0 ? -1.0f : 1.0f;
      for (Row& each : basis_) each[k] *= sign;
      for (Row& each : products_) each[k] *= sign;
      for (const Row& each : basis_) result.components.push_back(each[k]);
    }
    for (const Row& each : products_) {
      result.scores.insert(result.scores.end(), each.begin(),
                           each.begin() + static_cast<std::ptrdiff_t>(result.rank));
    }
    result.mean = std::move(mean_);
  }

  const Rows& rows_;
  const PcaOptions& options_;
  std::size_t width_;
  std::vector<float> mean_;
  Tall basis_;     ///< Q
  Tall products_;  ///< Y
};

/// The cosine between the scores of component `a` now and of component `b` before.
double cosine(const Components& now, std::size_t a, const Components& before, std::size_t b) {
  double both = 0, here = 0, there = 0;
  const std::size_t count = now.scores.size() / now.rank;
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(now.scores[i * now.rank + a]);
    const auto y = static_cast<double>(before.scores[i * before.rank + b]);
    both += x * y;
    here += x * x;
    there += y * y;
  }
  const double lengths = std::sqrt(here * there);
  return lengths > 0 ? both / lengths : 0;
}

/// Which component comes to each place.
std::vector<std::size_t> order_like(const Components& now, const Components& before) {
  std::vector<std::size_t> left(now.rank), order;
  std::iota(left.begin(), left.end(), std::size_t{0});
  for (std::size_t place = 0; place < now.rank; ++place) {
    const auto best = std::ranges::max_element(left, [&](std::size_t a, std::size_t b) {
      return std::fabs(cosine(now, a, before, place)) < std::fabs(cosine(now, b, before, place));
    });
    order.push_back(*best);
    left.erase(best);
  }
  for (std::size_t end = order.size(); end > 1; --end) {
    for (std::size_t k = 0; k + 1 < end; ++k) {
      const bool stays = now.variances[order[k + 1]] <= kOrderSlack * now.variances[order[k]];
      if (!stays) std::swap(order[k], order[k + 1]);
    }
  }
  return order;
}

}  // namespace

Components principal_components(const Rows& rows, const PcaOptions& options, const Components* before) {
  if (rows.count < 2 || rows.dims < 1 || options.rank < 1 || rows.values.size() != rows.count * rows.dims ||
      !std::ranges::all_of(rows.values, [](float v) { return std::isfinite(v); })) {
    throw std::invalid_argument("principal components take at least two rows of finite numbers");
  }
  return Subspace(rows, options).run(before);
}

void align(Components& now, const Components& before) {
  if (now.rank != before.rank || now.scores.size() != before.scores.size()) return;
  const std::vector<std::size_t> order = order_like(now, before);
  Components aligned = now;
  const std::size_t count = now.scores.size() / now.rank, dims = now.mean.size();
  for (std::size_t place = 0; place < now.rank; ++place) {
    const std::size_t from = order[place];
    const float sign = cosine(now, from, before, place) < 0 ? -1.0f : 1.0f;
    aligned.variances[place] = now.variances[from];
    for (std::size_t d = 0; d < dims; ++d) {
      aligned.components[place * dims + d] = sign * now.components[from * dims + d];
    }
    for (std::size_t i = 0; i < count; ++i) {
      aligned.scores[i * now.rank + place] = sign * now.scores[i * now.rank + from];
    }
  }
  now = std::move(aligned);
}

}  // namespace warpscope::inspect
