#include "gpu/plan/plan.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/plan/memory.h"

namespace warpscope::plan {
namespace {

/// The variants of `op` that would run, for error messages.
std::string alternatives(ops::Op op, const core::DeviceInfo& device, core::Precision precision,
                         const ops::OpShape& shape) {
  std::vector<std::string> names;
  for (const ops::Variant* variant : ops::variants_of(op, device.kind)) {
    if (variant->launch == nullptr) continue;
    if (ops::unavailable_reason(*variant, device, precision, &shape).empty()) names.push_back(variant->name);
  }
  if (!names.empty()) return fmt::format("valid here: {}", fmt::join(names, ", "));
  std::vector<std::string> precisions;
  for (const core::Precision other : core::selectable_precisions()) {
    for (const ops::Variant* variant : ops::variants_of(op, device.kind)) {
      if (!ops::unavailable_reason(*variant, device, other, &shape).empty()) continue;
      precisions.emplace_back(core::to_string(other));
      break;
    }
  }
  return fmt::format("no variant of it runs in {} on {}; precisions that do: {}", core::to_string(precision),
                     device.id(),
                     precisions.empty() ? "none" : fmt::format("{}", fmt::join(precisions, ", ")));
}

std::string place(const Node& node) {
  return node.layer.empty() ? "" : " in " + node.layer;
}

/// "conv2d.backward_weights=mma", ...: the variants that can absorb `op`.
std::vector<std::string> names_of_hosts(ops::Op op, core::DeviceKind device) {
  std::vector<std::string> names;
  for (const ops::Variant& variant : ops::variants()) {
    if (variant.device != device) continue;
    if (std::find(variant.fuses.begin(), variant.fuses.end(), op) == variant.fuses.end()) continue;
    names.push_back(fmt::format("{}={}", ops::to_string(variant.op), variant.name));
  }
  return names;
}

}  // namespace

Plan::Plan(const models::Model& model, Purpose purpose, const Selection& selection, int batch,
           std::shared_ptr<core::Device> device, core::Stream& stream, const Bindings& bindings,
           const Recipe& recipe)
    : device_(std::move(device)),
      program_(lower(model, purpose, batch, bindings.image_count, bindings.ring_capacity, selection.precision,
                     recipe, uses_blocks(selection, device_->info().kind))),
      precision_(selection.precision),
      recipe_(recipe),
      batch_(batch) {
  choose_variants(selection);
  std::vector<std::size_t> workspace_bytes;
  for (const PlanNode& node : nodes_) {
    workspace_bytes.push_back(node.absorbed ? 0
                                            : ops::workspace_bytes(*node.variant, node.shape, precision_));
  }
  const MemoryPlan memory = plan_memory(program_, precision_, workspace_bytes);
  try {
    arena_ = core::Buffer(device_, memory.bytes);
    for (const PlanNode& node : nodes_) {
      const auto prepare = node.absorbed ? nullptr : node.variant->prepare;
      prepared_.push_back(prepare == nullptr ? nullptr : prepare(node.shape, precision_, *device_));
    }
  } catch (const core::OutOfMemory& error) {
    throw core::OutOfMemory(
        fmt::format("batch {} does not fit: {}; choose a smaller batch", batch, error.what()));
  }
  bind(memory, bindings);
  clear_persistent(stream);
  graph_ = capture(stream, 0, nodes_.size());
  if (recipe_.micro_batches > 1) micro_graph_ = capture(stream, 0, program_.update);
}

std::unique_ptr<core::Graph> Plan::capture(core::Stream& stream, std::size_t begin, std::size_t end) {
  return stream.capture([this, &stream, begin, end] {
    for (std::size_t i = begin; i < end; ++i) launch_node(i, stream);
  });
}

void Plan::clear_persistent(core::Stream& stream) {
  for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
    const Tensor& tensor = program_.tensors[t];
    if (!tensor.persistent) continue;
    stream.fill(address_[t], 0,
                static_cast<std::size_t>(tensor.elements) *
                    core::size_of(ops::element_type(tensor.role, precision_)));
  }
}

void Plan::choose_variants(const Selection& selection) {
  const auto selectable = core::selectable_precisions();
  if (std::find(selectable.begin(), selectable.end(), precision_) == selectable.end()) {
    // The buffers of a training hold no doubles.
    std::vector<std::string_view> names;
    for (const core::Precision precision : selectable) names.push_back(core::to_string(precision));
    throw core::BadInput(fmt::format("training in {} is not possible; valid: {}", core::to_string(precision_),
                                     fmt::join(names, ", ")));
  }
  std::vector<const ops::Variant*> variants;
  for (const Node& node : program_.nodes) variants.push_back(look_up(node, selection));
  absorb(program_, variants);
  for (std::size_t n = 0; n < variants.size(); ++n) {
    const Node& node = program_.nodes[n];
    if (node.absorbed_by < 0) check(node, *variants[n]);
    nodes_.push_back({node.op, node.layer, node.shape, variants[n], node.absorbed_by >= 0});
  }
}

/// The selected variant. An op that a fused variant may absorb needs no valid one of its own, so only its name counts here.
const ops::Variant* Plan::look_up(const Node& node, const Selection& selection) const {
  const core::DeviceInfo& device = device_->info();
  const auto chosen = selection.variants.find(node.op);
  if (chosen == selection.variants.end()) {
    throw core::BadInput(fmt::format("{}{}: no variant is selected; {}", ops::to_string(node.op), place(node),
                                     alternatives(node.op, device, precision_, node.shape)));
  }
  const ops::Variant* variant = ops::find_variant(node.op, device.kind, chosen->second);
  if (variant == nullptr) {
    throw core::BadInput(fmt::format("{}={} cannot run{}: there is no such variant on {}; {}",
                                     ops::to_string(node.op), chosen->second, place(node), device.id(),
                                     alternatives(node.op, device, precision_, node.shape)));
  }
  return variant;
}

