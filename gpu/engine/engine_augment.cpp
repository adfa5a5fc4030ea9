// Engine: the augmentation of the training images, which changes from one step to the next.

#include <utility>

#include "gpu/engine/engine.h"
#include "gpu/engine/recipe.h"

namespace warpscope::training {

void Engine::set_augment(const AugmentSettings& augment) {
  check(augment);
  check_together(augment, options_.optimizer);
  check_mixup(augment, options_.batch);
  check_augmented(options_.model, augment);
  const AugmentSettings before = std::exchange(options_.augment, augment);
  const auto recipe = [this](const AugmentSettings& settings) {
    return recipe_of(options_.optimizer, settings, options_.batch);
  };
  control_stale_ = true;
  if (recipe(augment) == recipe(before)) return;
  free_retired();
  stream_->synchronize();
  try {
    auto training =
        build_training(options_.selection, options_.batch, options_.optimizer, training_bindings());
    plans_.training = std::move(training);
  } catch (...) {
    options_.augment = before;
    throw;
  }
  timings_.adopt(*plans_.training, options_.selection.precision);
  interrupted_ = true;
}

}  // namespace warpscope::training
