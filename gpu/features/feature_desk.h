#pragma once
// The thread that tries classifiers on features beside a training, one job at a time.

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/features/desk_thread.h"
#include "gpu/features/feature_trial.h"

namespace warpscope::features {

enum class DeskWork : std::uint8_t { none, trial, search };

/// What the desk has done so far: complete and immutable, the newest replaces the one before.
struct DeskState : DeskProgress {
  DeskWork work = DeskWork::none;             ///< under way
  DeskWork last = DeskWork::none;             ///< that failure and cancelled speak of
  std::shared_ptr<const TrialResult> result;  ///< of the last try; nullptr before the first
  std::shared_ptr<const std::vector<TrialFigures>> tries =
      std::make_shared<std::vector<TrialFigures>>();  ///< all of this desk, in order
  std::shared_ptr<const GridResult> grid;             ///< of the last search, growing

  void rest() { work = DeskWork::none; }
};

class FeatureDesk : public DeskThread<DeskState, FeatureTrial> {
 public:
  using DeskThread::DeskThread;
  /// Each returns at once. What is under way is cancelled and replaced.
  /// `find`: what the request's subject becomes, of which then only the device is looked at.
  void start_trial(TrialRequest request, FindSubject find = {});
  void start_search(GridRequest request, FindSubject find = {});
};

}  // namespace warpscope::features
