#pragma once
// The CUDA half of tsne_step.h.

#include "gpu/maps/tsne_step.h"

namespace warpscope::maps {

int repulsion_chunks_cuda(int multiprocessors, std::int64_t points);
void find_forces_cuda(core::Stream& stream, const TsneMemory& memory);
void move_points_cuda(core::Stream& stream, const TsneMemory& memory, const TsneStep& step);

}  // namespace warpscope::maps
