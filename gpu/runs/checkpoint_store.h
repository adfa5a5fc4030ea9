#pragma once
// The checkpoints of a run: RUN/checkpoints/step-000001234.safetensors, named by the steps done, and
// best.safetensors, a second name (hard link; a copy where there are none) of the best one. A checkpoint is
// deleted only after a newer one is safely on the disk.

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/models/model.h"
#include "gpu/runs/checkpoint.h"

namespace warpscope::training {

struct CheckpointFile {
  std::uint64_t step = 0;
  std::filesystem::path path;
};

/// RUN/checkpoints.
std::filesystem::path checkpoint_folder(const std::filesystem::path& run);

/// The files of a run that are named by steps, newest first; none if there is no folder. Their contents are
/// not looked at.
std::vector<CheckpointFile> list_checkpoints(const std::filesystem::path& run);

/// The file whose step is nearest to `step`, the earlier of two; nothing if there are none.
std::optional<CheckpointFile> nearest_checkpoint(const std::filesystem::path& run, std::uint64_t step);

struct NewestCheckpoint {
  std::optional<Checkpoint> checkpoint;  ///< none if there is none that loads
  std::filesystem::path path;
  std::vector<std::string> skipped;  ///< why newer ones were not taken, a sentence each, newest first
};

/// The newest checkpoint of a run that loads, of the last generation that has one; the best one if none of those named
/// by steps does. Changes nothing, so it may look at a run that another process writes.
NewestCheckpoint newest_valid(const std::filesystem::path& run, const models::Model& model);

/// The same; throws core::BadInput, with the reason, if there is none.
NewestCheckpoint to_go_on_from(const std::filesystem::path& run, const models::Model& model);

/// A checkpoint to look at: the nearest one to `step`, or with 0 as to_go_on_from(). Throws core::BadInput likewise.
Checkpoint to_look_at(const std::filesystem::path& run, std::uint64_t step, const models::Model& model);

/// The checkpoints of a run that only this process writes (RunFolder holds the lock). Not for several
/// threads at once.
class CheckpointStore {
 public:
  /// Makes the folder and removes what killed writers left there. `keep`: how many of the newest stay, at
  /// least 1; the best stays besides. Throws core::BadInput if keep is less than 1 or the folder cannot be
  /// made.
  CheckpointStore(const std::filesystem::path& run, models::Model model, int keep = 3);

  /// As the function; the next save() takes up from the checkpoint that it finds.
  NewestCheckpoint newest_valid();

  /// Replaces best.safetensors if it `is_best`, writes the checkpoint under its step, then deletes the oldest
  /// beyond `keep`, and those of later steps, which a resume went back behind. Those of another generation, which a
  /// reset or the return from one has left, move to checkpoints/generation-N once the checkpoint is written: at any
  /// moment newest_valid() finds the newest of them or the new one. Throws as save_checkpoint(); the checkpoints
  /// before then stay as they were. Throws core::Error if these cannot be moved; the next save tries again.
  void save(const Checkpoint& checkpoint, bool is_best);

  /// The run goes on in this generation, that of newest_valid(): ends what a save() that was killed has begun. Throws
  /// core::Error.
  void goes_on_with(std::uint64_t generation);

  /// What is saved from now on is of this network.
  void follow(models::Model model) { model_ = std::move(model); }

  const std::filesystem::path& folder() const { return folder_; }

 private:
  void write(const Checkpoint& checkpoint, bool is_best) const;
  std::filesystem::path aside_folder(std::uint64_t generation) const;
  std::filesystem::path make_aside_folder(std::uint64_t generation) const;
  void keep_replaced(const Checkpoint& checkpoint, bool is_best) const;
  void set_aside_others(std::uint64_t generation, const std::set<std::filesystem::path>& written,
                        std::optional<std::uint64_t> otherwise) const;
  void bring_back(std::uint64_t generation) const;
  void prune(std::uint64_t step) const;

  std::filesystem::path run_;
  std::filesystem::path folder_;
  models::Model model_;
  std::size_t keep_;
  std::optional<std::uint64_t> generation_;  ///< of the newest checkpoint in the folder, if known
  std::optional<std::uint64_t> mixed_with_;  ///< the generation of those that may lie beside it
};

/// Writes checkpoints on a thread of its own, so that the training never waits for the disk.
class CheckpointWriter {
 public:
  /// `before` is called on that thread before each checkpoint is written.
  explicit CheckpointWriter(CheckpointStore store, std::function<void()> before = {});
  /// Writes what is left.
  ~CheckpointWriter() = default;
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Takes a checkpoint to be written. If one before it still waits for the disk it is dropped, unless it is
  /// the best.
  void save(Checkpoint checkpoint, bool is_best);

  /// Waits until all that was taken is written, or has failed.
  void flush();
  /// What is taken from now on is of this network. Waits as flush() does.
  void follow(models::Model model);

  /// Why the newest checkpoint that was tried, or else the best one, is not on the disk, in one sentence; ""
  /// if both are. Never waits for the disk.
  std::string error() const;

  /// The step of the last checkpoint written. Never waits for the disk.
  std::optional<std::uint64_t> saved_step() const;

 private:
  struct Waiting {
    Checkpoint checkpoint;
    bool is_best = false;
  };
  void work(const std::stop_token& stop);
  void write(const Waiting& next);

  CheckpointStore store_;  ///< only the thread's, but in follow()
  std::function<void()> before_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Waiting> waiting_;  ///< at most the best and a newer one, in the order of their steps
  bool writing_ = false;
  std::string error_;       ///< of the last write
  std::string best_error_;  ///< of the last write of a best one
  std::optional<std::uint64_t> saved_step_;
  std::jthread thread_;  ///< last, so that it ends first
};

}  // namespace warpscope::training
