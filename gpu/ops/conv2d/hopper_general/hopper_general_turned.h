#pragma once
// Tensors that are turned so that 32 images are innermost (hopper_general_turned_weights.cu): what host and kernels
// share.
//
//   turned[chunk][row][column][channel][lane]     lane: 0 to 31
//
// The gradient of the weights sums over pixels, and in TF32 the tensor cores take operands only with what is summed
// innermost. With images there a tap's shift, whatever stride, dilation and padding are, is another row and column of
// the same lanes, and a pixel's channels of 32 images are one piece of memory.
//
// Where images are few they are cut into strips, of rows and of columns of y, and a strip is a lane by itself: lane
// (image * strips down + strip down) * strips across + strip across of all chunks. A strip of x has all that the taps
// read for it, so that strips overlap, with zeros where that is outside the image. Lanes past the last are zeros.

#include <cstddef>
#include <cstdint>
#include <string>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/hopper_general/hopper_general_weights.h"

namespace warpscope::ops::conv2d::hopper_general {

inline constexpr int kLanes = kRowBytes / static_cast<int>(sizeof(float));

/// The strips of a tensor along one axis.
struct Strips {
  int extent = 0;  ///< rows or columns of the tensor
  int count = 1;
  int first = 0;  ///< where the first strip begins in the tensor; may be before it
  int apart = 0;  ///< from one strip's beginning to the next one's
  int length = 0;
};

/// A tensor (images, down.extent, across.extent, channels) of FP32.
struct TurnedTensor {
  int lanes = 0;  ///< of all chunks
  int channels = 0;
  Strips down;
  Strips across;

  constexpr int chunks() const { return static_cast<int>(divide_up(lanes, kLanes)); }
  /// Pixels that a lane has of one channel.
  constexpr std::int64_t pixels() const { return std::int64_t{down.length} * across.length; }
  constexpr std::int64_t elements() const { return chunks() * pixels() * channels * kLanes; }
};

/// Which pixel of all images a lane has at a row and column of its strip; -1: zeros.
__host__ __device__ inline std::int64_t pixel_of_lane(const TurnedTensor& t, int lane, int row, int column) {
  const int line = lane / t.across.count;
  const int image = line / t.down.count;
  const int y = t.down.first + (line - image * t.down.count) * t.down.apart + row;
  const int x = t.across.first + (lane - line * t.across.count) * t.across.apart + column;
  const bool exists = lane < t.lanes && y >= 0 && y < t.down.extent && x >= 0 && x < t.across.extent;
  return exists ? (std::int64_t{image} * t.down.extent + y) * t.across.extent + x : -1;
}

struct TurnedPlan {
  TurnedTensor input;
  TurnedTensor gradient;
  /// Its stages are the pixels of `gradient`, chunk by chunk; `lower` is that of a strip.
  WeightsPlan weights;
  std::size_t input_at = 0;  ///< bytes of the workspace before it; the partial sums are the first
  std::size_t gradient_at = 0;
  std::size_t bytes = 0;  ///< of the workspace
};

/// The plan that is estimated to take the least time on kPlannedProcessors.
TurnedPlan plan_turned(const OpShape& shape);

/// Why the turned product cannot, or should not, give the gradient of the weights, or "".
std::string refuses_turned_weights(const OpShape& shape);

/// Enqueues on the call's stream: the turning of one tensor; hopper_general_turn.cu.
void turn(const OpCall& call, const TurnedTensor& tensor, const void* from, void* to);

/// The product; hopper_general_turned_weights.cu.
void launch_turned_weights(const OpCall& call, const WeightsPlan& plan, const WeightsMaps& maps);

}  // namespace warpscope::ops::conv2d::hopper_general
