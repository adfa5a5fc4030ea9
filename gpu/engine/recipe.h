#pragma once
// What plans do with images and gradients, from what a person has set.

#include "gpu/plan/program.h"
#include "gpu/plan/views.h"
#include "gpu/settings/augment_settings.h"
#include "gpu/settings/division.h"
#include "gpu/settings/optimizer_settings.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// `synced_batch`: images of a pass of all ranks, where batch norms normalize over them; else 0.
inline plan::Recipe recipe_of(const OptimizerSettings& optimizer, const AugmentSettings& augment,
                              const Division& part, int synced_batch = 0) {
  plan::Recipe recipe;
  recipe.rule = optimizer.rule;
  recipe.micro_batches = part.passes;
  recipe.shards = part.shards;
  recipe.several_ranks = part.images < part.images_of_step;
  recipe.norm_images = recipe.several_ranks ? synced_batch : 0;
  recipe.clip_norm = optimizer.clip_norm > 0 && !optimizer.per_sample;
  recipe.per_sample = optimizer.per_sample;
  recipe.augment = augments(augment);
  recipe.mixup = augment.mixup > 0;
  return recipe;
}

/// Which views evaluations look at.
inline plan::ViewSettings view_settings(const EngineSettings& settings) {
  return {settings.test_mirrored, settings.test_shift};
}

}  // namespace warpscope::training
