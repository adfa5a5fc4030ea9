#pragma once
// Where held-out images lie among the latents of a network, and what its decoder makes of places between them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/core/not_sent.h"
#include "gpu/core/types.h"
#include "gpu/models/latent.h"

namespace warpscope::training {

/// A point of the latent space:
///   z = (1 - t) z_from + t z_to + sum_k deviations[k] sigma_k v_k
/// with the latents z of two test images, the principal components v_k and their standard deviations sigma_k.
/// `from` kMean stands for the mean of all latents; without a `to` there is no step towards it.
struct LatentRecipe {
  static constexpr std::int64_t kMean = -1;

  std::int64_t from = kMean;
  std::int64_t to = kMean;
  float t = 0;
  std::vector<float> deviations = {};

  bool operator==(const LatentRecipe&) const = default;
};

/// What is asked for.
struct LatentRequest {
  bool map = false;
  std::vector<LatentRecipe> pictures;  ///< only with `map`

  bool operator==(const LatentRequest&) const = default;
};

/// The latents of the first test images after a step, and their principal components.
struct LatentMap {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  ///< Snapshot::generation
  std::uint64_t number = 0;      ///< 1 for the first, then 2, ...
  core::Precision precision = core::Precision::fp32;
  models::Latent latent;
  std::size_t count = 0;          ///< images
  std::size_t rank = 0;           ///< components
  std::vector<float> values;      ///< (count, latent.elements())
  std::vector<float> mean;        ///< (latent.elements())
  std::vector<float> components;  ///< (rank, latent.elements()), of norm 1
  std::vector<float> scores;      ///< (count, rank): places along the components
  std::vector<float> sigmas;      ///< (rank): standard deviations of the scores
  std::vector<float> shares;      ///< (rank): part of all variance, 0 to 1
  /// That made it, in models::ParameterLayout, for who decodes places of it; nullptr where no pictures were asked for.
  core::NotSent<std::shared_ptr<const std::vector<float>>> weights;
  std::string problem;  ///< why there is nothing of the above but the step, in a sentence; "" if there is

  float score(std::size_t image, std::size_t component) const { return scores[image * rank + component]; }
};

/// z of a recipe, or nothing if it names images or components that the map does not have.
std::vector<float> latent_at(const LatentMap& map, const LatentRecipe& recipe);

/// Where z lies along the map's components: (z - mean) . v_k for each k.
std::vector<float> scores_of(const LatentMap& map, const std::vector<float>& latent);

/// What the decoder makes of the recipes that were asked for.
struct LatentPictures {
  std::uint64_t map = 0;   ///< LatentMap::number
  std::uint64_t step = 0;  ///< whose weights decoded them: those of the map
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<LatentRecipe> recipes;
  std::vector<float> pixels;               ///< (recipes, height, width, channels), nominally 0 to 1
  std::vector<std::vector<float>> places;  ///< of each recipe: scores_of()

  std::size_t elements() const {
    return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
           static_cast<std::size_t>(channels);
  }
  /// The picture of a recipe, (height, width, channels); nullptr if it is not among them.
  const float* find(const LatentRecipe& recipe) const;
};

}  // namespace warpscope::training
