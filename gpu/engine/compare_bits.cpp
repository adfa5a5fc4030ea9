#include "gpu/engine/compare_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace warpscope::training {
namespace {

float value_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
float value_of(std::uint16_t bfloat16) {
  return std::bit_cast<float>(std::uint32_t{bfloat16} << 16);
}

template <class Bits>
void compare(std::int64_t elements, const void* first, const void* second, BitDifferences& result) {
  const auto* a = static_cast<const Bits*>(first);
  const auto* b = static_cast<const Bits*>(second);
  for (std::int64_t i = 0; i < elements; ++i) {
    const float left = value_of(a[i]);
    result.largest_value = std::fmax(result.largest_value, std::fabs(left));
    if (a[i] == b[i]) continue;
    ++result.different;
    result.largest = std::fmax(result.largest, std::fabs(left - value_of(b[i])));
  }
}

}  // namespace

void compare_bits(const core::Device& device, core::Stream& stream, core::ElementType type,
                  std::int64_t elements, const void* a, const void* b, BitDifferences* result) {
  if constexpr (core::kHaveCuda) {
    if (device.kind() == core::DeviceKind::cuda)
      return compare_bits_cuda(stream, type, elements, a, b, result);
  }
  // The CPU's streams run everything at once.
  if (type == core::ElementType::f32) {
    compare<std::uint32_t>(elements, a, b, *result);
  } else if (type == core::ElementType::bf16) {
    compare<std::uint16_t>(elements, a, b, *result);
  } else {
    throw std::logic_error("compare_bits takes f32 and bf16 on the CPU");
  }
}

}  // namespace warpscope::training
