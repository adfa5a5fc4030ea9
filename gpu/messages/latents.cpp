#include "gpu/messages/latents.h"

#include <algorithm>

namespace warpscope::training {
namespace {

bool has_image(const LatentMap& map, std::int64_t image) {
  return image >= 0 && static_cast<std::size_t>(image) < map.count;
}

/// z += factor row
void add(std::vector<float>& z, float factor, const float* row) {
  for (std::size_t d = 0; d < z.size(); ++d) z[d] += factor * row[d];
}

}  // namespace

std::vector<float> latent_at(const LatentMap& map, const LatentRecipe& recipe) {
  const std::size_t dims = map.latent.elements();
  const bool starts = recipe.from == LatentRecipe::kMean || has_image(map, recipe.from);
  const bool ends = recipe.to == LatentRecipe::kMean || has_image(map, recipe.to);
  if (!map.problem.empty() || !starts || !ends || recipe.deviations.size() > map.rank) return {};
  const auto row = [&](std::int64_t image) {
    return image == LatentRecipe::kMean ? map.mean.data()
                                        : map.values.data() + static_cast<std::size_t>(image) * dims;
  };
  const float* const from = row(recipe.from);
  std::vector<float> z(from, from + dims);
  if (recipe.to != LatentRecipe::kMean && recipe.t != 0) {
    for (float& value : z) value *= 1 - recipe.t;
    add(z, recipe.t, row(recipe.to));
  }
  for (std::size_t k = 0; k < recipe.deviations.size(); ++k) {
    const float factor = recipe.deviations[k] * map.sigmas[k];
    if (factor != 0) add(z, factor, map.components.data() + k * dims);
  }
  return z;
}

std::vector<float> scores_of(const LatentMap& map, const std::vector<float>& latent) {
  std::vector<float> scores;
  for (std::size_t k = 0; k < map.rank; ++k) {
    const float* const component = map.components.data() + k * latent.size();
    double sum = 0;
    for (std::size_t d = 0; d < latent.size(); ++d) {
      sum += static_cast<double>(latent[d] - map.mean[d]) * static_cast<double>(component[d]);
    }
    scores.push_back(static_cast<float>(sum));
  }
  return scores;
}

const float* LatentPictures::find(const LatentRecipe& recipe) const {
  const auto found = std::find(recipes.begin(), recipes.end(), recipe);
  if (found == recipes.end()) return nullptr;
  return pixels.data() + static_cast<std::size_t>(found - recipes.begin()) * elements();
}

}  // namespace warpscope::training
