#pragma once
// Parameters between Warpscope's layout, (K, R, S, C) in one contiguous buffer, and safetensors files in
// PyTorch's, (K, C, R, S) under PyTorch's names.

#include <string>
#include <vector>

#include "gpu/models/model.h"

namespace warpscope::training {

/// Writes `values` (models::ParameterLayout) to `path`, whole or not at all. Throws core::Error.
void save_parameters(const std::string& path, const models::Model& model, const std::vector<float>& values);

/// Reads them back. Throws core::BadInput that names the file and the first tensor that is missing, unknown,
/// or of another shape.
std::vector<float> load_parameters(const std::string& path, const models::Model& model);

}  // namespace warpscope::training
