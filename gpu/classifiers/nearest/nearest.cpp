#include "gpu/classifiers/nearest/nearest.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/classifiers/columns.h"
#include "gpu/core/error.h"
#include "gpu/core/parallel.h"

namespace warpscope::classifiers::nearest {
namespace {

constexpr std::int64_t kPiece = 16;  // rows between two looks at Watch::stop

double squared_distance(const float* x, const float* y, int columns) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  int j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double apart = static_cast<double>(x[j + lane]) - static_cast<double>(y[j + lane]);
      lanes[lane] += apart * apart;
    }
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (; j < columns; ++j) {
    const double apart = static_cast<double>(x[j]) - static_cast<double>(y[j]);
    sum += apart * apart;
  }
  return sum;
}

void find_in_loops(const FeatureMatrix& training, const FeatureMatrix& rows, const Watch& watch,
                   Neighbours& found) {
  core::parallel_for(rows.rows, kPiece, 0, [&](std::int64_t begin, std::int64_t end) {
    if (watch.stop.stop_requested()) throw Cancelled();
    std::vector<std::pair<double, std::int64_t>> all(static_cast<std::size_t>(training.rows));
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t other = 0; other < training.rows; ++other) {
        all[static_cast<std::size_t>(other)] = {
            squared_distance(rows.values + row * rows.columns, training.values + other * rows.columns,
                             rows.columns),
            other};
      }
      std::partial_sort(all.begin(), all.begin() + found.k, all.end());
      for (int n = 0; n < found.k; ++n) {
        const auto to = static_cast<std::size_t>(row * found.k + n);
        found.rows[to] = all[static_cast<std::size_t>(n)].second;
        found.squared_distances[to] = static_cast<float>(all[static_cast<std::size_t>(n)].first);
      }
    }
  });
}

}  // namespace

Neighbours find_neighbours(const Place& place, const FeatureMatrix& training, const FeatureMatrix& rows,
                           int k, const Watch& watch) {
  if (k < 1 || k > kMostNeighbours || k > training.rows) {
    throw core::BadInput(fmt::format("there are 1 to {} nearest neighbours, not {}",
                                     std::min<std::int64_t>(kMostNeighbours, training.rows), k));
  }
  if (training.columns != rows.columns) {
    throw core::BadInput(
        fmt::format("rows of {} columns have no distance to rows of {}", rows.columns, training.columns));
  }
  Neighbours found;
  found.k = k;
  found.rows.resize(static_cast<std::size_t>(rows.rows * k));
  found.squared_distances.resize(found.rows.size());
  if (rows.rows == 0) return found;
  if constexpr (core::kHaveCuda) {
    if (place.device->kind() == core::DeviceKind::cuda) {
      find_neighbours_cuda(place, training, rows, watch, found);
      return found;
    }
  }
  find_in_loops(training, rows, watch, found);
  return found;
}

int vote(const int* labels, int k, int classes, float* votes) {
  std::fill_n(votes, classes, 0.0f);
  for (int n = 0; n < k; ++n) votes[labels[n]] += 1;
  const float most = *std::max_element(votes, votes + classes);
  const int* const first = std::find_if(labels, labels + k, [&](int label) { return votes[label] == most; });
  return *first;
}

NearestClassifier::NearestClassifier(core::Buffer rows, std::vector<int> labels, int columns, int classes,
                                     int k, FitSummary summary)
    : rows_(std::move(rows)),
      labels_(std::move(labels)),
      columns_(columns),
      classes_(classes),
      k_(k),
      summary_(std::move(summary)) {}

Prediction NearestClassifier::predict(const Place& place, const FeatureMatrix& features,
                                      const Watch& watch) const {
  if (features.columns != columns_) {
    throw core::BadInput(
        fmt::format("the classifier takes {} columns, the features have {}", columns_, features.columns));
  }
  Prediction made;
  made.classes = classes_;
  if (features.rows == 0) return made;
  check_finite(place, features);
  const FeatureMatrix training{rows_.as<const float>(), static_cast<std::int64_t>(labels_.size()), columns_};
  const Neighbours found = find_neighbours(place, training, features, k_, watch);
  const auto classes = static_cast<std::size_t>(classes_);
  const auto rows = static_cast<std::size_t>(features.rows);
  made.scores.resize(rows * classes);
  std::vector<int> labels(static_cast<std::size_t>(k_));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t n = 0; n < labels.size(); ++n) {
      labels[n] = labels_[static_cast<std::size_t>(found.rows[row * labels.size() + n])];
    }
    float* const votes = made.scores.data() + row * classes;
    const int winner = vote(labels.data(), k_, classes_, votes);
    made.labels.push_back(winner);
    float next = 0;
    for (int one = 0; one < classes_; ++one) next = one == winner ? next : std::max(next, votes[one]);
    made.margins.push_back(votes[winner] - next);
  }
  for (const float votes : made.scores) made.probabilities.push_back(votes / static_cast<float>(k_));
  return made;
}

std::unique_ptr<NearestClassifier> fit_nearest(const Place& place, const LabelledFeatures& data, int k) {
  core::Phases phases;
  phases.begin("keeping the rows");
  check_labels(data);
  if (k < 1 || k > kMostNeighbours) {
    throw core::BadInput(fmt::format("there are 1 to {} nearest neighbours, not {}", kMostNeighbours, k));
  }
  check_finite(place, data.features);
  FitSummary summary;
  summary.converged = true;
  summary.rule = "none: the rows are kept";
  if (k > data.features.rows) {
    k = static_cast<int>(data.features.rows);
    summary.remarks.push_back(fmt::format("there are {} rows: all of them vote", k));
  }
  core::Buffer rows(place.device, sizeof(float) * static_cast<std::size_t>(data.features.rows) *
                                      static_cast<std::size_t>(data.features.columns));
  place.stream->copy(rows.data(), data.features.values, rows.bytes());
  place.stream->synchronize();
  summary.phases = phases.end();
  return std::make_unique<NearestClassifier>(std::move(rows),
                                             std::vector<int>(data.labels.begin(), data.labels.end()),
                                             data.features.columns, data.classes, k, std::move(summary));
}

}  // namespace warpscope::classifiers::nearest
