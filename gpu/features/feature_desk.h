#pragma once
// The thread that tries classifiers on features beside a training, one job at a time.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/features/feature_trial.h"

namespace warpscope::features {

enum class DeskWork : std::uint8_t { none, trial, search };

/// What the desk has done so far: complete and immutable, the newest replaces the one before.
struct DeskState {
  DeskWork work = DeskWork::none;               ///< under way
  std::uint64_t job = 0;                        ///< counts the jobs
  double part = 0;                              ///< of the job, from 0 to 1
  std::string phase;                            ///< what is done now
  std::chrono::steady_clock::time_point since;  ///< when the job was asked for
  DeskWork last = DeskWork::none;               ///< that failure and cancelled speak of
  std::string failure;                          ///< of the last job, in one sentence; "" if it ended well
  bool cancelled = false;                       ///< the last job was
  std::shared_ptr<const TrialResult> result;    ///< of the last try; nullptr before the first
  std::shared_ptr<const std::vector<TrialFigures>> tries =
      std::make_shared<std::vector<TrialFigures>>();  ///< all of this desk, in order
  std::shared_ptr<const GridResult> grid;             ///< of the last search, growing
};

class FeatureDesk {
 public:
  /// Opens the device of a job, in the desk's thread.
  using OpenDevice = std::function<std::shared_ptr<core::Device>(const std::string& id)>;

  FeatureDesk();
  explicit FeatureDesk(OpenDevice open);
  /// Cancels and waits.
  ~FeatureDesk();
  FeatureDesk(const FeatureDesk&) = delete;
  FeatureDesk& operator=(const FeatureDesk&) = delete;

  /// Each returns at once. What is under way is cancelled and replaced.
  void start_trial(TrialRequest request);
  void start_search(GridRequest request);
  void cancel();
  /// Never waits, never nullptr.
  std::shared_ptr<const DeskState> state() const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace warpscope::features
