#include "gpu/engine/diagnosis.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace warpscope::training {
namespace {

/// All exponent bits are set: an infinity or a NaN.
template <class Bits>
std::int64_t count_not_finite(const std::vector<std::byte>& bytes, Bits exponent) {
  std::int64_t count = 0;
  for (std::size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof(bits));
    count += (bits & exponent) == exponent;
  }
  return count;
}

std::int64_t count_not_finite(core::Stream& stream, core::ElementType type, const void* data,
                              std::int64_t elements) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * core::size_of(type));
  stream.copy(bytes.data(), data, bytes.size());
  stream.synchronize();
  switch (type) {
    case core::ElementType::f32:
      return count_not_finite(bytes, std::uint32_t{0x7f800000});
    case core::ElementType::f16:
      return count_not_finite(bytes, std::uint16_t{0x7c00});
    case core::ElementType::bf16:
      return count_not_finite(bytes, std::uint16_t{0x7f80});
    default:
      return 0;
  }
}

}  // namespace

NotFinite not_finite_parameter(const NetworkState& network, core::Stream& stream) {
  for (const models::Parameter& parameter : network.layout().parameters) {
    const std::int64_t count = count_not_finite(stream, core::ElementType::f32,
                                                network.buffers().parameters.as<float>() + parameter.offset,
                                                static_cast<std::int64_t>(parameter.elements));
    if (count > 0) return {parameter.name, models::layer_of(network.model(), parameter), "", count};
  }
  return {};
}

NotFinite not_finite_tensor(plan::Plan& plan, core::Stream& stream) {
  for (int micro = 0; micro < plan.recipe().micro_batches; ++micro) {
    for (std::size_t n = 0; n < plan.update_node(); ++n) {
      plan.launch_node(n, stream);
      for (const plan::WrittenTensor& tensor : plan.written(n)) {
        const std::int64_t count = count_not_finite(stream, tensor.type, tensor.data, tensor.elements);
        if (count == 0) continue;
        stream.synchronize();
        const plan::PlanNode& node = plan.nodes()[n];
        return {tensor.name, node.layer, std::string(ops::to_string(node.op)), count};
      }
    }
  }
  stream.synchronize();
  return {};
}

}  // namespace warpscope::training
