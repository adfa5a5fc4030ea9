#pragma once

#include <memory>

#include "gpu/messages/source.h"
#include "gpu/training/trainer.h"

namespace warpscope::ui {

/// The training that a window shows and steers. In a file by itself, so that a test's program can put something between
/// the two.
std::shared_ptr<training::Source> open_training(training::TrainerOptions options);

}  // namespace warpscope::ui
