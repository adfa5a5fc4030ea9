#pragma once
// Which snapshots are worth a frame.

#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// True if a person would see the difference. The memory in use is left out: it changes all the time, also
/// while nothing is trained, and is renewed with the next frame.
bool looks_different(const training::Snapshot& a, const training::Snapshot& b);

}  // namespace warpscope::ui
