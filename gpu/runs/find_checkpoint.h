#pragma once
// Which file of a run is meant by "last" or "best".

#include <filesystem>
#include <string>

namespace warpscope::runs {

/// The file of a checkpoint of a run: "best" is checkpoints/best.safetensors, "last" the step-N.safetensors
/// with the largest N, anything else a file by its name in checkpoints/ or its path. Throws core::BadInput,
/// with the checkpoints that there are, if it does not exist.
std::filesystem::path find_checkpoint(const std::filesystem::path& run, const std::string& which);

}  // namespace warpscope::runs
