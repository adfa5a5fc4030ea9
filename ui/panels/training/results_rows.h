#pragma once
// The results of the training so far as rows of words and numbers. No drawing here.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// One number: "gradient norm | 0.0123".
struct ResultCell {
  std::string label;
  std::string value;
  std::string unit;
  std::string tip;
};

/// When the window saw a new checkpoint.
struct LastCheckpoint {
  std::uint64_t step = 0;  ///< of the newest one; 0 before the first
  double seen = -1;        ///< seconds on the window's clock; below 0 if it was there from the start
};

/// `last` after another snapshot, at `now` on the window's clock. The first snapshot of all is told by
/// `first`.
LastCheckpoint observe_checkpoint(LastCheckpoint last, std::uint64_t checkpoint_step, double now, bool first);

/// "12 s ago", "3 min ago", "2 h ago".
std::string ago_text(double seconds);
/// When, also in seconds from the event, that text gives way to the next.
double ago_text_end(double seconds);

/// How fast the training is while it runs, else how fast it was: what has stopped has no "now".
struct Speed {
  const char* label;             ///< "images/s now", "median images/s": a figure of gpu/runs/figure_table.h
  double images_per_second = 0;  ///< 0 if it is not known
};
Speed speed_of(const training::Snapshot& snapshot);

/// Losses and what belongs to them: accuracy where the model classifies, else the signal-to-noise ratio.
std::vector<ResultCell> loss_cells(const training::Snapshot& snapshot);

/// Gradient norm, update ratio; the scheduled rate where it is not the chosen one; loss scale and skipped steps in
/// fp16.
std::vector<ResultCell> step_cells(const training::Snapshot& snapshot);

/// Epochs, time, checkpoint, parameters, memory.
std::vector<ResultCell> run_cells(const training::Snapshot& snapshot, const LastCheckpoint& last, double now);

}  // namespace warpscope::ui
