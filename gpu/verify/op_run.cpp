#include "gpu/verify/op_run.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gpu/ops/launch.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Access;
using ops::CallOperand;
using ops::OpShape;
using ops::Variant;

constexpr std::size_t kGuardBytes = 256;  // keeps what lies between the guards 256-byte aligned
constexpr std::uint8_t kGuard = 0xA5;

}  // namespace

OpRun::OpRun(const Variant& variant, ops::Context context, const OpShape& shape, Precision precision,
             bool in_place)
    : variant_(variant),
      context_(std::move(context)),
      shape_(shape),
      precision_(precision),
      in_place_(in_place),
      operands_(operands_of(variant, shape)),
      plain_(plain_operands(variant, shape)) {
  context_.device->make_current();
  stream_ = context_.device->make_stream();
  for (const CallOperand& operand : operands_) {
    buffers_.emplace_back(context_.device, bytes_of(operand, precision_) + 2 * kGuardBytes);
  }
  workspace_ = core::Buffer(context_.device, workspace_bytes(variant_, shape_, precision_) + 2 * kGuardBytes);
  prepared_ = ops::prepare({&variant_, &context_, shape_, precision_});
}

std::size_t OpRun::owner_of(std::size_t operand) const {
  const std::optional<ops::Name>& other = operands_[operand].in_place_of;
  if (!in_place_ || !other) return operand;
  const auto owner =
      std::ranges::find_if(operands_, [&](const CallOperand& each) { return each.name == *other; });
  return static_cast<std::size_t>(owner - operands_.begin());
}

void* OpRun::memory_of(std::size_t operand) const {
  return buffers_[owner_of(operand)].as<std::byte>() + kGuardBytes;
}

Bytes OpRun::packed(std::size_t operand, const Operands& before) const {
  const CallOperand& stored = operands_[operand];
  const Bytes& bytes = before[stored.name];
  const std::size_t expected = bytes_of(plain_[operand], precision_);
  if (bytes.size() != expected) {
    throw std::logic_error(
        fmt::format("operand '{}' has {} bytes, not {}", to_string(stored.name), bytes.size(), expected));
  }
  if (stored.format == nullptr) return bytes;
  Bytes result(bytes_of(stored, precision_));
  stored.format->pack(bytes, result);
  return result;
}

Bytes OpRun::unpacked(std::size_t operand, const Bytes& bytes) const {
  const CallOperand& stored = operands_[operand];
  if (stored.format == nullptr) return bytes;
  Bytes result(bytes_of(plain_[operand], precision_));
  stored.format->unpack(bytes, result);
  return result;
}

void OpRun::note(const std::string& fault) {
  if (fault_.empty()) fault_ = fault;
}

void OpRun::upload(const Operands& before) {
  const auto poison = [&](const core::Buffer& buffer) {
    stream_->fill(buffer.data(), kGuard, buffer.bytes());
    stream_->fill(buffer.as<std::byte>() + kGuardBytes, kPoisonByte, buffer.bytes() - 2 * kGuardBytes);
  };
  poison(workspace_);
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    poison(buffers_[i]);
    if (operands_[i].access == Access::write) continue;
    const Bytes bytes = packed(i, before);
    stream_->copy(memory_of(i), bytes.data(), bytes.size());
    stream_->synchronize();  // `bytes` goes
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
  std::vector<Bytes> memory;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const auto name = fmt::format("the operand '{}'", to_string(operands_[i].name));
    memory.push_back(download_guarded(buffers_[i], name));
  }
  download_guarded(workspace_, "the workspace");
  Operands after;
  std::vector<bool> overwritten(operands_.size());
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const std::size_t owner = owner_of(i);
    if (owner != i) overwritten[owner] = true;
    after[operands_[i].name] = unpacked(i, memory[owner]);
  }
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].access == Access::read && !overwritten[i] && memory[i] != packed(i, before)) {
      note(fmt::format("changed the operand '{}', which it may only read", to_string(operands_[i].name)));
    }
  }
  return after;
}

Operands OpRun::run(const Operands& before, const std::vector<ops::Name>& without) {
  fault_.clear();
  upload(before);
  ops::OpCall call{&variant_, &context_, shape_, precision_};
  for (std::size_t i = 0; i < operands_.size(); ++i) call.operands[operands_[i].name] = memory_of(i);
  for (const ops::Name each : without) call.operands[each] = nullptr;
  if (workspace_.bytes() > 2 * kGuardBytes) call.workspace = workspace_.as<std::byte>() + kGuardBytes;
  call.prepared = prepared_.get();
  call.stream = stream_.get();
  ops::launch(call);
  stream_->synchronize();
  return download(before);
}

}  // namespace warpscope::verify
