#pragma once
// Trainings that a reset, another network or divergence has left, as they were then, and how far the training was at
// each of the engine's copies.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/engine/network_state.h"
#include "gpu/engine/rollback.h"
#include "gpu/messages/snapshot.h"
#include "gpu/plan/selection.h"
#include "gpu/runs/run_figures.h"
#include "gpu/training/steering.h"
#include "gpu/training/training_tree.h"

namespace warpscope::training {

/// A training between two steps.
struct LeftState {
  std::uint64_t number = 0;
  std::uint64_t generation = 0;  ///< that has its points, up to its last step
  std::shared_ptr<const TrainingSettings> settings;
  std::optional<plan::Selection> selection = {};  ///< that it goes on with; nothing: with the one in use
  std::vector<float> first_weights;
  EngineState engine;
  Steering steering;
  Progress progress;
  FigureTally tally;
  Divergence divergence;
};

class LeftTrainings {
 public:
  static constexpr std::size_t kMost = 8;

  /// Drops the oldest beyond kMost, and those beyond 2 GiB of host memory but for the newest.
  void keep(LeftState left);
  /// nullptr if it is not kept any more.
  const LeftState* find(std::uint64_t number) const;
  /// One that is kept.
  LeftState take(std::uint64_t number);
  /// The newest last.
  const std::deque<LeftState>& all() const { return left_; }
  /// For Snapshot::left, while `training` trains.
  std::shared_ptr<const std::vector<LeftTraining>> list(const TrainingTree& tree,
                                                        std::uint64_t training) const;

 private:
  std::deque<LeftState> left_;
};

/// How far the training was at each copy of Rollback, by the copy's place.
class ProgressOfCopies {
 public:
  void note(std::size_t copy, const Steering& steering, const Progress& progress,
            std::shared_ptr<const TrainingSettings> settings);
  /// A training step's point comes; `tally` does not have it yet.
  void before_point(std::uint64_t step, const FigureTally& tally);
  /// Fills in what was known at that copy; what a person has changed since then is watched.
  void recall(std::size_t copy, LeftState& left) const;

 private:
  struct Noted {
    Steering steering;
    Progress progress;
    std::shared_ptr<const TrainingSettings> settings;
    std::optional<FigureTally::Mark> tally;  ///< once all points up to that step have come
  };
  std::array<Noted, Rollback::kCopies> noted_;
};

}  // namespace warpscope::training
