// collect() on CUDA: a block takes 32 places of 32 channels of an image, reads them with neighbouring threads on
// neighbouring channels (NHWC), turns the tile in shared memory and writes it with neighbouring threads on neighbouring
// places (CHW).

#include "gpu/core/cuda.h"
#include "gpu/features/collect.h"
#include "gpu/ops/storage.cuh"

namespace warpscope::features {
namespace {

constexpr int kTile = 32;
constexpr int kRows = 8;  ///< rows of threads: each does kTile / kRows places

/// The window at (y, x) of one channel. `first` is the image's first number of that channel.
template <class T>
__device__ float pooled(const CollectCall& call, const T* first, int y, int x) {
  const int tall = call.height / call.out_height, wide = call.width / call.out_width;
  float sum = 0, most = -INFINITY;
  bool no_number = false;
  for (int i = 0; i < tall; ++i) {
    for (int j = 0; j < wide; ++j) {
      const std::int64_t place = std::int64_t{y * tall + i} * call.width + x * wide + j;
      const float value = ops::to_float(first[place * call.channels]);
      sum += value;
      most = fmaxf(most, value);
      no_number |= isnan(value);
    }
  }
  if (no_number) return NAN;
  return call.maximum ? most : sum / static_cast<float>(tall * wide);
}

template <class T>
__global__ void __launch_bounds__(kTile* kRows) collect_tiles(CollectCall call) {
  __shared__ float tile[kTile][kTile + 1];  // +1: a column's numbers lie in different banks
  const int places = call.out_height * call.out_width;
  const int place0 = blockIdx.x * kTile, channel0 = blockIdx.y * kTile;
  const std::int64_t image = blockIdx.z;
  const T* const values =
      static_cast<const T*>(call.values) + image * call.height * call.width * call.channels;
  const int channel = channel0 + threadIdx.x;
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    const int place = place0 + i;
    if (place >= places || channel >= call.channels) continue;
    tile[i][threadIdx.x] = pooled(call, values + channel, place / call.out_width, place % call.out_width);
  }
  __syncthreads();
  float* const row = call.rows + (call.first_row + image) * call.row_columns + call.first_column;
  const int place = place0 + threadIdx.x;
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    if (place >= places || channel0 + i >= call.channels) continue;
    row[std::int64_t{channel0 + i} * places + place] = tile[threadIdx.x][i];
  }
}

template <class T>
void launch(core::Stream& stream, const CollectCall& call) {
  const int places = call.out_height * call.out_width;
  const dim3 grid((places + kTile - 1) / kTile, (call.channels + kTile - 1) / kTile, call.count);
  collect_tiles<T><<<grid, dim3(kTile, kRows), 0, core::cuda_stream(stream)>>>(call);
  core::check_launch("collect");
}

}  // namespace

void collect_cuda(core::Stream& stream, const CollectCall& call) {
  if (call.count == 0) return;
  switch (call.type) {
    case core::ElementType::f32:
      return launch<float>(stream, call);
    case core::ElementType::f16:
      return launch<__half>(stream, call);
    case core::ElementType::bf16:
      return launch<__nv_bfloat16>(stream, call);
    default:
      throw std::logic_error("collect takes f32, f16 and bf16");
  }
}

}  // namespace warpscope::features
