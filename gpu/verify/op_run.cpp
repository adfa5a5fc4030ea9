#include "gpu/verify/op_run.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Access;
using ops::OpShape;
using ops::Variant;

constexpr std::size_t kGuardBytes = 256;  // keeps what lies between the guards 256-byte aligned
constexpr std::uint8_t kGuard = 0xA5;
constexpr std::uint8_t kPoison = 0xFF;

}  // namespace

OpRun::OpRun(const Variant& variant, std::shared_ptr<core::Device> device, const OpShape& shape,
             Precision precision, bool in_place, int absorbed)
    : variant_(variant),
      device_(std::move(device)),
      shape_(shape),
      precision_(precision),
      in_place_(in_place),
      absorbed_(absorbed),
      slots_(
          slots_of(variant.op, shape, std::span(variant.fuses).first(static_cast<std::size_t>(absorbed)))) {
  device_->make_current();
  stream_ = device_->make_stream();
  for (const Slot& slot : slots_) {
    const auto bytes =
        static_cast<std::size_t>(slot.elements) * core::size_of(element_type(slot.role, precision_));
    buffers_.emplace_back(device_, bytes + 2 * kGuardBytes);
  }
  workspace_ = core::Buffer(device_, workspace_bytes(variant_, shape_, precision_) + 2 * kGuardBytes);
  if (variant_.prepare != nullptr) prepared_ = variant_.prepare(shape_, precision_, *device_);
}

bool OpRun::shares(std::size_t operand) const {
  return in_place_ && slots_[operand].in_place_of >= 0;
}

void* OpRun::memory_of(std::size_t operand) const {
  const std::size_t owner = shares(operand) ? static_cast<std::size_t>(slots_[operand].in_place_of) : operand;
  return buffers_[owner].as<std::byte>() + kGuardBytes;
}

void OpRun::note(const std::string& fault) {
  if (fault_.empty()) fault_ = fault;
}

void OpRun::upload(const Operands& before) {
  const auto poison = [&](const core::Buffer& buffer) {
    stream_->fill(buffer.data(), kGuard, buffer.bytes());
    stream_->fill(buffer.as<std::byte>() + kGuardBytes, kPoison, buffer.bytes() - 2 * kGuardBytes);
  };
  poison(workspace_);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    poison(buffers_[i]);
    if (slots_[i].access == Access::write) continue;
    if (before[i].size() != buffers_[i].bytes() - 2 * kGuardBytes) {
      throw std::logic_error(fmt::format("operand '{}' has {} bytes, not {}", slots_[i].name,
                                         before[i].size(), buffers_[i].bytes() - 2 * kGuardBytes));
    }
    stream_->copy(memory_of(i), before[i].data(), before[i].size());
  }
  stream_->synchronize();
}

Bytes OpRun::download_guarded(const core::Buffer& buffer, const std::string& name) {
  Bytes all(buffer.bytes());
  stream_->copy(all.data(), buffer.data(), all.size());
  stream_->synchronize();
  const auto untouched = [](std::byte value) { return value == std::byte{kGuard}; };
  const auto first = all.begin() + kGuardBytes;
  const auto end = all.end() - kGuardBytes;
  if (!std::all_of(all.begin(), first, untouched)) note(fmt::format("wrote before {}", name));
  if (!std::all_of(end, all.end(), untouched)) note(fmt::format("wrote past the end of {}", name));
  return {first, end};
}

Operands OpRun::download(const Operands& before) {
  Operands after;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    after.push_back(download_guarded(buffers_[i], fmt::format("the operand '{}'", slots_[i].name)));
  }
  download_guarded(workspace_, "the workspace");
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (shares(i)) std::swap(after[i], after[static_cast<std::size_t>(slots_[i].in_place_of)]);
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const bool overwritten = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
      return in_place_ && slot.in_place_of == static_cast<int>(i);
    });
    if (slots_[i].access == Access::read && !overwritten && after[i] != before[i]) {
      note(fmt::format("changed the operand '{}', which it may only read", slots_[i].name));
    }
  }
  return after;
}

Operands OpRun::run(const Operands& before) {
  fault_.clear();
  upload(before);
  std::vector<void*> pointers;
  for (std::size_t i = 0; i < buffers_.size(); ++i) pointers.push_back(memory_of(i));
  ops::OpCall call;
  call.shape = shape_;
  call.precision = precision_;
  call.operands = pointers;
  call.absorbed = absorbed_;
  if (workspace_.bytes() > 2 * kGuardBytes) call.workspace = workspace_.as<std::byte>() + kGuardBytes;
  call.prepared = prepared_.get();
  call.stream = stream_.get();
  variant_.launch(call);
  stream_->synchronize();
  return download(before);
}

}  // namespace warpscope::verify
