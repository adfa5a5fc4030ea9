#include "gpu/plan/plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/launch.h"
#include "gpu/plan/memory.h"

namespace warpscope::plan {
namespace {

/// Where the numbers of `storage` begin; nullptr if nothing is bound, and of what is the plan's own. Operands are
/// passed as void*; ops write only to operands whose contract says so.
void* bound(const Bindings& bindings, Storage storage) {
  switch (storage) {
    case Storage::planned:
    case Storage::part:
      return nullptr;
    case Storage::images:
      return const_cast<std::uint8_t*>(bindings.images);
    case Storage::labels:
      return const_cast<std::uint8_t*>(bindings.labels);
    case Storage::order:
      return const_cast<std::uint32_t*>(bindings.order);
    case Storage::control:
      return bindings.control;
    case Storage::ring:
      return bindings.ring;
    case Storage::parameters:
      return bindings.parameters;
    case Storage::gradients:
      return bindings.gradients;
    case Storage::first_state:
      return bindings.first_state;
    case Storage::second_state:
      return bindings.second_state;
    case Storage::latents:
      return const_cast<void*>(bindings.latents);
    case Storage::score_rows:
      return const_cast<void*>(bindings.score_rows);
  }
  return nullptr;
}

/// A kernel would read or write around address 0.
void check_bound(const NodeCover& node, const BoundOperand& operand, const Tensor& tensor,
                 const void* address) {
  if (address != nullptr || operand.operand.elements == 0) return;
  throw core::Error(fmt::format("no memory is bound for {}, the operand {} of {} {}", tensor.name,
                                ops::to_string(operand.operand.name), ops::to_string(node.variant->op),
                                node.variant->name));
}

}  // namespace

Plan::Plan(const models::Model& model, Purpose purpose, const Selection& selection, int batch,
           ops::Context context, core::Stream& stream, const Bindings& bindings, const Recipe& recipe,
           const MeasuredChoices& measured)
    : context_(std::move(context)),
      program_(lower(model, purpose, batch, bindings.image_count, bindings.ring_capacity, selection.precision,
                     recipe)),
      precision_(selection.precision),
      recipe_(recipe),
      batch_(batch) {
  if (bindings.fixed_parameters) cast_once();
  cover_nodes(selection, measured);
  const MemoryPlan memory = plan_memory(program_, covers_, precision_, workspace_bytes(covers_, precision_));
  try {
    arena_ = core::Buffer(context_.device, memory.bytes);
    for (const PlanNode& node : nodes_) {
      prepared_.push_back(node.variant == nullptr
                              ? nullptr
                              : ops::prepare({node.variant, &context_, node.shape, precision_}));
    }
  } catch (const core::OutOfMemory& error) {
    throw core::OutOfMemory(
        fmt::format("batch {} does not fit: {}; choose a smaller batch", batch, error.what()));
  }
  bind(memory, bindings);
  if (context_.share.sums) overlap_ = overlap_of(program_, covers_);
  if (!overlap_.pieces.empty()) beside_ = context_.device->make_urgent_stream();
  clear_persistent(stream);
  if (first_ > 0) {
    once_graph_ = capture(stream, 0, first_);
    stream.launch(*once_graph_);
  }
  graph_ = capture(stream, first_, nodes_.size());
  if (recipe_.micro_batches > 1) micro_graph_ = capture(stream, 0, program_.update);
}

std::unique_ptr<core::Graph> Plan::capture(core::Stream& stream, std::size_t begin, std::size_t end) {
  return stream.capture([this, &stream, begin, end] { enqueue(stream, begin, end, false); });
}

void Plan::enqueue(core::Stream& stream, std::size_t begin, std::size_t end, bool timed) {
  // Micro-batches before the last add up by themselves.
  const bool sums = begin <= overlap_.sum && overlap_.sum < end;
  const std::size_t pieces = sums && !overlap_.pieces.empty() ? overlap_.pieces.size() - 1 : 0;
  std::size_t next = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (nodes_[i].variant == nullptr) continue;
    if (sums && overlap_.cuts(i)) {
      launch_last_piece(i, stream);
    } else {
      launch_node(i, stream);
    }
    if (timed) stream.record(*events_[i + 1]);
    for (; next < pieces && overlap_.pieces[next].after <= i; ++next) launch_beside(next, stream, timed);
  }
}

void Plan::launch_piece(std::size_t index, std::size_t piece, core::Stream& stream) {
  const auto [begin, end, after] = overlap_.pieces[piece];
  ops::OpCall call = call_of(index, stream);
  call.shape.count = end - begin;
  call.early = piece + 1 < overlap_.pieces.size();
  for (const ops::Name name : ops::contract(nodes_[index].op).in_pieces) {
    call.operands[name] = static_cast<float*>(call.operands[name]) + begin;
  }
  ops::launch(call);
}

void Plan::launch_last_piece(std::size_t index, core::Stream& stream) {
  if (index == overlap_.sum) stream.follow(*beside_);
  launch_piece(index, overlap_.pieces.size() - 1, stream);
}

