#pragma once
// k nearest neighbours: a row gets the class that most of the k training rows nearest to it have; among classes with
// equally many, that of the nearest row of them. Distances are Euclidean; of rows equally far, the first is nearer.

#include <memory>

#include "gpu/classifiers/classifier.h"

namespace warpscope::classifiers::nearest {

inline constexpr int kMostNeighbours = 64;

/// The nearest training rows of each row, nearest first, (rows, k), on the host.
struct Neighbours {
  int k = 0;
  std::vector<std::int64_t> rows;
  std::vector<float> squared_distances;
};

/// Squared distances |x|^2 - 2 x.y + |y|^2 of centred rows in FP32 choose k candidates and a few more; these are then
/// put in order by sum over columns of (x_j - y_j)^2 in double precision. Both matrices lie in memory of the device.
/// `k` is at most kMostNeighbours and the number of training rows. Throws BadInput, Cancelled, OutOfMemory.
Neighbours find_neighbours(const Place& place, const FeatureMatrix& training, const FeatureMatrix& rows,
                           int k, const Watch& watch = {});

/// The votes of one row's neighbours, nearest first: how many each class has, and the class that wins.
int vote(const int* labels, int k, int classes, float* votes);

class NearestClassifier final : public Classifier {
 public:
  NearestClassifier(core::Buffer rows, std::vector<int> labels, int columns, int classes, int k,
                    FitSummary summary);
  std::string_view name() const override { return "nearest"; }
  int classes() const override { return classes_; }
  int columns() const override { return columns_; }
  const FitSummary& summary() const override { return summary_; }
  int k() const { return k_; }
  /// Scores are votes; probabilities votes / k; the margin is the winner's votes minus the next one's.
  Prediction predict(const Place& place, const FeatureMatrix& features,
                     const Watch& watch = {}) const override;

 private:
  core::Buffer rows_;
  std::vector<int> labels_;
  int columns_;
  int classes_;
  int k_;
  FitSummary summary_;
};

/// Keeps a copy of the rows in memory of the device. Where there are fewer than `k` rows, all vote. Throws BadInput
/// (check_labels, `k` out of range, numbers that are not finite), OutOfMemory.
std::unique_ptr<NearestClassifier> fit_nearest(const Place& place, const LabelledFeatures& data, int k);

// ---- on CUDA ----

void find_neighbours_cuda(const Place& place, const FeatureMatrix& training, const FeatureMatrix& rows,
                          const Watch& watch, Neighbours& found);

}  // namespace warpscope::classifiers::nearest
