#include "gpu/messages/text_attributions.h"

#include <algorithm>
#include <cmath>

namespace warpscope::training {

std::vector<double> probabilities_of(const TextAttribution& text) {
  std::vector<double> result(text.scores.begin(), text.scores.end());
  if (result.empty()) return result;
  const double most = *std::max_element(result.begin(), result.end());
  double sum = 0;
  for (double& value : result) sum += value = std::exp(value - most);
  for (double& value : result) value /= sum;
  return result;
}

const TextAttribution* TextAttributions::find(std::int64_t place) const {
  const auto found = std::find_if(texts.begin(), texts.end(),
                                  [place](const TextAttribution& text) { return text.place == place; });
  return found == texts.end() ? nullptr : &*found;
}

}  // namespace warpscope::training
