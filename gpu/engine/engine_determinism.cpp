// Engine::check_determinism: two plans of the same selection, node by node beside each other.

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/compare_bits.h"
#include "gpu/engine/engine.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;
using ops::step::StepRecord;

/// Memory that one of the two runs has for itself, and its plan.
struct Twin {
  core::Buffer parameters, gradients, states[2], control, ring;
  std::unique_ptr<plan::Plan> plan;
};

core::Buffer copy_of(const core::Buffer& original, const std::shared_ptr<core::Device>& device,
                     core::Stream& stream) {
  core::Buffer copy(device, original.bytes());
  stream.copy(copy.data(), original.data(), original.bytes());
  return copy;
}

}  // namespace

DeterminismReport Engine::check_determinism() {
  free_retired();
  refresh_order();
  if (control_stale_) upload_control();
  interrupted_ = true;
  Twin twins[2];
  try {
    for (Twin& twin : twins) {
      twin.parameters = copy_of(parameters_, device_, *stream_);
      twin.gradients = copy_of(gradients_, device_, *stream_);
      for (int i = 0; i < 2; ++i) twin.states[i] = copy_of(states_[i], device_, *stream_);
      twin.control = copy_of(control_, device_, *stream_);
      twin.ring = core::Buffer(device_, LossRing::kCapacity * sizeof(StepRecord));
      plan::Bindings bindings = training_bindings();
      bindings.parameters = twin.parameters.as<float>();
      bindings.gradients = twin.gradients.as<float>();
      bindings.first_state = twin.states[0].as<float>();
      bindings.second_state = twin.states[1].as<float>();
      bindings.control = twin.control.as<StepControl>();
      bindings.ring = twin.ring.as<StepRecord>();
      twin.plan = build_training(options_.selection, options_.batch, options_.optimizer, bindings);
    }
  } catch (const core::OutOfMemory& error) {
    throw core::OutOfMemory(fmt::format(
        "running a step twice needs memory for two more plans: {}; choose a smaller batch", error.what()));
  }

  DeterminismReport report;
  report.step = steps_;
  report.selection = plan::to_string(options_.selection);
  const auto& nodes = twins[0].plan->nodes();
  core::Buffer difference(device_, sizeof(BitDifferences));
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const Twin& twin : twins) twin.plan->launch_node(n, *stream_);
    const auto first = twins[0].plan->written(n);
    const auto second = twins[1].plan->written(n);
    for (std::size_t i = 0; i < first.size(); ++i) {
      BitDifferences found;
      stream_->fill(difference.data(), 0, difference.bytes());
      compare_bits(*device_, *stream_, first[i].type, first[i].elements, first[i].data, second[i].data,
                   difference.as<BitDifferences>());
      stream_->copy(&found, difference.data(), sizeof(found));
      stream_->synchronize();
      const double largest = static_cast<double>(found.largest);
      const double scale = static_cast<double>(found.largest_value);
      report.tensors.push_back({nodes[n].op, nodes[n].layer, nodes[n].variant->name, first[i].name,
                                first[i].elements, static_cast<std::int64_t>(found.different), largest,
                                scale > 0 ? largest / scale : 0.0});
    }
  }
  stream_->synchronize();
  return report;
}

}  // namespace warpscope::training