void Plan::launch_beside(std::size_t piece, core::Stream& stream, bool timed) {
  if (overlap_.adding) launch_piece(*overlap_.adding, piece, stream);
  beside_->follow(stream);
  if (timed) beside_->record(*beside_events_[2 * piece]);
  launch_piece(overlap_.sum, piece, *beside_);
  if (timed) beside_->record(*beside_events_[2 * piece + 1]);
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

void Plan::cast_once() {
  Tensor& made = program_.tensors[static_cast<std::size_t>(program_.nodes.front().tensors.back())];
  if (made.role != ops::Role::weight) return;  // a precision whose weights are the parameters
  made.persistent = true;
  first_ = 1;
}

void Plan::cover_nodes(const Selection& selection, const MeasuredChoices& measured) {
  const auto selectable = core::selectable_precisions();
  if (std::ranges::find(selectable, precision_) == selectable.end()) {
    // The buffers of a training hold no doubles.
    throw core::BadInput(fmt::format("training in {} is not possible; valid: {}", core::to_string(precision_),
                                     core::names_of(selectable)));
  }
  covers_ = cover(program_, selection, context_, measured);
  for (std::size_t n = 0; n < covers_.size(); ++n) {
    const NodeCover& node = covers_[n];
    nodes_.push_back({program_.nodes[n].op, program_.nodes[n].layer, node.shape, node.variant,
                      node.covered_by, node.covers, node.reason});
  }
}

void Plan::bind(const MemoryPlan& memory, const Bindings& bindings) {
  auto* const arena = arena_.as<std::byte>();
  for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
    const Tensor& tensor = program_.tensors[t];
    const std::size_t behind = tensor.offset * core::size_of(ops::element_type(tensor.role, precision_));
    void* begin = bound(bindings, tensor.storage);
    if (tensor.storage == Storage::planned) begin = arena + memory.tensor_offset[t];
    if (tensor.storage == Storage::part) begin = address_[static_cast<std::size_t>(tensor.parent)];
    address_.push_back(begin == nullptr ? nullptr : static_cast<std::byte*>(begin) + behind);
  }
  for (std::size_t n = 0; n < covers_.size(); ++n) {
    ops::ByName<void*> operands;
    for (const BoundOperand& each : covers_[n].operands) {
      const auto t = static_cast<std::size_t>(each.tensor);
      check_bound(covers_[n], each, program_.tensors[t], address_[t]);
      operands[each.operand.name] = address_[t];
    }
    operands_.push_back(operands);
    workspace_.push_back(arena + memory.workspace_offset[n]);
  }
}

void Plan::launch_node(std::size_t index, core::Stream& stream) {
  const PlanNode& node = nodes_[index];
  if (node.variant == nullptr) return;
  ops::launch(call_of(index, stream));
}

ops::OpCall Plan::call_of(std::size_t index, core::Stream& stream) const {
  const PlanNode& node = nodes_[index];
  return {node.variant,           &context_, node.shape, precision_, operands_[index], workspace_[index],
          prepared_[index].get(), &stream};
}

std::vector<WrittenTensor> Plan::written(std::size_t index) const {
  std::vector<WrittenTensor> result;
  for (const BoundOperand& each : covers_[index].operands) {
    const auto t = static_cast<std::size_t>(each.tensor);
    const Tensor& tensor = program_.tensors[t];
    if (tensor.elements == 0) continue;  // the state of an optimizer that keeps none
    if (each.operand.access == ops::Access::read || each.operand.format != nullptr) continue;
    if (tensor.role == ops::Role::control || tensor.role == ops::Role::byte) continue;
    result.push_back(this->tensor(each.tensor));
  }
  return result;
}

std::vector<int> Plan::private_tensors(std::size_t index) const {
  std::vector<int> result;
  for (const BoundOperand& each : covers_[index].operands) {
    if (each.operand.format != nullptr) result.push_back(each.tensor);
  }
  return result;
}

WrittenTensor Plan::tensor(int index) const {
  const auto t = static_cast<std::size_t>(index);
  const Tensor& tensor = program_.tensors[t];
  return {tensor.name, ops::element_type(tensor.role, precision_), tensor.elements, address_[t]};
}

void Plan::launch(core::Stream& stream) {
  for (int i = 1; i < recipe_.micro_batches; ++i) stream.launch(*micro_graph_);
  stream.launch(*graph_);
}

bool Plan::launch_timed(core::Stream& stream) {
  if (timing_pending_) return false;
  if (!timed_graph_) {
    make_events();
    timed_graph_ = stream.capture([this, &stream] {
      stream.record(*events_[0]);
      enqueue(stream, first_, nodes_.size(), true);
    });
  }
  for (int i = 1; i < recipe_.micro_batches; ++i) stream.launch(*micro_graph_);
  stream.launch(*timed_graph_);
  stream.record(*timed_done_);
  timing_pending_ = true;
  return true;
}

void Plan::make_events() {
  timed_done_ = context_.device->make_event(false);
  for (std::size_t i = 0; i <= nodes_.size(); ++i) events_.push_back(context_.device->make_event(true));
  for (std::size_t i = 1; i < overlap_.pieces.size(); ++i) {
    for (int both = 0; both < 2; ++both) beside_events_.push_back(context_.device->make_event(true));
  }
}

std::optional<std::vector<double>> Plan::take_timings() {
  if (!timing_pending_ || !timed_done_->ready()) return std::nullopt;
  timing_pending_ = false;
  std::vector<double> microseconds;
  std::size_t last = 0;  // the event before the node
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool launched = i >= first_ && nodes_[i].variant != nullptr;
    microseconds.push_back(launched ? events_[i + 1]->microseconds_since(*events_[last]) : 0.0);
    if (launched) last = i + 1;
  }
  beside_microseconds_ = 0;
  for (std::size_t i = 0; i < beside_events_.size(); i += 2) {
    beside_microseconds_ += beside_events_[i + 1]->microseconds_since(*beside_events_[i]);
  }
  return microseconds;
}

}  // namespace warpscope::plan
