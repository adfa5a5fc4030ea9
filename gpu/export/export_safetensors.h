#pragma once
// The weights of a run alone, for PyTorch and others.

#include <filesystem>
#include <string>

#include "gpu/runs/run_reader.h"

namespace warpscope::runs {

/// The file of a checkpoint of a run: "best" is checkpoints/best.safetensors, "last" the step-N.safetensors
/// with the largest N, anything else a file by its name in checkpoints/ or its path. Throws core::BadInput,
/// with the checkpoints that there are, if it does not exist.
std::filesystem::path find_checkpoint(const std::filesystem::path& run, const std::string& which);

/// Copies the tensors of a checkpoint to `out`, but for those of the optimizer ("optimizer." before their
/// names): names, shapes and layout are PyTorch's, as in the checkpoint. The metadata are "format": "pt" and
/// the checkpoint's name.
/// Throws core::BadInput if `checkpoint` is no whole safetensors file or holds no weights; core::Error if
/// `out` cannot be written.
void export_weights(const std::filesystem::path& checkpoint, const std::filesystem::path& out);

}  // namespace warpscope::runs
