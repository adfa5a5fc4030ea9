#pragma once
// Recent trainings as a person picks one: what it was, how it ended, its picture and its curve.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gpu/runs/summary.h"

namespace warpscope::runs {

struct LossPoint {
  std::uint64_t step = 0;
  double loss = 0;
};

struct RecentTraining {
  RunSummary run;       ///< name, network, data, device, last step, last figures (gpu/runs/figure_table.h)
  std::string end;      ///< its status, or "diverged" if the last losses were not finite
  std::string problem;  ///< what is damaged, or why it failed, in a sentence; "" if nothing is
  std::filesystem::path picture;  ///< the newest of its reconstructions; "" for none
  std::vector<LossPoint> curve;   ///< of training steps, at most kCurvePoints evenly over the file
  bool can_go_on = false;         ///< it has a checkpoint, and nobody trains it
};

inline constexpr std::size_t kCurvePoints = 128;

/// Those in `folder`, newest first, at most `most`; none if it cannot be read. What is damaged is listed with its
/// sentence. Reads little of each but of those that did not end in order: not for the GUI's thread.
std::vector<RecentTraining> recent_trainings(const std::filesystem::path& folder, std::size_t most);

/// A few steps of metrics.jsonl, spread over the present generation; empty if there are none. Reads kCurvePoints small
/// pieces, however long the file is.
std::vector<LossPoint> thinned_losses(const std::filesystem::path& run);

}  // namespace warpscope::runs
