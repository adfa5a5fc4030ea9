#include "gpu/engine/diagnosis.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/compare_bits.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;
using ops::step::StepRecord;

/// Memory that one of the two runs has for itself, and its plan.
struct Twin {
  NetworkBuffers network;
  core::Buffer control, ring;
  std::unique_ptr<plan::Plan> plan;
};

core::Buffer copy_of(const core::Buffer& original, const std::shared_ptr<core::Device>& device,
                     core::Stream& stream) {
  core::Buffer copy(device, original.bytes());
  stream.copy(copy.data(), original.data(), original.bytes());
  return copy;
}

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

std::vector<TensorDifference> run_twice(const NetworkBuffers& network, const core::Buffer& control,
                                        const std::shared_ptr<core::Device>& device, core::Stream& stream,
                                        plan::Bindings bindings, const MakePlan& make) {
  Twin twins[2];
  try {
    for (Twin& twin : twins) {
      twin.network.parameters = copy_of(network.parameters, device, stream);
      twin.network.gradients = copy_of(network.gradients, device, stream);
      for (int i = 0; i < 2; ++i) twin.network.states[i] = copy_of(network.states[i], device, stream);
      twin.control = copy_of(control, device, stream);
      twin.ring = core::Buffer(device, static_cast<std::size_t>(bindings.ring_capacity) * sizeof(StepRecord));
      twin.network.bind(bindings);
      bindings.control = twin.control.as<StepControl>();
      bindings.ring = twin.ring.as<StepRecord>();
      twin.plan = make(bindings);
    }
  } catch (const core::OutOfMemory& error) {
    throw core::OutOfMemory(fmt::format(
        "running a step twice needs memory for two more plans: {}; choose a smaller batch", error.what()));
  }

  std::vector<TensorDifference> differences;
  const auto& nodes = twins[0].plan->nodes();
  core::Buffer difference(device, sizeof(BitDifferences));
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const Twin& twin : twins) twin.plan->launch_node(n, stream);
    const auto first = twins[0].plan->written(n);
    const auto second = twins[1].plan->written(n);
    for (std::size_t i = 0; i < first.size(); ++i) {
      BitDifferences found;
      stream.fill(difference.data(), 0, difference.bytes());
      compare_bits(*device, stream, first[i].type, first[i].elements, first[i].data, second[i].data,
                   difference.as<BitDifferences>());
      stream.copy(&found, difference.data(), sizeof(found));
      stream.synchronize();
      const double largest = static_cast<double>(found.largest);
      const double scale = static_cast<double>(found.largest_value);
      differences.push_back({nodes[n].op, nodes[n].layer, nodes[n].variant->name, first[i].name,
                             first[i].elements, static_cast<std::int64_t>(found.different), largest,
                             scale > 0 ? largest / scale : 0.0});
    }
  }
  stream.synchronize();
  return differences;
}

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
