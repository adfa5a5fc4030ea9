#pragma once
// What a network says of an image.

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/inference/image_source.h"

namespace warpscope::inference {

struct Guess {
  int label = 0;           ///< the class
  double probability = 0;  ///< NaN where a logit is NaN or infinitely great
};

/// So many classes are told of an image.
inline constexpr std::size_t kGuesses = 3;

struct Answer {
  ImageName image;
  /// The likeliest first, at most kGuesses; of a network that classifies. None where the answer is not finite.
  std::vector<Guess> guesses;
  double mse = 0;   ///< mean squared error, values in [0, 1]; of a network that reconstructs
  double psnr = 0;  ///< dB, -10 log10(mse), where an mse below 1e-12 counts as that
  /// False where a logit is NaN or infinitely great, or the error is: the network says nothing of the image then.
  bool finite = true;
};

/// The `most` classes of the greatest logits z, of equal ones the lower first, with exp(z_k - max z) / sum over j of
/// exp(z_j - max z), in double precision. Where one is NaN, the first classes, as cross_entropy.forward has it.
std::vector<Guess> best_guesses(std::span<const double> logits, std::size_t most = kGuesses);

double psnr_of(double mse);

}  // namespace warpscope::inference
