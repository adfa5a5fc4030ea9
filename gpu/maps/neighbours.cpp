#include "gpu/maps/neighbours.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"

#if WARPSCOPE_HAVE_CUDA
#endif

namespace warpscope::maps {
namespace {

constexpr std::int64_t kRowsAtOnce = 16;  // of the CPU: that many rows share what is read of another

void report(const Watch& watch, double part) {
  if (watch.stop.stop_requested()) throw classifiers::Cancelled();
  if (watch.progress) watch.progress(part, "neighbours");
}

float squared_distance(const float* a, const float* b, int columns) {
  constexpr int kLanes = 16;
  float lanes[kLanes] = {};
  int c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float difference = a[c + lane] - b[c + lane];
      lanes[lane] += difference * difference;
    }
  }
  float sum = 0;
  for (; c < columns; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  for (const float lane : lanes) sum += lane;
  return sum;
}

/// Orders by distance, then by index: distances are not negative, so their bits are in their order.
std::uint64_t key_of(float distance, std::int64_t index) {
  return std::uint64_t{std::bit_cast<std::uint32_t>(distance)} << 32 | static_cast<std::uint32_t>(index);
}

/// `keys`: (rows at once, rows).
void search_rows(const FeatureMatrix& features, std::int64_t begin, std::int64_t end, Neighbours& found) {
  const auto rows = static_cast<std::size_t>(features.rows);
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(end - begin) * rows);
  for (std::int64_t j = 0; j < features.rows; ++j) {
    const float* const other = features.values + j * features.columns;
    for (std::int64_t i = begin; i < end; ++i) {
      const float distance =
          i == j ? INFINITY
                 : squared_distance(features.values + i * features.columns, other, features.columns);
      keys[static_cast<std::size_t>(i - begin) * rows + static_cast<std::size_t>(j)] = key_of(distance, j);
    }
  }
  for (std::int64_t i = begin; i < end; ++i) {
    // The row itself is removed, not sorted behind others that are infinitely far.
    const auto first = keys.begin() + (i - begin) * features.rows;
    std::swap(first[i], first[features.rows - 1]);
    std::partial_sort(first, first + found.count, first + features.rows - 1);
    for (int k = 0; k < found.count; ++k) {
      const auto place = static_cast<std::size_t>(i * found.count + k);
      found.indices[place] = static_cast<int>(first[k] & 0xffffffffu);
      found.squared_distances[place] = std::bit_cast<float>(static_cast<std::uint32_t>(first[k] >> 32));
    }
  }
}

void search_cpu(const FeatureMatrix& features, const Watch& watch, Neighbours& found) {
  // About as many numbers in a slice as take some tens of milliseconds.
  const double slice = 3e8 / (static_cast<double>(features.columns) * static_cast<double>(features.rows));
  const std::int64_t rows_of_slice = std::max<std::int64_t>(kRowsAtOnce, static_cast<std::int64_t>(slice));
  for (std::int64_t first = 0; first < features.rows; first += rows_of_slice) {
    report(watch, static_cast<double>(first) / static_cast<double>(features.rows));
    const std::int64_t count = std::min(rows_of_slice, features.rows - first);
    core::parallel_for(count, kRowsAtOnce, 0, [&](std::int64_t begin, std::int64_t end) {
      search_rows(features, first + begin, first + end, found);
    });
  }
}

#if WARPSCOPE_HAVE_CUDA
void search_cuda(const Place& place, const FeatureMatrix& features, const Watch& watch,
                 std::size_t memory_limit, Neighbours& found) {
  // About as many differences as a GPU makes in some tens of milliseconds, and no more than fits.
  const double slice = 2.5e11 / (static_cast<double>(features.columns) * static_cast<double>(features.rows));
  memory_limit = std::min(memory_limit, place.device->memory().free_bytes / 2);
  const std::size_t row_bytes = sizeof(float) * static_cast<std::size_t>(features.rows);
  const std::size_t fitting = memory_limit / row_bytes;
  constexpr std::int64_t kTileRows = 128;
  std::int64_t rows = static_cast<std::int64_t>(std::min(slice, static_cast<double>(fitting)));
  rows = std::clamp(rows / kTileRows * kTileRows, kTileRows, std::max(kTileRows, features.rows));
  rows = std::min(rows, features.rows);
  const auto count = static_cast<std::size_t>(found.count);
  const core::Buffer distances(place.device, static_cast<std::size_t>(rows) * row_bytes);
  const core::Buffer indices(place.device, static_cast<std::size_t>(rows) * count * sizeof(int));
  const core::Buffer nearest(place.device, static_cast<std::size_t>(rows) * count * sizeof(float));
  for (std::int64_t first = 0; first < features.rows; first += rows) {
    report(watch, static_cast<double>(first) / static_cast<double>(features.rows));
    const std::int64_t now = std::min(rows, features.rows - first);
    find_nearest_cuda(*place.stream, {features, first, static_cast<int>(now), found.count,
                                      distances.as<float>(), indices.as<int>(), nearest.as<float>()});
    const std::size_t offset = static_cast<std::size_t>(first) * count;
    const std::size_t numbers = static_cast<std::size_t>(now) * count;
    place.stream->copy(found.indices.data() + offset, indices.data(), numbers * sizeof(int));
    place.stream->copy(found.squared_distances.data() + offset, nearest.data(), numbers * sizeof(float));
    place.stream->synchronize();
  }
}
#endif

}  // namespace

Neighbours nearest_rows(const Place& place, const FeatureMatrix& features, int count, const Watch& watch,
                        std::size_t memory_limit) {
  if (count < 1 || count >= features.rows || count > kMostNeighbours) {
    throw std::invalid_argument("nearest_rows: 1 to rows - 1 neighbours, at most kMostNeighbours");
  }
  Neighbours found;
  found.rows = features.rows;
  found.count = count;
  const std::size_t numbers = static_cast<std::size_t>(features.rows) * static_cast<std::size_t>(count);
  found.indices.resize(numbers);
  found.squared_distances.resize(numbers);
#if WARPSCOPE_HAVE_CUDA
  if (place.device->kind() == core::DeviceKind::cuda) {
    search_cuda(place, features, watch, memory_limit, found);
  } else {
    search_cpu(features, watch, found);
  }
#else
  static_cast<void>(place);
  static_cast<void>(memory_limit);  // the CPU holds the distances of a few rows
  search_cpu(features, watch, found);
#endif
  const auto beyond =
      std::ranges::find_if(found.squared_distances, [](float distance) { return !std::isfinite(distance); });
  if (beyond != found.squared_distances.end()) {
    throw core::BadInput(
        fmt::format("row {} lies so far from its neighbours that the squared distance is beyond FP32; "
                    "standardise the features",
                    (beyond - found.squared_distances.begin()) / count));
  }
  return found;
}

}  // namespace warpscope::maps