void Plan::check(const Node& node, const ops::Variant& variant) const {
  const core::DeviceInfo& device = device_->info();
  std::string reason = ops::unavailable_reason(variant, device, precision_, &node.shape);
  if (reason.empty() && variant.launch == nullptr) {
    reason = fmt::format("it runs only inside a variant that covers it ({})",
                         fmt::join(names_of_hosts(node.op, device.kind), ", "));
  }
  if (reason.empty()) return;
  throw core::BadInput(fmt::format("{}={} cannot run{}: {}; {}", ops::to_string(node.op), variant.name,
                                   place(node), reason,
                                   alternatives(node.op, device, precision_, node.shape)));
}

void Plan::bind(const MemoryPlan& memory, const Bindings& bindings) {
  auto* const arena = arena_.as<std::byte>();
  for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
    const Tensor& tensor = program_.tensors[t];
    // Operands are passed as void*; ops write only to operands whose contract says so.
    switch (tensor.storage) {
      case Storage::planned:
        address_.push_back(arena + memory.tensor_offset[t]);
        break;
      case Storage::part:
        address_.push_back(static_cast<std::byte*>(address_[static_cast<std::size_t>(tensor.parent)]) +
                           tensor.offset * core::size_of(ops::element_type(tensor.role, precision_)));
        break;
      case Storage::images:
        address_.push_back(const_cast<std::uint8_t*>(bindings.images));
        break;
      case Storage::labels:
        address_.push_back(const_cast<std::uint8_t*>(bindings.labels));
        break;
      case Storage::order:
        address_.push_back(const_cast<std::uint32_t*>(bindings.order));
        break;
      case Storage::control:
        address_.push_back(bindings.control);
        break;
      case Storage::ring:
        address_.push_back(bindings.ring);
        break;
      case Storage::parameters:
        address_.push_back(bindings.parameters + tensor.offset);
        break;
      case Storage::gradients:
        address_.push_back(bindings.gradients + tensor.offset);
        break;
      case Storage::first_state:
        address_.push_back(bindings.first_state);
        break;
      case Storage::second_state:
        address_.push_back(bindings.second_state);
        break;
    }
  }
  for (std::size_t n = 0; n < program_.nodes.size(); ++n) {
    std::vector<void*> operands;
    for (const int tensor : program_.nodes[n].tensors)
      operands.push_back(address_[static_cast<std::size_t>(tensor)]);
    operands_.push_back(std::move(operands));
    workspace_.push_back(arena + memory.workspace_offset[n]);
  }
}

void Plan::launch_node(std::size_t index, core::Stream& stream) {
  const PlanNode& node = nodes_[index];
  if (node.absorbed) return;
  node.variant->launch({node.shape, precision_, operands_[index], program_.nodes[index].absorbed,
                        workspace_[index], prepared_[index].get(), &stream});
}

std::vector<WrittenTensor> Plan::written(std::size_t index) const {
  const Node& node = program_.nodes[index];
  const auto contract = ops::contract(node.op).operands;
  std::vector<WrittenTensor> result;
  for (std::size_t i = 0; i < node.tensors.size(); ++i) {
    const auto t = static_cast<std::size_t>(node.tensors[i]);
    const Tensor& tensor = program_.tensors[t];
    if (tensor.elements == 0) continue;  // the state of an optimizer that keeps none
    const auto& too = node.written_too;
    const bool writes = i < contract.size() ? contract[i].access != ops::Access::read
                                            : std::find(too.begin(), too.end(), node.tensors[i]) != too.end();
    if (!writes || tensor.role == ops::Role::control || tensor.role == ops::Role::byte) continue;
    result.push_back({tensor.name, ops::element_type(tensor.role, precision_), tensor.elements, address_[t]});
  }
  return result;
}

void Plan::launch(core::Stream& stream) {
  for (int i = 1; i < recipe_.micro_batches; ++i) stream.launch(*micro_graph_);
  stream.launch(*graph_);
}

bool Plan::launch_timed(core::Stream& stream) {
  if (timing_pending_) return false;
  if (!timed_graph_) {
    timed_done_ = device_->make_event(false);
    for (std::size_t i = 0; i <= nodes_.size(); ++i) events_.push_back(device_->make_event(true));
    timed_graph_ = stream.capture([this, &stream] {
      stream.record(*events_[0]);
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].absorbed) continue;
        launch_node(i, stream);
        stream.record(*events_[i + 1]);
      }
    });
  }
  for (int i = 1; i < recipe_.micro_batches; ++i) stream.launch(*micro_graph_);
  stream.launch(*timed_graph_);
  stream.record(*timed_done_);
  timing_pending_ = true;
  return true;
}

std::optional<std::vector<double>> Plan::take_timings() {
  if (!timing_pending_ || !timed_done_->ready()) return std::nullopt;
  timing_pending_ = false;
  std::vector<double> microseconds;
  std::size_t last = 0;  // the event before the node
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    microseconds.push_back(nodes_[i].absorbed ? 0.0 : events_[i + 1]->microseconds_since(*events_[last]));
    if (!nodes_[i].absorbed) last = i + 1;
  }
  return microseconds;
}

}  // namespace warpscope::plan
