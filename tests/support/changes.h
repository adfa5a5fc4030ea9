#pragma once
// Settings in tests: commands that change them, and snapshots that have others.

#include <memory>
#include <string_view>
#include <utility>

#include "gpu/messages/commands.h"
#include "gpu/messages/snapshot.h"
#include "gpu/settings/setting.h"

namespace warpscope::tests {

/// The command that gives the setting of that name this value, which need not be valid.
inline training::Change change(std::string_view name, training::Value value) {
  training::Change change;
  change.settings.put(training::setting(name), std::move(value));
  return change;
}

/// The command that makes the optimizer `from` the optimizer `to`.
inline training::Change change(const training::OptimizerSettings& from,
                               const training::OptimizerSettings& to) {
  training::TrainingSettings before, after;
  before.optimizer = from;
  after.optimizer = to;
  return {difference(before, after)};
}

/// The settings of `snapshot`, to be made others.
inline training::TrainingSettings& settings_of(training::Snapshot& snapshot) {
  auto own = std::make_shared<training::TrainingSettings>(*snapshot.settings);
  training::TrainingSettings& settings = *own;
  snapshot.settings = std::move(own);
  return settings;
}

}  // namespace warpscope::tests
