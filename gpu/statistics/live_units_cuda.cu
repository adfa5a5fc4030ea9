// The search on CUDA: one block a chunk of units, neighbouring threads look at neighbouring units of one image after
// the other and stop at the first that is not 0.

#include "gpu/core/cuda.h"
#include "gpu/ops/block_sum.cuh"
#include "gpu/statistics/live_units.h"

namespace warpscope::statistics {
namespace {

constexpr unsigned kUnitThreads = 256;

__device__ bool is_live(const UnitTensor& tensor, std::int64_t i) {
  if (tensor.type == core::ElementType::f32) return static_cast<const float*>(tensor.values)[i] != 0.0f;
  return (static_cast<const std::uint16_t*>(tensor.values)[i] & 0x7fffu) != 0;
}

/// The tensor that the chunk is of: the last that begins at or before it.
__device__ const UnitTensor& tensor_of(const UnitCall& call, std::int64_t chunk) {
  int low = 0, high = call.tensor_count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (call.tensors[middle].first_chunk <= chunk ? low : high) = middle;
  }
  return call.tensors[low];
}

__global__ void __launch_bounds__(kUnitThreads) search_chunks(UnitCall call) {
  const std::int64_t chunk = blockIdx.x;
  const UnitTensor tensor = tensor_of(call, chunk);
  const std::int64_t first = (chunk - tensor.first_chunk) * kChunkUnits;
  const std::int64_t end = min(tensor.units, first + kChunkUnits);
  std::uint32_t live[1] = {0};
  for (std::int64_t unit = first + threadIdx.x; unit < end; unit += kUnitThreads) {
    bool found = false;
    for (std::int64_t image = 0; image < tensor.batch && !found; ++image) {
      found = is_live(tensor, image * tensor.units + unit);
    }
    if (!found) continue;
    ++live[0];
    call.live_channels[tensor.first_channel + unit % tensor.channels] = 1;  // whoever comes, the same
  }
  ops::block_sums(live);
  if (threadIdx.x == 0) call.live_units[chunk] = live[0];
}

}  // namespace

void find_live_units_cuda(core::Stream& stream, const UnitCall& call) {
  if (call.chunks == 0) return;
  search_chunks<<<static_cast<unsigned>(call.chunks), kUnitThreads, 0, core::cuda_stream(stream)>>>(call);
  core::check_launch("find_live_units");
}

}  // namespace warpscope::statistics
