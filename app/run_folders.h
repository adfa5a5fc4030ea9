#pragma once
// What the commands that read runs share.

#include <filesystem>
#include <string>
#include <vector>

#include "gpu/runs/run_reader.h"

namespace warpscope::app {

/// Where runs are that were given no folder: training::default_run_dir's.
inline constexpr const char* kRunsFolder = "runs";

/// Runs that one command takes.
inline constexpr int kMostRuns = 64;

/// A run as typed: its folder, or its name in `folder` or among those that windows recorded by themselves.
std::filesystem::path find_run(const std::string& typed, const std::filesystem::path& folder);

/// Reads them and says on standard error what of them is damaged. Throws core::BadInput for what is no run.
std::vector<runs::Run> read_runs(const std::vector<std::string>& typed, const std::filesystem::path& folder);

/// On standard error, a line each.
void print_notes(const std::vector<std::string>& notes);

}  // namespace warpscope::app
