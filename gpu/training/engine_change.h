#pragma once
// Other settings for an engine, between two steps.

#include "gpu/engine/engine.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// Whether a step does the same with both, but for numbers that it reads from memory: its time is comparable.
bool same_steps(const EngineSettings& a, const EngineSettings& b);

/// Batch, optimizer and augmentation of `engine`, which has those of `before`, become those of `after`: all of them, or
/// none. Throws core::BadInput and core::OutOfMemory as Engine's own functions do, with nothing changed.
void change(Engine& engine, const EngineSettings& before, const EngineSettings& after);

}  // namespace warpscope::training
