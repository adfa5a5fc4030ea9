#include "gpu/settings/training_settings.h"

#include <algorithm>

#include "gpu/core/error.h"
#include "gpu/models/model.h"

namespace warpscope::training {

std::shared_ptr<const TrainingSettings> standard_settings() {
  static const auto standard = std::make_shared<const TrainingSettings>();
  return standard;
}

void check_sync(const EngineSettings& settings) {
  if (!settings.deterministic || !settings.sync_batch_norm) return;
  throw core::BadInput(
      "deterministic training normalizes each of the eight parts of a batch by itself, and sync_batch_norm "
      "all of it: leave one of them off");
}

bool can_be_made_by_one_rank(const EngineSettings& settings) {
  if (settings.deterministic) return true;
  const bool drops =
      std::ranges::any_of(settings.model.layers, [](const models::Layer& layer) { return layer.rate > 0; });
  if (drops || augments(settings.augment)) return false;
  return settings.sync_batch_norm || models::parameter_layout(settings.model).kept == 0;
}

void check(const TrainingSettings& settings) {
  check_sync(settings);
  check(settings.optimizer);
  check(settings.augment);
  check_together(settings.augment, settings.optimizer);
  check(settings.schedule);
  check(settings.spikes);
  check(settings.stop);
  // Each step would come right after an evaluation, which leaves none a time of its own.
  if (settings.test_every == 1)
    throw core::BadInput("test_every 1 leaves no step whose time is known: take 2 or more, or 0");
}

}  // namespace warpscope::training
