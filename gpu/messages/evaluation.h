#pragma once
// What looking at held-out images found.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace warpscope::training {

/// Which images: those that are trained on, those kept back from the training set to steer by, or the test set.
enum class Split : std::uint8_t { train, validation, test };

/// "train", "validation", "test".
std::string_view to_string(Split split);

/// One pass over held-out images. Immutable once made.
struct Evaluation {
  Split split = Split::test;
  std::uint64_t step = 0;  ///< steps done before it
  double epoch = 0;
  double loss = 0;  ///< mean over the images
  double psnr = 0;  ///< dB, mean over the images of -10 log10(mean squared error); reconstruction only
  std::vector<float> image_losses;  ///< of each image that is known, in stored order

  // With a head on the latents.
  bool head = false;
  double head_loss = 0;      ///< its cross-entropy, mean over the images
  double head_accuracy = 0;  ///< share of the images it classified right

  // Classification only.
  double accuracy = 0;                   ///< share of the images classified right
  int classes = 0;                       ///< 0 without labels
  std::vector<std::uint8_t> predicted;   ///< of each image that is known
  std::vector<std::uint32_t> confusion;  ///< [truth * classes + predicted], counts

  /// Where only some of the images are known (the view of another process's run): the place of each of them
  /// in the set, rising. Empty where all are known: image i is the set's i-th. The figures above are of all
  /// images that were looked at.
  std::vector<std::uint32_t> positions;
};

/// Fills what follows from the image losses and, with classes, from the predictions and the true `labels`.
void summarize(Evaluation& evaluation, const std::uint8_t* labels);

/// Fills what a head found: its loss and its prediction for each image, of which there is one at least.
void judge_head(Evaluation& evaluation, std::span<const float> losses,
                std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> labels);

}  // namespace warpscope::training
