#pragma once
// A head: a small network on features, two linear layers with a ReLU between them, trained by Adam. With rows x_i,
//
//     z_i = W2 relu(W1 x_i + b1) + b2
//     1/(2 C) |p|^2 + sum over rows of (log sum over k of exp(z_ik) - z_i,y_i)      p: all parameters
//
// is what the updates make smaller, by the gradient of its mean over a batch of rows. The class of a row is that with
// the largest z; of equals, the first.

#include <cstdint>
#include <memory>
#include <utility>

#include "gpu/classifiers/classifier.h"
#include "gpu/classifiers/head/network.h"

namespace warpscope::classifiers::head {

inline constexpr int kMostEpochs = 10000;

struct HeadOptions {
  int hidden = 128;    ///< outputs of the first layer, 1 to 4096
  int epochs = 20;     ///< passes over the rows, each in an order of its own, 1 to kMostEpochs
  double c = 0.1;      ///< C > 0: the larger, the less the parameters are held back
  double rate = 1e-3;  ///< the learning rate at the start; half a cosine takes it to 0
  int batch = 256;     ///< rows of an update, at most; rows that fill no batch sit out an epoch
  std::uint64_t seed = 0;
};

class HeadClassifier final : public Classifier {
 public:
  HeadClassifier(const NetworkShape& shape, core::Buffer parameters, FitSummary summary)
      : shape_(shape), parameters_(std::move(parameters)), summary_(std::move(summary)) {}
  std::string_view name() const override { return "head"; }
  int classes() const override { return shape_.classes; }
  int columns() const override { return shape_.columns; }
  const FitSummary& summary() const override { return summary_; }
  /// Scores are z, probabilities their softmax; the margin is the largest z minus the second.
  Prediction predict(const Place& place, const FeatureMatrix& features,
                     const Watch& watch = {}) const override;

 private:
  NetworkShape shape_;
  core::Buffer parameters_;
  FitSummary summary_;
};

/// The same rows, options and device give the same bits. Throws BadInput (check_labels, more than 256 classes, options
/// out of range, numbers that are not finite, a loss that grew beyond all numbers), Cancelled, OutOfMemory.
std::unique_ptr<HeadClassifier> fit_head(const Place& place, const LabelledFeatures& data,
                                         const HeadOptions& options = {}, const Watch& watch = {});

}  // namespace warpscope::classifiers::head
