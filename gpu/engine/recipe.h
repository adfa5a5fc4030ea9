#pragma once
// What plans do with images and gradients, from what a person has set.

#include "gpu/plan/program.h"
#include "gpu/plan/views.h"
#include "gpu/settings/augment_settings.h"
#include "gpu/settings/optimizer_settings.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// `batch`: images of a (micro-)batch, as set.
inline plan::Recipe recipe_of(const OptimizerSettings& optimizer, const AugmentSettings& augment, int batch) {
  plan::Recipe recipe;
  recipe.rule = optimizer.rule;
  recipe.micro_batches = optimizer.per_sample ? batch : optimizer.accumulate;
  recipe.clip_norm = optimizer.clip_norm > 0 && !optimizer.per_sample;
  recipe.per_sample = optimizer.per_sample;
  recipe.augment = augments(augment);
  recipe.mixup = augment.mixup > 0;
  return recipe;
}

/// Images of one pass of a training plan.
inline int plan_batch(const OptimizerSettings& optimizer, int batch) {
  return optimizer.per_sample ? 1 : batch;
}

/// Which views evaluations look at.
inline plan::ViewSettings view_settings(const EngineSettings& settings) {
  return {settings.test_mirrored, settings.test_shift};
}

}  // namespace warpscope::training
