#pragma once
// Progress of a part of a longer work.

#include "gpu/classifiers/features.h"

namespace warpscope::features {

/// What the work from `from` to `to` of all tells `outer`. `outer.progress` outlives it.
inline classifiers::Watch part_of(const classifiers::Watch& outer, double from, double to) {
  if (!outer.progress) return {{}, outer.stop};
  return {[progress = outer.progress, from, to](double part, std::string_view phase) {
            progress(from + (to - from) * part, phase);
          },
          outer.stop};
}

}  // namespace warpscope::features
