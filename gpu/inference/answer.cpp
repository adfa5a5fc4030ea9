#include "gpu/inference/answer.h"

#include <algorithm>
#include <cmath>

namespace warpscope::inference {

std::vector<Guess> best_guesses(std::span<const double> logits, std::size_t most) {
  const std::size_t count = std::min(most, logits.size());
  std::vector<Guess> guesses;
  if (count == 0) return guesses;
  guesses.reserve(count);
  const bool ranked =
      std::none_of(logits.begin(), logits.end(), [](double logit) { return std::isnan(logit); });
  // Logits stand for the probabilities until all are seen.
  for (std::size_t label = 0; label < logits.size(); ++label) {
    const double logit = logits[label];
    if (guesses.size() == count) {
      if (!ranked || logit <= guesses.back().probability) continue;
      guesses.pop_back();
    }
    auto place = guesses.end();
    while (ranked && place != guesses.begin() && (place - 1)->probability < logit) --place;
    guesses.insert(place, {static_cast<int>(label), logit});
  }
  const double greatest = guesses.front().probability;
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - greatest);
  for (Guess& guess : guesses) guess.probability = std::exp(guess.probability - greatest) / sum;
  return guesses;
}

double psnr_of(double mse) {
  constexpr double kLeast = 1e-12;
  return -10.0 * std::log10(std::isnan(mse) ? mse : std::max(mse, kLeast));
}

}  // namespace warpscope::inference
