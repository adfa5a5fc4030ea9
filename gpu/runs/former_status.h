#pragma once
// status.json as earlier versions wrote it.

#include <nlohmann/json_fwd.hpp>

namespace warpscope::training {

/// Brings `status` into today's names: operations that were a convolution with what lies around it
/// ("block.forward") are conv2d.forward with what it covers, ops that were "absorbed" name the one before
/// them that covers them, and pooling has its window. What is of another form stays as it is.
void use_todays_names(nlohmann::json& status);

}  // namespace warpscope::training
