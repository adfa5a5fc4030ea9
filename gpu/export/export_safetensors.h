#pragma once
// The weights of a run alone, for PyTorch and others.

#include <filesystem>
#include <string>

#include "gpu/runs/run_reader.h"

namespace warpscope::runs {

/// Copies the tensors of a checkpoint to `out`, but for those of the optimizer ("optimizer." before their
/// names): names, shapes and layout are PyTorch's, as in the checkpoint. The metadata are "format": "pt" and
/// the checkpoint's name.
/// Throws core::BadInput if `checkpoint` is no whole safetensors file or holds no weights; core::Error if
/// `out` cannot be written.
void export_weights(const std::filesystem::path& checkpoint, const std::filesystem::path& out);

}  // namespace warpscope::runs
