#pragma once
// Writes what lets another process show the run (gpu/runs/run_source.h) beside metrics.jsonl: status.json,
// the newest snapshot (snapshot_json.h) with "written", which counts the times it was written, and the
// pictures (run_images.h), of networks that classify the predictions (run_predictions.h).

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "gpu/messages/snapshot.h"
#include "gpu/runs/run_images.h"
#include "gpu/runs/run_predictions.h"

namespace warpscope::training {

/// May be used by several threads; write() and end() wait for the disk, the others never.
class RunStatus {
 public:
  using Clock = std::chrono::steady_clock;
  using SnapshotSource = std::function<std::shared_ptr<const Snapshot>()>;

  explicit RunStatus(const std::filesystem::path& folder);

  /// Where snapshots come from; nothing is written before.
  void watch(SnapshotSource source);
  /// The newest pictures; those that were not written yet are replaced.
  void show(ShownImages images);
  /// Writes what is due: a second after the last time, and more rarely while nothing changes; the predictions
  /// of an evaluation at most every five seconds.
  void write(Clock::time_point now);
  /// Writes the newest snapshot with this state, the pictures and the predictions.
  void end(TrainerState state);
  /// Why nothing could be written for the last few times, once; "" if all is well. A training does not end
  /// for it.
  std::string take_warning();

 private:
  void write_status(std::optional<TrainerState> state);
  void write_pictures();
  bool predictions_due(Clock::time_point now) const;
  void write_predictions(Clock::time_point now);
  void attempt(int& failures, const std::function<void()>& write);

  std::filesystem::path folder_;
  RunImages images_;
  RunPredictions predictions_;
  std::mutex writing_;  ///< of the files and of what is known of them
  std::shared_ptr<const Snapshot> written_snapshot_;
  std::uint64_t written_ = 0;
  Clock::time_point last_{};
  std::shared_ptr<const Evaluation> tried_evaluation_;  ///< whose predictions were written last
  Clock::time_point last_predictions_{};
  int status_failures_ = 0;  ///< in a row, as those below
  int picture_failures_ = 0;
  int prediction_failures_ = 0;
  bool warned_ = false;

  std::mutex mutex_;  ///< of what is handed over
  SnapshotSource source_;
  std::optional<ShownImages> pending_;
  std::string warning_;
};

}  // namespace warpscope::training
