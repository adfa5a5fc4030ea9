#pragma once
// Which units of an output are ever anything but 0: of a ReLU, those that are not dead.

#include <cstdint>
#include <span>

#include "gpu/core/device.h"
#include "gpu/core/types.h"

namespace warpscope::statistics {

/// A batch of outputs, (batch, places, channels) numbers of f32, f16 or bf16 in device memory. A unit is one
/// place of one channel; it is live if its number is not 0 (NaN is not) for at least one image of the batch. A
/// channel is live if one of its units is.
struct UnitTensor {
  const void* values = nullptr;
  core::ElementType type = core::ElementType::f32;
  int batch = 0;
  std::int64_t units = 0;  ///< places x channels, of one image
  std::int64_t channels = 0;
  std::int64_t first_chunk = 0;    ///< filled in by lay_out_chunks()
  std::int64_t first_channel = 0;  ///< the same: its place in UnitCall::live_channels
};

/// Units are looked at in chunks of so many.
inline constexpr std::int64_t kChunkUnits = 4096;

/// What lay_out_chunks() finds.
struct UnitLayout {
  std::int64_t chunks = 0;
  std::int64_t channels = 0;  ///< of all tensors together
};

/// Fills in first_chunk and first_channel.
UnitLayout lay_out_chunks(std::span<UnitTensor> tensors);

/// What find_live_units() reads and writes: all in device memory.
struct UnitCall {
  const UnitTensor* tensors = nullptr;  ///< laid out
  int tensor_count = 0;
  std::int64_t chunks = 0;
  std::uint32_t* live_units = nullptr;    ///< how many, one a chunk
  std::uint8_t* live_channels = nullptr;  ///< UnitLayout::channels, zeros before; 1: live
};

/// Enqueues the search on a CUDA stream, as one launch. On the CPU it is done at once, in the calling thread and
/// helpers: callers enqueue it inside Stream::capture().
void find_live_units(const core::Device& device, core::Stream& stream, const UnitCall& call);

// ---- on CUDA ----

void find_live_units_cuda(core::Stream& stream, const UnitCall& call);

}  // namespace warpscope::statistics
