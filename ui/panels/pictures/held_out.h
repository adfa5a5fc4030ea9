#pragma once
// Held-out images with what a classifying network makes of them: which are shown, and in which order.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/messages/evaluation.h"
#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// One evaluation and the images it looked at.
struct HeldOut {
  std::shared_ptr<const training::Evaluation> evaluation;  ///< nullptr before the first
  std::shared_ptr<const training::DataView> data;

  /// Images with a loss, a prediction, a label and pixels.
  int count() const;
  /// Images that the network looked at. The view of another process's run knows only some of them: the worst.
  std::uint64_t evaluated() const;
  /// The image's place in the set.
  std::uint64_t position(int image) const;
  /// Which of the test images it is; nothing of validation images.
  std::optional<std::int64_t> test_image(int image) const;
  /// The part that the evaluation looked at; only with a count above 0.
  training::DataPart part() const;
  const training::ImageFacts& images() const { return data->facts(part()); }
  /// They are texts.
  bool has_texts() const;
  /// "text" or "image".
  const char* thing() const { return has_texts() ? "text" : "image"; }
  /// What may be shown of a text: control characters are blanks, what is no UTF-8 is U+FFFD, nothing is "(empty)".
  std::string text(int image) const;
  /// The same, a character for each that the network reads.
  std::u32string characters(int image) const;
  int truth(int image) const;
  int predicted(int image) const;
  bool right(int image) const { return truth(image) == predicted(image); }
  float loss(int image) const { return evaluation->image_losses[static_cast<std::size_t>(image)]; }
  /// The probability that the network gives to the truth: exp(-loss), the loss being the softmax
  /// cross-entropy.
  double probability_of_truth(int image) const;
  /// The class's name, or its number if it has none.
  std::string class_name(int index) const;
};

/// Decides when a newer evaluation takes the place of the one that is shown: the first at once, later ones
/// not more often than once a second and not while somebody looks at single images. A reset shows nothing
/// until the next.
class EvaluationFollower {
 public:
  /// `still`: keep what is shown. `now` is in seconds. True if shown() has changed.
  bool update(const HeldOut& newest, std::uint64_t generation, double now, bool still);
  const HeldOut& shown() const { return shown_; }
  /// True if a newer one is there and will be taken by itself, in less than a second.
  bool waiting() const { return waiting_; }
  /// True if a newer one is held back by `still`.
  bool held() const { return held_; }

 private:
  HeldOut shown_;
  std::uint64_t generation_ = 0;
  double taken_ = 0;
  bool waiting_ = false;
  bool held_ = false;
};

enum class PredictionOrder : std::uint8_t {
  worst_first,  ///< the largest loss first
  wrong_only,   ///< the largest loss first, without the images that were classified right
  stored,       ///< as in the data set
};

constexpr int kAnyClass = -1;

/// What the grid shows.
struct PredictionChoice {
  PredictionOrder order = PredictionOrder::worst_first;
  int truth = kAnyClass;
  int predicted = kAnyClass;
  std::vector<std::int64_t> images = {};  ///< test images, rising (Cursor::images); none: all

  bool operator==(const PredictionChoice&) const = default;
};

/// The images of the choice, in its order. A loss that is not a number counts as the worst; equal losses stay
/// in stored order.
std::vector<int> arrange(const HeldOut& held_out, const PredictionChoice& choice);

/// How many of the images that are known are among the selected test images (Cursor::images); all if none are.
std::uint64_t selected_images(const HeldOut& held_out, const std::vector<std::int64_t>& images);

/// "cat, taken for dog": the pair that the grid is filtered to.
std::string pair_text(const HeldOut& held_out, const PredictionChoice& choice);
/// Images that the network looked at and that are of the choice, known or not.
std::uint64_t matching(const HeldOut& held_out, const PredictionChoice& choice);
/// How many of which images the grid shows, in one sentence or two. `shown`: images of the choice that are
/// known.
std::string count_text(const HeldOut& held_out, const PredictionChoice& choice, std::uint64_t shown);
/// What stands behind the number `shown`: "images"; in a view that knows only some of them "worst of 2,000 images", "of
/// the 256 worst of 2,000 images".
std::string count_unit(const HeldOut& held_out, std::uint64_t shown);
/// Why the grid is empty, in a sentence.
std::string nothing_text(const HeldOut& held_out, const PredictionChoice& choice);
/// Why there are no predictions, and when the first come, as it is said of images.
std::string no_predictions_text(const training::Snapshot& snapshot);
/// "4.21", "0.0012", "3e-05" or "nan": a loss in a cell, at most six letters long.
std::string loss_text(float loss);

}  // namespace warpscope::ui
