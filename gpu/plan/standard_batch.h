#pragma once
// The batch size where nobody has chosen one.

#include "gpu/core/device.h"
#include "gpu/models/model.h"

namespace warpscope::plan {

/// 64 images on a GPU. On a CPU as many as its cores train in about 50 ms, but 8 to 64, in powers of two: more images
/// a second by far for a small network (an update takes as long for 8 images as for 64), and still some 20 updates a
/// second for a large one. Measurements: docs/measurements/cpu_batches.csv.
int standard_batch(const core::DeviceInfo& device, const models::Model& model);

}  // namespace warpscope::plan
