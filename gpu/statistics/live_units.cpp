#include "gpu/statistics/live_units.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "gpu/core/parallel.h"

namespace warpscope::statistics {
namespace {

using core::ElementType;

/// Whether element `i` is anything but 0 or -0.
bool is_live(const UnitTensor& tensor, std::int64_t i) {
  if (tensor.type == ElementType::f32) return static_cast<const float*>(tensor.values)[i] != 0.0f;
  const std::uint16_t bits = static_cast<const std::uint16_t*>(tensor.values)[i];
  return (bits & 0x7fffu) != 0;
}

bool is_live_unit(const UnitTensor& tensor, std::int64_t unit) {
  for (std::int64_t image = 0; image < tensor.batch; ++image) {
    if (is_live(tensor, image * tensor.units + unit)) return true;
  }
  return false;
}

void search_chunk(const UnitCall& call, std::int64_t chunk) {
  const UnitTensor* const end = call.tensors + call.tensor_count;
  const UnitTensor& tensor = *(
      std::upper_bound(call.tensors, end, chunk,
                       [](std::int64_t wanted, const UnitTensor& one) { return wanted < one.first_chunk; }) -
      1);
  const std::int64_t first = (chunk - tensor.first_chunk) * kChunkUnits;
  const std::int64_t last = std::min(tensor.units, first + kChunkUnits);
  std::uint32_t live = 0;
  for (std::int64_t unit = first; unit < last; ++unit) {
    if (!is_live_unit(tensor, unit)) continue;
    ++live;
    std::atomic_ref(call.live_channels[tensor.first_channel + unit % tensor.channels])
        .store(1, std::memory_order_relaxed);
  }
  call.live_units[chunk] = live;
}

}  // namespace

UnitLayout lay_out_chunks(std::span<UnitTensor> tensors) {
  UnitLayout layout;
  for (UnitTensor& tensor : tensors) {
    const bool known = tensor.type == ElementType::f32 || tensor.type == ElementType::f16 ||
                       tensor.type == ElementType::bf16;
    if (!known) throw std::logic_error("find_live_units takes f32, f16 and bf16");
    tensor.first_chunk = layout.chunks;
    tensor.first_channel = layout.channels;
    layout.chunks += (tensor.units + kChunkUnits - 1) / kChunkUnits;
    layout.channels += tensor.channels;
  }
  return layout;
}

void find_live_units(const core::Device& device, core::Stream& stream, const UnitCall& call) {
  if constexpr (core::kHaveCuda) {
    if (device.kind() == core::DeviceKind::cuda) return find_live_units_cuda(stream, call);
  }
  core::parallel_for(call.chunks, 1, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) search_chunk(call, chunk);
  });
}

}  // namespace warpscope::statistics
