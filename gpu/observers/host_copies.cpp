#include "gpu/observers/host_copies.h"

#include "gpu/ops/host_values.h"

namespace warpscope::training {

std::vector<float> floats(const core::HostBuffer& buffer) {
  const auto* const values = buffer.as<const float>();
  const std::size_t count = buffer.bytes() / sizeof(float);
  return {values, values + count};
}

std::vector<float> widened(std::span<const std::byte> bytes, core::ElementType type) {
  if (type == core::ElementType::f32) {
    const auto* const values = reinterpret_cast<const float*>(bytes.data());
    const std::size_t count = bytes.size() / sizeof(float);
    return {values, values + count};
  }
  const std::vector<double> wide = ops::decode(bytes, type);
  return {wide.begin(), wide.end()};
}

}  // namespace warpscope::training
