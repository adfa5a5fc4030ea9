#pragma once
// How many test images looks into the network take, and how many of them at once.

#include <cstdint>

#include "gpu/engine/scene.h"
#include "gpu/models/model.h"

namespace warpscope::training {

/// Up to 1,024 on a GPU and 96 on a CPU, where a pass over them takes as long as a step or two.
std::int64_t mapped_images(const Scene& scene);

/// Test images at once through a plan of Purpose::inspection, which keeps every layer's output: as many as make up 2^22
/// activations on a CPU and 2^25 on a GPU, but at least 4 and at most 64, if there are so many.
int inspected_at_once(const Scene& scene);

}  // namespace warpscope::training
