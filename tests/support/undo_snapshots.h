#pragma once
// Snapshots as a trainer answers what an Undo has sent.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/changes.h"
#include "ui/settings/changes.h"

namespace warpscope::tests {

inline training::Snapshot at_batch(int batch) {
  training::Snapshot snapshot;
  settings_of(snapshot).batch = batch;
  return snapshot;
}

/// The trainer has looked at all commands up to `last`.
inline training::Snapshot answered(training::Snapshot snapshot, std::uint64_t last,
                                   std::vector<std::uint64_t> refused = {}) {
  snapshot.answers = {last, std::move(refused)};
  return snapshot;
}

inline ui::Changeable batch(int images) {
  return change("batch", images).settings;
}

/// As the trainer does after a reset or with another network: the one that was left had come to `step`.
inline void begin_training(training::Snapshot& snapshot, std::uint64_t step) {
  auto left = *snapshot.left;
  left.push_back({snapshot.training, step});
  snapshot.left = std::make_shared<std::vector<training::LeftTraining>>(left);
  snapshot.training = snapshot.trainings++;
}

inline void return_to(training::Snapshot& snapshot, std::uint64_t number, std::uint64_t step) {
  auto left = *snapshot.left;
  std::erase_if(left, [number](const training::LeftTraining& each) { return each.number == number; });
  left.push_back({snapshot.training, step});
  snapshot.left = std::make_shared<std::vector<training::LeftTraining>>(left);
  snapshot.training = number;
}

}  // namespace warpscope::tests
