// Engine::find_not_finite: a step again, node by node, until a number is none.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;
using ops::step::StepRecord;

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

NotFinite Engine::find_not_finite(std::uint64_t step) {
  if (step >= steps_ || step < network_since_ || step + kTracedSteps < steps_) return {};
  stream_->synchronize();
  for (const models::Parameter& parameter : layout_.parameters) {
    const std::int64_t count =
        count_not_finite(*stream_, core::ElementType::f32, parameters_.as<float>() + parameter.offset,
                         static_cast<std::int64_t>(parameter.elements));
    if (count > 0) return {parameter.name, models::layer_of(options_.model, parameter), "", count};
  }
  const Pending& then = last_enqueued_[step % kTracedSteps];
  DataOrder order(data_->train.count, options_.seed, options_.shuffle);
  order.set_batch(then.batch);
  order.restore(then.epochs_done, then.position);
  order.begin_step();
  core::Buffer order_buffer, control_buffer;
  upload(order_buffer, order.order().data(), order_buffer_.bytes());
  StepControl control;
  stream_->copy(&control, control_.data(), sizeof(control));
  stream_->synchronize();
  control.step = step;  // what is random in it is drawn again
  control.position = order.position();
  control.epoch_size = order.epoch_size();
  control.micro_batch = 0;
  upload(control_buffer, &control, sizeof(control));
  const core::Buffer gradients(device_, gradients_.bytes());
  stream_->fill(gradients.data(), 0, gradients.bytes());
  const core::Buffer ring(device_, LossRing::kCapacity * sizeof(StepRecord));
  plan::Bindings bindings = training_bindings();
  bindings.order = order_buffer.as<std::uint32_t>();
  bindings.control = control_buffer.as<StepControl>();
  bindings.gradients = gradients.as<float>();
  bindings.ring = ring.as<StepRecord>();
  const auto plan = build_training(options_.selection, options_.batch, options_.optimizer, bindings);
  NotFinite found;
  for (int micro = 0; micro < plan->recipe().micro_batches && found.tensor.empty(); ++micro) {
    for (std::size_t n = 0; n < plan->update_node() && found.tensor.empty(); ++n) {
      plan->launch_node(n, *stream_);
      for (const plan::WrittenTensor& tensor : plan->written(n)) {
        const std::int64_t count = count_not_finite(*stream_, tensor.type, tensor.data, tensor.elements);
        if (count == 0) continue;
        const plan::PlanNode& node = plan->nodes()[n];
        found = {tensor.name, node.layer, std::string(ops::to_string(node.op)), count};
        break;
      }
    }
  }
  stream_->synchronize();
  interrupted_ = true;
  return found;
}

}  // namespace warpscope::training
