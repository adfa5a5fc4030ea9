#include "gpu/maps/stepped_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "gpu/classifiers/columns.h"
#include "gpu/core/error.h"
#include "gpu/core/random.h"

namespace warpscope::maps {
SteppedMap::SteppedMap(const Place& place, std::int64_t rows, int iterations)
    : place_(place), rows_(rows), iterations_(iterations) {}

int SteppedMap::step(int count, const Watch& watch) {
  // Iterations enqueued between two looks at the watch: about 10 ms of all pairs of points on a GPU, where launches
  // need not wait for the host; the CPU runs each at once.
  constexpr double kPairs = 2e10;
  constexpr int kMost = 64;
  const double pairs = static_cast<double>(rows_) * static_cast<double>(rows_);
  const int batch = place_.device->kind() == core::DeviceKind::cpu
                        ? 1
                        : static_cast<int>(std::clamp(kPairs / pairs, 1.0, static_cast<double>(kMost)));
  const int begin = done_;
  const int end = begin + std::clamp(count, 0, iterations_ - begin);
  while (done_ < end) {
    if (watch.stop.stop_requested()) throw classifiers::Cancelled();
    const int upto = std::min(end, done_ + batch);
    for (int i = done_; i < upto; ++i) enqueue(i);
    place_.stream->synchronize();
    done_ = upto;
    if (watch.progress) watch.progress(static_cast<double>(done_) / iterations_, "iterations");
  }
  return end - begin;
}

std::vector<float> SteppedMap::positions() {
  auto points = core::download<float>(*place_.stream, current(), 2 * static_cast<std::size_t>(rows_));
  double mean[2] = {};
  for (std::size_t i = 0; i < points.size(); ++i) mean[i % 2] += static_cast<double>(points[i]);
  for (double& one : mean) one /= static_cast<double>(rows_);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i] = static_cast<float>(static_cast<double>(points[i]) - mean[i % 2]);
  }
  return points;
}

void SteppedMap::phase(std::string name, const std::function<void()>& body) {
  const auto begin = core::Clock::now();
  body();
  phases_.push_back({std::move(name), core::seconds_since(begin)});
}

void check_features(const Place& place, const FeatureMatrix& features) {
  if (features.rows < 3 || features.columns < 1) {
    throw core::BadInput(
        fmt::format("a map needs at least three rows of features; there are {} of {} columns", features.rows,
                    features.columns));
  }
  if (features.rows > std::numeric_limits<int>::max() / 4) {
    throw core::BadInput(fmt::format("a map of {} rows is beyond what it can count", features.rows));
  }
  classifiers::check_finite(place, features);
}

std::vector<double> given_positions(const MapOptions& options, std::int64_t rows) {
  if (options.initial.empty()) return {};
  if (options.initial.size() != 2 * static_cast<std::size_t>(rows)) {
    throw core::BadInput(fmt::format("the initial positions are {} numbers; {} rows need {}",
                                     options.initial.size(), rows, 2 * rows));
  }
  std::vector<double> given(options.initial.begin(), options.initial.end());
  double mean[2] = {};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!std::isfinite(given[i])) {
      throw core::BadInput(
          fmt::format("the initial positions hold {} in row {}, column {}", given[i], i / 2, i % 2));
    }
    mean[i % 2] += given[i] / static_cast<double>(rows);
  }
  double width = 0, size = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    size = std::max(size, std::abs(given[i]));
    given[i] -= mean[i % 2];
    if (i % 2 == 0) width = std::max(width, std::abs(given[i]));
  }
  // Differences within the rounding of the mean are none.
  if (width <= 1e-12 * size) return {};
  return given;
}

double random_normal(std::uint64_t seed, std::uint64_t n) {
  const double radius = std::sqrt(-2 * std::log(core::random_unit(seed, 2 * n)));
  return radius * std::cos(2 * std::numbers::pi * core::random_unit(seed, 2 * n + 1));
}

}  // namespace warpscope::maps
