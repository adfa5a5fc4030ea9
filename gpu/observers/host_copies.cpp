#include "gpu/observers/host_copies.h"

#include "gpu/ops/host_values.h"

namespace warpscope::training {

std::vector<float> floats(const core::HostBuffer& buffer) {
  const auto* const values = buffer.as<const float>();
  return {values, values + buffer.bytes() / sizeof(float)};
}

std::vector<float> widened(std::span<const std::byte> bytes, core::ElementType type) {
  if (type == core::ElementType::f32) {
    const auto* const values = reinterpret_cast<const float*>(bytes.data());
    return {values, values + bytes.size() / sizeof(float)};
  }
  const std::vector<double> wide = ops::decode(bytes, type);
  return {wide.begin(), wide.end()};
}

}  // namespace warpscope::training
