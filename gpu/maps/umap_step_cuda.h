#pragma once
// The CUDA half of umap_step.h.

#include "gpu/maps/umap_step.h"

namespace warpscope::maps {

void move_along_edges_cuda(core::Stream& stream, const UmapMemory& memory, const UmapStep& step);

}  // namespace warpscope::maps
