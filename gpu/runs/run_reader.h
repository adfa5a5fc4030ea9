#pragma once
// Reads run folders, finished or still being written by any process on any machine that sees the folder. What
// is read is what gpu/runs/run_recorder.h describes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpu/files/file.h"
#include "gpu/runs/run_points.h"

namespace warpscope::runs {

struct Run {
  std::filesystem::path folder;
  nlohmann::json head = nlohmann::json::object();  ///< run.json; empty while there is none that can be read
  RunPoints points;
  std::size_t damaged_lines = 0;   ///< of metrics.jsonl, left out
  std::vector<std::string> notes;  ///< what was damaged, a sentence each; the first few
};

/// True if `folder` holds run.json or metrics.jsonl.
bool is_run(const std::filesystem::path& folder);

/// Throws core::BadInput if `head`, which the file holds, has another format than that of this version's runs.
void check_format(const std::filesystem::path& file, const nlohmann::json& head);

/// The name of a run: that of its folder, in valid UTF-8 without control characters.
std::string run_name(const std::filesystem::path& folder);

/// True while a process writes to the run: it holds the lock on the file .lock. To see that, the lock is
/// taken for a moment if it is free; a training that begins in this very moment would be refused. On network
/// file systems that share locks it sees other machines too.
bool is_being_written(const std::filesystem::path& folder);

/// What a call of RunFollower::poll() brought.
struct RunUpdate {
  bool head_changed = false;  ///< run.json was written anew
  bool restarted = false;     ///< earlier points were dropped or replaced: all have to be looked at again
  bool more = false;          ///< `most_bytes` ended it before the end of the file
};

/// Follows a run. Keeps its place in metrics.jsonl and looks at the files when asked: it needs no
/// notification from the file system, so it works on network folders too. Not for use by several threads at
/// once.
class RunFollower {
 public:
  /// Takes nothing yet. Throws core::BadInput if `folder` holds no run, or one of another format.
  explicit RunFollower(std::filesystem::path folder);

  /// Reads run.json if it was replaced and up to about `most_bytes` of the whole lines that metrics.jsonl has
  /// gained; a last line that is not ended waits. If the file was cut or replaced (a resumed training), it is
  /// read anew from its start. Damaged lines are counted and left out. A file that cannot be read for now (a
  /// network that is away) brings nothing; what was read stays.
  RunUpdate poll(std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());

  const Run& run() const { return run_; }
  /// Drops all points: the next poll() reads metrics.jsonl from its start.
  void start_anew();
  /// For a reader that has taken all points and needs them no more.
  void keep_last() { run_.points.keep_last(); }

 private:
  std::optional<std::string> text_of_head() const;
  void read_head(RunUpdate& update);
  void read_metrics(const files::InputFile& file, std::uint64_t most_bytes, RunUpdate& update);
  void take_lines(std::string_view text, RunUpdate& update);
  void take_line(std::string_view text, RunUpdate& update);
  void note_damage(const std::string& what);

  Run run_;
  std::optional<std::string> head_text_;
  std::uint64_t offset_ = 0;   ///< of the first byte not taken
  std::uint64_t line_ = 0;     ///< lines taken
  std::string last_bytes_;     ///< before offset_, to recognise another file
  bool in_long_line_ = false;  ///< the rest of a line that was too long is still to come
  MetricsLine scratch_;
};

/// Everything that a run has now. Throws core::BadInput if `folder` holds no run, or one of another format.
Run read_run(const std::filesystem::path& folder);

}  // namespace warpscope::runs
