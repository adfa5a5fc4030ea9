#include "gpu/classifiers/rbf_svm/cuda_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "gpu/classifiers/rbf_svm/backend.h"
#include "gpu/classifiers/rbf_svm/split_rows.h"

namespace warpscope::classifiers::rbf {
namespace {

/// Scratch of looking through columns.
struct Scratch {
  core::Buffer partial;
  core::Buffer bad;
  core::Buffer spreads;
  std::size_t spread_count;

  Scratch(const Place& place, const FeatureMatrix& features)
      : spread_count(static_cast<std::size_t>(chunks_of(features.rows)) *
                     static_cast<std::size_t>((features.columns + 255) / 256)) {
    const auto chunks = static_cast<std::size_t>(chunks_of(features.rows));
    partial =
        core::Buffer(place.device, chunks * static_cast<std::size_t>(features.columns) * sizeof(double));
    bad = core::Buffer(place.device, sizeof(unsigned long long));
    spreads = core::Buffer(place.device, spread_count * sizeof(Spread));
  }
};

/// Squares and the largest magnitude of value - mean over all numbers. `means`: found here if `find`.
Spread spread_of(const Place& place, const FeatureMatrix& features, const core::Buffer& means, bool find) {
  Scratch scratch(place, features);
  core::Buffer own_means;
  if (!find)
    own_means = core::Buffer(place.device, static_cast<std::size_t>(features.columns) * sizeof(double));
  ColumnCall call{features.values,
                  features.rows,
                  features.columns,
                  scratch.partial.as<double>(),
                  (find ? means : own_means).as<double>(),
                  scratch.bad.as<unsigned long long>()};
  find_means(*place.stream, call);
  const unsigned long long bad = core::download<unsigned long long>(*place.stream, scratch.bad.data(), 1)[0];
  if (bad != ~0ull) {
    const auto at = static_cast<std::int64_t>(bad);
    refuse_number(at / features.columns, at % features.columns);
  }
  call.means = means.as<double>();
  find_spreads(*place.stream, call, scratch.spreads.as<Spread>());
  Spread all;
  for (const Spread& one :
       core::download<Spread>(*place.stream, scratch.spreads.data(), scratch.spread_count)) {
    all.squares += one.squares;
    all.largest = std::max(all.largest, one.largest);
  }
  return all;
}

}  // namespace

void find_all_distances(const Place& place, const DistanceCall& call,
                        const std::function<void(double)>& told) {
  const std::int64_t all = distance_blocks(call);
  // 132 blocks of 256 slabs take some 0.2 ms.
  const std::int64_t part = std::max<std::int64_t>(1440, std::int64_t{13000} * 256 / std::max(call.slabs, 1));
  std::array<std::unique_ptr<core::Event>, 2> events{place.device->make_event(false),
                                                     place.device->make_event(false)};
  int turn = 0;
  for (std::int64_t first = 0; first < all; first += part) {
    find_distances(*place.stream, call, first, std::min(part, all - first));
    place.stream->record(*events[static_cast<std::size_t>(turn)]);
    turn = 1 - turn;
    // One part runs while the next one is enqueued.
    if (first > 0) events[static_cast<std::size_t>(turn)]->synchronize();
    told(static_cast<double>(first) / static_cast<double>(all));
  }
  place.stream->synchronize();
}

ColumnFacts look_through(const Place& place, const FeatureMatrix& features, Columns& columns) {
  columns.count = features.columns;
  columns.means = core::Buffer(place.device, static_cast<std::size_t>(features.columns) * sizeof(double));
  const Spread spread = spread_of(place, features, columns.means, true);
  columns.exponent = exponent_for(spread.largest);
  const auto means =
      core::download<double>(*place.stream, columns.means.data(), static_cast<std::size_t>(features.columns));
  double mean = 0;
  for (const double one : means) mean += one / features.columns;
  double between = 0;
  for (const double one : means) between += (one - mean) * (one - mean) / features.columns;
  const auto rows = static_cast<double>(features.rows);
  return {spread.squares / rows / features.columns + between, spread.squares / rows};
}

std::size_t split_bytes(std::int64_t places, int columns) {
  return static_cast<std::size_t>(places) *
         (static_cast<std::size_t>(slabs_of(columns)) * kSlabHalves * sizeof(std::uint16_t) + sizeof(float));
}

namespace {

SplitRows make_rows(const Place& place, std::int64_t places, int columns) {
  SplitRows rows;
  const auto count = static_cast<std::size_t>(places);
  rows.norms = core::Buffer(place.device, count * sizeof(float));
  rows.split = core::Buffer(place.device, split_bytes(places, columns) - count * sizeof(float));
  return rows;
}

}  // namespace

SplitRows split_training_rows(const Place& place, const FeatureMatrix& features, const Columns& columns,
                              std::span<const int> sources) {
  const auto places = static_cast<std::int64_t>(sources.size());
  SplitRows rows = make_rows(place, places, columns.count);
  const core::Buffer list(place.device, sources.size_bytes());
  place.stream->copy(list.data(), sources.data(), sources.size_bytes());
  split_rows(*place.stream, {features.values, columns.count, list.as<int>(), places,
                             columns.means.as<double>(), columns.exponent, rows.split.as<std::uint16_t>()});
  find_norms(*place.stream,
             {rows.split.as<std::uint16_t>(), places, slabs_of(columns.count), 0, rows.norms.as<float>()});
  place.stream->synchronize();  // the list goes
  return rows;
}

LaterRows::LaterRows(const Place& place, const FeatureMatrix& features, const Columns& columns)
    : features_(features), columns_(columns) {
  const Spread spread = spread_of(place, features, columns.means, false);
  // Up to twice the largest number of the training rows still fits.
  exponent_ = std::min(columns.exponent, exponent_for(spread.largest) + 1);
  if (spread.largest == 0.0) exponent_ = columns.exponent;
}

SplitRows LaterRows::split(const Place& place, std::int64_t first, std::int64_t count) const {
  SplitRows rows = make_rows(place, count, columns_.count);
  split_rows(*place.stream, {features_.values + first * columns_.count, columns_.count, nullptr, count,
                             columns_.means.as<double>(), exponent_, rows.split.as<std::uint16_t>()});
  find_norms(*place.stream, {rows.split.as<std::uint16_t>(), count, slabs_of(columns_.count),
                             2 * (columns_.exponent - exponent_), rows.norms.as<float>()});
  return rows;
}

float LaterRows::dot_factor() const {
  return static_cast<float>(std::ldexp(2.0, std::min(columns_.exponent - exponent_, 120)));
}

}  // namespace warpscope::classifiers::rbf
