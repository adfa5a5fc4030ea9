#include "gpu/inference/answer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace warpscope::inference {

std::vector<Guess> best_guesses(std::span<const double> logits, std::size_t most) {
  const bool ranked =
      std::none_of(logits.begin(), logits.end(), [](double logit) { return std::isnan(logit); });
  const auto logit_of = [&](int label) { return logits[static_cast<std::size_t>(label)]; };
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
  if (ranked) {
    std::partial_sort(order.begin(), end, order.end(), [&](int a, int b) {
      return logit_of(a) > logit_of(b) || (logit_of(a) == logit_of(b) && a < b);
    });
  }
  const double greatest = order.empty() ? 0 : logit_of(order.front());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - greatest);
  std::vector<Guess> guesses;
  for (auto label = order.begin(); label != end; ++label) {
    guesses.push_back({*label, std::exp(logit_of(*label) - greatest) / sum});
  }
  return guesses;
}

double psnr_of(double mse) {
  constexpr double kLeast = 1e-12;
  return -10.0 * std::log10(std::isnan(mse) ? mse : std::max(mse, kLeast));
}

}  // namespace warpscope::inference
