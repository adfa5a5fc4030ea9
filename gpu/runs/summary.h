#pragma once
// The key figures of runs, and the list of those in a folder.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/messages/run_figures.h"
#include "gpu/runs/run_reader.h"

namespace warpscope::runs {

/// Text is "" and a figure NaN where the run does not tell.
struct RunSummary : training::RunFigures {
  std::filesystem::path folder;
  std::string name;
  double started = kNone;  ///< seconds since 1970 (UTC); see start_of()
  std::string model;
  std::string data;
  std::string device;  ///< its name: "NVIDIA H100 80GB HBM3"
  // As they were last: "current" in run.json, where it tells.
  std::string precision;
  std::string optimizer;
  double learning_rate = kNone;
  double batch = kNone;
  /// What was changed of those four during the run: as it was at first.
  struct AtFirst {
    std::string precision;
    std::string optimizer;
    double learning_rate = kNone;
    double batch = kNone;
  } at_first;
  std::string status;  ///< "running", "interrupted", "refused", or what run.json says: "finished", "failed"
  std::string error;   ///< of a failed run
  std::vector<std::string> notes;  ///< what of the run is damaged
};

/// When a run started, in seconds since 1970: "started" in run.json (seconds, or "2026-01-31T23:59:59Z"),
/// else the time in the name of a folder made by training::default_run_dir, else the time of its lock file,
/// which is made at the start, or of run.json. NaN if nothing tells.
double start_of(const Run& run);

/// Name, start and settings of a run that was read, without results and status: it is not looked at whether a
/// process writes to it.
RunSummary summarize_settings(const Run& run);

/// The key figures of a run that was read. Results come from run.json if the run has ended, from its points
/// otherwise. A run that says "running" without a process that writes to it is "interrupted".
RunSummary summarize(const Run& run);

/// One that cannot be read at all, with the reason.
RunSummary summary_of_refused(const std::filesystem::path& folder, std::string why);

/// The runs in `folder` (each a folder in it; or itself, if it is one), newest first. Points are read only of
/// runs that did not end in order. Throws core::BadInput if there is no such folder or it cannot be read.
std::vector<RunSummary> list_runs(const std::filesystem::path& folder);

enum class RunOrder : std::uint8_t {
  time,       ///< newest first
  test_loss,  ///< smallest first
  speed       ///< most images a second first
};

/// Runs without the figure come last; equal ones by name.
void sort_runs(std::vector<RunSummary>& runs, RunOrder order);

}  // namespace warpscope::runs
