#include "gpu/inspect/ssim.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace warpscope::inspect {
namespace {

constexpr double kC1 = 0.01 * 0.01, kC2 = 0.03 * 0.03;
constexpr std::size_t kWindow = kSsimWindow;

/// What is averaged under the window: x, y, x x, y y, x y.
constexpr std::size_t kMoments = 5;
using Moments = std::array<double, kMoments>;

std::array<double, kWindow> window() {
  std::array<double, kWindow> weights{};
  double sum = 0;
  for (std::size_t i = 0; i < kWindow; ++i) {
    const double away = static_cast<double>(i) - (kSsimWindow - 1) / 2.0;
    weights[i] = std::exp(-away * away / (2 * kSsimSigma * kSsimSigma));
    sum += weights[i];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// One channel of both images.
struct Pair {
  const float* x;
  const float* y;
  std::size_t height, width, stride;

  Moments at(std::size_t row, std::size_t column) const {
    const std::size_t place = (row * width + column) * stride;
    const auto a = static_cast<double>(x[place]), b = static_cast<double>(y[place]);
    return {a, b, a * a, b * b, a * b};
  }
};

/// The window is a product of one along the rows and one along the columns: (height, width - 10) moments.
std::vector<Moments> average_rows(const Pair& pair, const std::array<double, kWindow>& weights) {
  const std::size_t columns = pair.width - kWindow + 1;
  std::vector<Moments> result(pair.height * columns);
  std::vector<Moments> line(pair.width);
  for (std::size_t row = 0; row < pair.height; ++row) {
    for (std::size_t column = 0; column < pair.width; ++column) line[column] = pair.at(row, column);
    for (std::size_t column = 0; column < columns; ++column) {
      Moments& sum = result[row * columns + column];
      for (std::size_t i = 0; i < kWindow; ++i) {
        for (std::size_t m = 0; m < kMoments; ++m) sum[m] += weights[i] * line[column + i][m];
      }
    }
  }
  return result;
}

double similarity(const Moments& mean) {
  const auto [x, y, xx, yy, xy] = mean;
  const double luminance = (2 * x * y + kC1) / (x * x + y * y + kC1);
  const double structure = (2 * (xy - x * y) + kC2) / (xx - x * x + yy - y * y + kC2);
  return luminance * structure;
}

double channel_similarity(const Pair& pair, const std::array<double, kWindow>& weights) {
  const std::size_t rows = pair.height - kWindow + 1, columns = pair.width - kWindow + 1;
  const std::vector<Moments> averaged = average_rows(pair, weights);
  double sum = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      Moments mean{};
      for (std::size_t i = 0; i < kWindow; ++i) {
        const Moments& part = averaged[(row + i) * columns + column];
        for (std::size_t m = 0; m < kMoments; ++m) mean[m] += weights[i] * part[m];
      }
      sum += similarity(mean);
    }
  }
  return sum / static_cast<double>(rows * columns);
}

}  // namespace

double ssim(const float* x, const float* y, const data::ImageShape& shape) {
  if (shape.height < kSsimWindow || shape.width < kSsimWindow || shape.channels < 1) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto weights = window();
  double sum = 0;
  for (int channel = 0; channel < shape.channels; ++channel) {
    const Pair pair{x + channel, y + channel, static_cast<std::size_t>(shape.height),
                    static_cast<std::size_t>(shape.width), static_cast<std::size_t>(shape.channels)};
    sum += channel_similarity(pair, weights);
  }
  return sum / shape.channels;
}

}  // namespace warpscope::inspect
