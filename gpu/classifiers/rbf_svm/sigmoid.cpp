#include "gpu/classifiers/rbf_svm/sigmoid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace warpscope::classifiers::rbf {
namespace {

/// log(1 + exp(x)) without overflow.
double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

/// 1 / (1 + exp(x)) without overflow.
double falling(double x) {
  return x >= 0 ? std::exp(-x) / (1 + std::exp(-x)) : 1 / (1 + std::exp(x));
}

/// The negative logarithm of the likelihood.
double loss(const Sigmoid& s, std::span<const double> decisions, std::span<const double> targets) {
  double sum = 0;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const double x = decisions[i] * s.a + s.b;
    sum += targets[i] * x + softplus(-x);
  }
  return sum;
}

struct Derivatives {
  double g1 = 0, g2 = 0, h11 = 1e-12, h22 = 1e-12, h21 = 0;
};

Derivatives derivatives(const Sigmoid& s, std::span<const double> decisions,
                        std::span<const double> targets) {
  Derivatives d;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const double p = falling(decisions[i] * s.a + s.b);
    const double curve = p * (1 - p);
    const double slope = targets[i] - p;
    d.h11 += decisions[i] * decisions[i] * curve;
    d.h22 += curve;
    d.h21 += decisions[i] * curve;
    d.g1 += decisions[i] * slope;
    d.g2 += slope;
  }
  return d;
}

}  // namespace

Sigmoid fit_sigmoid(std::span<const double> decisions, std::span<const char> is_first) {
  const auto first = static_cast<double>(std::ranges::count(is_first, char{1}));
  const double second = static_cast<double>(is_first.size()) - first;
  std::vector<double> targets(is_first.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i] = is_first[i] != 0 ? (first + 1) / (first + 2) : 1 / (second + 2);
  }
  Sigmoid s{0, std::log((second + 1) / (first + 1))};
  double now = loss(s, decisions, targets);
  for (int iteration = 0; iteration < 100; ++iteration) {
    const Derivatives d = derivatives(s, decisions, targets);
    if (std::abs(d.g1) < 1e-5 && std::abs(d.g2) < 1e-5) break;
    const double determinant = d.h11 * d.h22 - d.h21 * d.h21;
    const double step_a = -(d.h22 * d.g1 - d.h21 * d.g2) / determinant;
    const double step_b = -(-d.h21 * d.g1 + d.h11 * d.g2) / determinant;
    const double slope = d.g1 * step_a + d.g2 * step_b;
    double length = 1;
    for (; length >= 1e-10; length /= 2) {
      const Sigmoid next{s.a + length * step_a, s.b + length * step_b};
      const double then = loss(next, decisions, targets);
      if (then < now + 1e-4 * length * slope) {
        s = next;
        now = then;
        break;
      }
    }
    if (length < 1e-10) break;
  }
  return s;
}

double probability(const Sigmoid& sigmoid, double decision) {
  return std::clamp(falling(decision * sigmoid.a + sigmoid.b), 1e-7, 1 - 1e-7);
}

std::vector<double> couple(std::span<const double> pairwise, int classes) {
  const auto k = static_cast<std::size_t>(classes);
  const auto r = [&](std::size_t a, std::size_t b) { return pairwise[a * k + b]; };
  // p minimizes p^T Q p among probabilities.
  std::vector<double> q(k * k, 0.0);
  for (std::size_t a = 0; a < k; ++a) {
    for (std::size_t b = 0; b < k; ++b) {
      if (a == b) continue;
      q[a * k + a] += r(b, a) * r(b, a);
      q[a * k + b] = -r(b, a) * r(a, b);
    }
  }
  std::vector<double> p(k, 1.0 / static_cast<double>(k));
  std::vector<double> qp(k);
  const double enough = 0.005 / static_cast<double>(k);
  for (int iteration = 0; iteration < std::max(100, classes); ++iteration) {
    double pqp = 0;
    for (std::size_t a = 0; a < k; ++a) {
      qp[a] = 0;
      for (std::size_t b = 0; b < k; ++b) qp[a] += q[a * k + b] * p[b];
      pqp += p[a] * qp[a];
    }
    double worst = 0;
    for (std::size_t a = 0; a < k; ++a) worst = std::max(worst, std::abs(qp[a] - pqp));
    if (worst < enough) break;
    for (std::size_t a = 0; a < k; ++a) {
      const double change = (pqp - qp[a]) / q[a * k + a];
      p[a] += change;
      const double scale = 1 + change;
      pqp = (pqp + change * (change * q[a * k + a] + 2 * qp[a])) / (scale * scale);
      for (std::size_t b = 0; b < k; ++b) {
        qp[b] = (qp[b] + change * q[a * k + b]) / scale;
        p[b] /= scale;
      }
    }
  }
  return p;
}

}  // namespace warpscope::classifiers::rbf
