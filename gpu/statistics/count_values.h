#pragma once
// Counts the numbers of many tensors at once, in device memory: a histogram each (value_bins.h), their sums, and
// the ends of their range.

#include <cstdint>
#include <span>

#include "gpu/core/device.h"
#include "gpu/core/types.h"
#include "gpu/statistics/value_bins.h"

namespace warpscope::statistics {

/// A tensor (f32, f16 or bf16) and what is counted of it: v = (values - before) / divisor, in FP32. Pointers are
/// to device memory.
struct CountedTensor {
  const void* values = nullptr;
  core::ElementType type = core::ElementType::f32;
  std::uint32_t result = 0;  ///< which result it is part of: several tensors may share one
  std::int64_t elements = 0;
  const float* before = nullptr;   ///< as many; nullptr: nothing is subtracted. f32 only
  const float* divisor = nullptr;  ///< one number; nullptr: 1
  std::int64_t first_chunk = 0;    ///< filled in by lay_out_chunks()
};

/// Tensors are counted in chunks of so many elements, each of which leaves its own sums.
inline constexpr std::int64_t kChunkElements = 32768;

/// Sums of the finite numbers of a chunk. `least` is above `most` if there are none.
struct ChunkSums {
  double sum = 0;
  double squares = 0;
  float least = 0;
  float most = 0;
};

/// Fills in CountedTensor::first_chunk and returns how many chunks there are.
std::int64_t lay_out_chunks(std::span<CountedTensor> tensors);

/// What count_values() reads and writes: all in device memory.
struct CountCall {
  const CountedTensor* tensors = nullptr;  ///< laid out
  int tensor_count = 0;
  std::int64_t chunks = 0;
  /// (results, kCounters), zeros before: counts are added. Fewer than 2^32 elements a result.
  std::uint32_t* counters = nullptr;
  ChunkSums* sums = nullptr;  ///< one a chunk
};

/// Enqueues the counting on a CUDA stream, as one launch. On the CPU it is done at once, in the calling thread and
/// helpers: callers enqueue it inside Stream::capture(). The same bits every time.
void count_values(const core::Device& device, core::Stream& stream, const CountCall& call);

// ---- on CUDA ----

void count_values_cuda(core::Stream& stream, const CountCall& call);

}  // namespace warpscope::statistics
