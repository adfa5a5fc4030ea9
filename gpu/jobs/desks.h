#pragma once
// The desks of a process that trains, or that looks at a run: a thread each.

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "gpu/jobs/jobs.h"
#include "gpu/messages/source.h"

namespace warpscope::jobs {

class Desks final : public Jobs {
 public:
  /// Beside the training of `source`, which outlives it; or, of a window that shows a run, for a checkpoint in the
  /// folder `run`, whose process nothing here makes pause. `shared`: with the desks of other trainings; nullptr:
  /// nothing.
  explicit Desks(training::Source& source, std::filesystem::path run = {},
                 std::shared_ptr<training::SharedDevices> shared = nullptr);

  void ask(Request request) override;
  States states() const override;
  /// Beside a run: from now on for the checkpoint nearest to this step; 0: for the newest.
  void look_at(std::uint64_t step) { step_ = step; }

 private:
  void start(Judge request);
  void start(Search request);
  void start(const MakeMap& request);
  void start(const Bench& request);
  void start(const Verify& request);
  void start(const Baseline& request);
  void start(const Cancel& request);
  std::string device() const;
  features::TrialRequest trial_of(Judge request) const;
  features::FindSubject network_of_now();
  features::FindSubject network_of(bool again);
  features::Subject wait_for_weights(const classifiers::Watch& watch);

  training::Source& source_;
  const std::filesystem::path run_;
  std::atomic<std::uint64_t> step_ = 0;                           ///< look_at()
  std::mutex asking_;                                             ///< of the next
  std::uint64_t asked_ = 0;                                       ///< number of the last weights
  std::mutex mutex_;                                              ///< of the next
  std::map<std::string, features::Subject, std::less<>> mapped_;  ///< by method, of its last map
  features::FeatureDesk features_;
  features::MapDesk maps_;
  Laboratory laboratory_;
};

}  // namespace warpscope::jobs
