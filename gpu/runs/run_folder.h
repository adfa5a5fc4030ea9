#pragma once
// The folder of a run: run.json (configuration, device, results), metrics.jsonl (one JSON object a line), and
// what else belongs to the run.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace warpscope::training {

/// A run folder that only this process writes to. Not for use by several threads at once.
class RunFolder {
 public:
  /// Makes `folder`, parents too, for a new run. Throws core::BadInput if it cannot be written, holds a run
  /// already (run.json or metrics.jsonl), or is used by another process (a lock on the file .lock in it,
  /// which the system drops when the process ends, however it ends).
  static RunFolder create(const std::filesystem::path& folder);
  /// Opens the folder of an earlier run to go on with it; resume_at() must follow before anything is written.
  /// Removes the temporary files of killed writers. Throws core::BadInput if there is no run, the folder
  /// cannot be written, or another process uses it; the folder then stays as it was.
  static RunFolder reopen(const std::filesystem::path& folder);
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&& other) noexcept;
  ~RunFolder();

  const std::filesystem::path& path() const { return folder_; }

  /// After reopen(): goes on after step `step` of generation `generation` (resets before it; the last one in
  /// metrics.jsonl if none is given). What goes from metrics.jsonl: the generation's lines beyond the step, everything
  /// of later generations, and what is no whole line with a step (left by a killed process or a lost disk
  /// write). run.json stays. take(line) is called with each line that stays. Throws core::Error if
  /// metrics.jsonl cannot be read or replaced; it then stays as it was.
  void resume_at(std::uint64_t step, std::optional<std::uint64_t> generation = {},
                 const std::function<void(const nlohmann::json&)>& take = {});

  /// Appends the lines of `generation` up to `step` once more, after those that were appended before;
  /// take(line) is called with each. Throws core::Error as append_metrics() does, or if metrics.jsonl cannot be read.
  void repeat(std::uint64_t generation, std::uint64_t step,
              const std::function<void(const nlohmann::json&)>& take);

  /// Replaces run.json, whole or not at all. Metrics appended before are on the disk first. What is not
  /// UTF-8 in `run` is replaced by U+FFFD. Throws core::Error; the old file then stays as it was.
  void write_run(const nlohmann::json& run);

  /// Appends whole lines to metrics.jsonl at once; a missing newline at the end is added. A file that was taken away
  /// meanwhile is there again, with all that it held; one that was cut is gone on with where it ends. If not all of it
  /// can be written (disk full), cuts the file back to the last whole line and throws core::Error; the lines
  /// that did not fit are lost.
  void append_metrics(std::string_view lines);

 private:
  RunFolder() = default;
  void open_metrics(int flags);
  /// Writes metrics.jsonl anew where it was taken away or moved, alone or with the folder, since it was opened: what
  /// it held can still be read. Throws core::Error; it then goes on without.
  void keep_metrics();
  /// Cuts what is no whole line of this run from the end, and takes notice where others have cut the file.
  void leave_whole_lines();

  std::filesystem::path folder_;
  int lock_ = -1;
  int metrics_ = -1;
  std::int64_t metrics_bytes_ = 0;
};

/// Makes and returns a new empty folder `parent`/TIME-N, where TIME is the time in UTC (20260131T235959Z) and
/// N counts from 1, so that no two runs get the same. Throws core::BadInput if it cannot be made.
std::filesystem::path default_run_dir(const std::filesystem::path& parent = "runs");

}  // namespace warpscope::training
