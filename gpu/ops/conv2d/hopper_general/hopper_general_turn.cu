// Turns a tensor so that 32 images, or strips of images, are innermost (hopper_general_turned.h). A block turns one
// pixel of a chunk: 64 channels of its 32 lanes, read and written in lines of 128 bytes. Bound by memory: every element
// is read once, those of overlapping strips more often, and written once. 8.3 KiB of shared memory.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/hopper_general/hopper_general_turned.h"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::hopper_general {
namespace {

constexpr int kTurnThreads = 256;
constexpr int kTurnSide = 32;  ///< channels of a square
constexpr int kTurnSquares = 2;
constexpr int kTurnChannels = kTurnSide * kTurnSquares;
constexpr int kQuads = kTurnSide / 4;
static_assert(kQuads * kLanes == kTurnThreads && kTurnSide == kLanes, "a thread has one quad of a square");

__host__ __device__ inline int turn_slices(const TurnedTensor& t) {
  return (t.channels + kTurnChannels - 1) / kTurnChannels;
}

/// Blocks are the slices of 64 channels of each pixel of all chunks, so that neighbours read and write neighbouring
/// memory. Channels are in multiples of 8.
__global__ void __launch_bounds__(kTurnThreads)
    hopper_general_turn(const __grid_constant__ TurnedTensor t, const float* __restrict__ from,
                        float* __restrict__ to) {
  __shared__ float squares[kTurnSquares][kLanes][kTurnSide + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const int quad = thread % kQuads;
  const int line = thread / kQuads;  // a lane where it reads, a channel where it writes
  const int slices = turn_slices(t);
  const int place = static_cast<int>(blockIdx.x) / slices;
  const int first = (static_cast<int>(blockIdx.x) - place * slices) * kTurnChannels;
  const int rows = place / t.across.length;
  const int chunk = rows / t.down.length;
  const std::int64_t source =
      pixel_of_lane(t, chunk * kLanes + line, rows - chunk * t.down.length, place - rows * t.across.length);
  float4 read[kTurnSquares];
#pragma unroll
  for (int k = 0; k < kTurnSquares; ++k) {
    const int channel = first + k * kTurnSide + 4 * quad;
    read[k] = float4{0.0f, 0.0f, 0.0f, 0.0f};
    if (source >= 0 && channel < t.channels) {
      read[k] = *reinterpret_cast<const float4*>(from + source * t.channels + channel);
    }
  }
#pragma unroll
  for (int k = 0; k < kTurnSquares; ++k) {
    float* const mine = &squares[k][line][4 * quad];
    mine[0] = read[k].x;
    mine[1] = read[k].y;
    mine[2] = read[k].z;
    mine[3] = read[k].w;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kTurnSquares; ++k) {
    const int channel = first + k * kTurnSide + line;
    if (channel >= t.channels) continue;
    const float4 written{squares[k][4 * quad][line], squares[k][4 * quad + 1][line],
                         squares[k][4 * quad + 2][line], squares[k][4 * quad + 3][line]};
    *reinterpret_cast<float4*>(to + (static_cast<std::int64_t>(place) * t.channels + channel) * kLanes +
                               4 * quad) = written;
  }
}

}  // namespace

void turn(const OpCall& call, const TurnedTensor& tensor, const void* from, void* to) {
  const auto blocks = static_cast<unsigned>(tensor.chunks() * tensor.pixels() * turn_slices(tensor));
  run_kernel(call, "turned operands", {blocks, kTurnThreads}, hopper_general_turn, tensor, from, to);
}

}  // namespace warpscope::ops::conv2d::hopper_general
