#pragma once
// The ladder: how the selections tried in this run compare. No drawing here.

#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// A rung. Ratios to the first are 0 where the two speeds were not measured alike (training::compare), or the network
/// is another one.
struct LadderRow {
  const training::LadderEntry* entry = nullptr;
  double over_first = 0;  ///< times as fast as the first selection of the run
  std::string first_tip;  ///< why it is not compared with the first, or cannot be told apart from it; else ""
  double over_loops = 0;  ///< times as fast as CPU loops, which were measured at another time
  bool noise = false;     ///< it cannot be told apart from the first
  bool best = false;  ///< faster than all others of its network, beyond their spread; all were measured alike
  bool now = false;   ///< in use: the last one
};

/// `loops` is the speed of a training step with CPU loops in images/s; 0 if it was not measured. Points into
/// `ladder`.
std::vector<LadderRow> ladder_rows(const std::vector<training::LadderEntry>& ladder, double loops);

/// "1.00x", "12.3x", "1,234x"; "1/12x" below a tenth; a dash if it is 0.
std::string ratio_text(double ratio);

/// The speed of CPU loops that the ladder tells by itself: of an entry in which every op that has the variant
/// "loops" uses it, on a CPU. 0 if there is none.
double loops_speed(const std::vector<training::LadderEntry>& ladder, const plan::Machine& machine);

}  // namespace warpscope::ui
