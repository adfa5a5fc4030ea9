#pragma once
// The held-out images that a classifying network got most wrong, in the folder images/ of a run, so that
// another process can show them:
//
//   predictions-000001234.png   the images as a grid, without gaps, looked at after so many steps
//   predictions.json            the figures of that evaluation, and truth, prediction and loss of each image
//
// Only the newest evaluation is kept. The index is written after the PNG and holds its checksum: a reader
// never takes one for another's.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "gpu/data/dataset.h"
#include "gpu/messages/evaluation.h"

namespace warpscope::training {

/// Images that are kept, at most.
inline constexpr std::size_t kMostPredictions = 256;

/// An evaluation of a classifying network and the images with the largest losses.
struct Predictions {
  std::uint64_t generation = 0;  ///< Snapshot::generation
  /// `image_losses`, `predicted` and `positions` are of the images below, one each; the other figures of all
  /// that were looked at.
  Evaluation evaluation;
  data::ImageSet images;  ///< in stored order, with their labels
};

/// The worst images of `evaluation`, which looked at the first images of `set`: kMostPredictions, fewer where
/// there are fewer or where they are very large. A loss that is not a number counts as the worst; of equal
/// losses the first stay.
Predictions worst_predictions(const Evaluation& evaluation, const data::ImageSet& set,
                              std::uint64_t generation);

/// "predictions-000001234.png"
std::string predictions_name(std::uint64_t step);

/// Writes the predictions of a run. For one thread, which is the one writer of the folder images/.
class RunPredictions {
 public:
  /// `folder` is the run's. Nothing is read or written yet.
  explicit RunPredictions(const std::filesystem::path& folder);

  /// Replaces what was there by `predictions`, which have an image at least. Throws core::Error if something
  /// cannot be written.
  void write(const Predictions& predictions);

 private:
  void remove_others(const std::string& kept) const;

  std::filesystem::path folder_;
  bool opened_ = false;
};

/// The predictions of a run; losses that were not finite are NaN. `folder` is the run's. Throws
/// core::BadInput that names the file which is damaged or not there.
Predictions read_predictions(const std::filesystem::path& folder);

}  // namespace warpscope::training
