#pragma once
// Runs as event files that TensorBoard opens.

#include <filesystem>
#include <string>
#include <vector>

#include "gpu/runs/run_reader.h"

namespace warpscope::runs {

/// The tag of a series: "train/loss" of train_loss, "test/psnr" of test_psnr, "validation/accuracy"; what
/// belongs to no split keeps its name ("gradient_norm").
std::string tensorboard_tag(const std::string& series);

/// The content of an event file: each finite value as a scalar in FP32 under its tag, markers as text under
/// "markers", the settings as the run had them last (shown_value() marks what was changed) as a text table
/// under "configuration", and the files images/*.png of the run as images: their tag is
/// "images/" and the file's name up to the last number in it, which is the step ("images/epoch-000200.png" is
/// "images/epoch" at step 200; without a number, step 0). Times are the run's start plus the seconds of
/// training; everything in the order of steps. Sources: tensorboard/compat/proto/event.proto and
/// summary.proto.
std::string tensorboard_events(const Run& run);

/// Writes the event file of each run into `folder`, which is made if need be; of several runs, each into a
/// folder in it named like the run. The file's name depends on the run's start alone, so a second export
/// replaces the first. Throws core::BadInput if two runs have one name, a folder cannot be made, or one holds
/// other event files: TensorBoard would mix them up. core::Error if a file cannot be written.
void export_tensorboard(const std::vector<Run>& runs, const std::filesystem::path& folder);

}  // namespace warpscope::runs
