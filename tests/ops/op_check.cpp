#include "tests/ops/op_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gpu/ops/step/step.h"

namespace warpscope::tests {
namespace {

using core::ElementType;
using core::Precision;
using ops::Access;
using ops::Op;
using ops::OpShape;
using ops::Role;
using ops::Variant;

constexpr std::size_t kGuardBytes = 256;  // keeps what lies between the guards 256-byte aligned
constexpr std::uint8_t kGuard = 0xA5;
constexpr std::uint8_t kPoison = 0xFF;

bool is_number(Role role) {
  return role != Role::byte && role != Role::index && role != Role::control;
}

std::string label(const Variant& variant, const OpShape& shape, Precision precision) {
  return fmt::format("{} {} {} {} on {}", to_string(variant.op), variant.name, to_string(variant.device),
                     to_string(precision), describe(variant.op, shape));
}

bool op_has_in_place(Op op) {
  const auto operands = ops::contract(op).operands;
  return std::any_of(operands.begin(), operands.end(),
                     [](const auto& operand) { return operand.in_place_of >= 0; });
}

/// Clears the one field that differs from run to run, so that the rest can be compared. False if it was not written.
bool take_time(Op op, const OpShape& shape, const Operands& before, Operands& after) {
  if (op != Op::step_record) return true;
  ops::step::StepControl control;
  std::memcpy(&control, before[ops::step::kControl].data(), sizeof(control));
  const std::size_t at =
      control.step % static_cast<std::uint64_t>(shape.count) * sizeof(ops::step::StepRecord);
  ops::step::StepRecord old;
  ops::step::StepRecord record;
  std::memcpy(&old, before[ops::step::kRing].data() + at, sizeof(old));
  std::memcpy(&record, after[ops::step::kRing].data() + at, sizeof(record));
  const bool written = record.nanoseconds != 0 && record.nanoseconds != old.nanoseconds;
  record.nanoseconds = 0;
  std::memcpy(after[ops::step::kRing].data() + at, &record, sizeof(record));
  return written;
}

/// Compares what an op wrote with the reference; "" if it is right.
std::string compare(Op op, Precision precision, const Operands& after, const Operands& expected,
                    Check& check) {
  const auto operands = ops::contract(op).operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access == Access::read) continue;
    if (!is_number(operands[i].role)) {
      if (after[i] == expected[i]) continue;
      const auto [wrong, right] = std::mismatch(after[i].begin(), after[i].end(), expected[i].begin());
      return fmt::format("operand '{}' differs from the reference at byte {}: {} instead of {}",
                         operands[i].name, wrong - after[i].begin(), static_cast<int>(*wrong),
                         static_cast<int>(*right));
    }
    const int index = static_cast<int>(i);
    const double error = relative_error(operand_values(op, after, index, precision),
                                        operand_values(op, expected, index, Precision::fp64));
    check.worst_error = std::max(check.worst_error, error);
    if (!(error <= check.tolerance)) {
      return fmt::format("operand '{}' has a relative error of {:.3g}, more than {:.3g}", operands[i].name,
                         error, check.tolerance);
    }
  }
  return "";
}

bool same_bits(Op op, const Operands& first, const Operands& second) {
  const auto operands = ops::contract(op).operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access != Access::read && first[i] != second[i]) return false;
  }
  return true;
}

/// One placement (operands apart or in place): result, faults, and the same bits again.
std::string check_placement(const Variant& variant, const std::shared_ptr<core::Device>& device,
                            const OpShape& shape, Precision precision, const Operands& before,
                            const Operands& expected, bool in_place, Check& check) {
  OpRun op_run(variant, device, shape, precision, in_place);
  Operands first = op_run.run(before);
  if (!op_run.fault().empty()) return op_run.fault();
  if (!take_time(variant.op, shape, before, first)) return "noted no time";
  const std::string wrong = compare(variant.op, precision, first, expected, check);
  if (!wrong.empty() || !variant.deterministic) return wrong;
  Operands second = op_run.run(before);
  take_time(variant.op, shape, before, second);
  return same_bits(variant.op, first, second) ? op_run.fault() : "gave other bits the second time";
}

}  // namespace

Operands convert(Op op, const Operands& operands, Precision from, Precision to) {
  Operands converted = operands;
  const auto contract = ops::contract(op).operands;
  for (std::size_t i = 0; i < contract.size(); ++i) {
    if (!is_number(contract[i].role)) continue;
    converted[i] =
        encode(operand_values(op, operands, static_cast<int>(i), from), element_type(contract[i].role, to));
  }
  return converted;
}

std::vector<double> operand_values(Op op, const Operands& operands, int index, Precision precision) {
  const auto i = static_cast<std::size_t>(index);
  return decode(operands[i], element_type(ops::contract(op).operands[i].role, precision));
}

OpRun::OpRun(const Variant& variant, std::shared_ptr<core::Device> device, const OpShape& shape,
             Precision precision, bool in_place)
    : variant_(variant),
      device_(std::move(device)),
      shape_(shape),
      precision_(precision),
      in_place_(in_place) {
  device_->make_current();
  stream_ = device_->make_stream();
  const int operands = static_cast<int>(ops::contract(variant_.op).operands.size());
  for (int i = 0; i < operands; ++i) {
    buffers_.emplace_back(device_, operand_bytes(variant_.op, i, shape_, precision_) + 2 * kGuardBytes);
  }
  workspace_ = core::Buffer(device_, workspace_bytes(variant_, shape_, precision_) + 2 * kGuardBytes);
  if (variant_.prepare != nullptr) prepared_ = variant_.prepare(shape_, precision_, *device_);
}

bool OpRun::shares(std::size_t operand) const {
  return in_place_ && ops::contract(variant_.op).operands[operand].in_place_of >= 0;
}

void* OpRun::memory_of(std::size_t operand) const {
  const int owner =
      shares(operand) ? ops::contract(variant_.op).operands[operand].in_place_of : static_cast<int>(operand);
  return buffers_[static_cast<std::size_t>(owner)].as<std::byte>() + kGuardBytes;
}

void OpRun::note(const std::string& fault) {
  if (fault_.empty()) fault_ = fault;
}

void OpRun::upload(const Operands& before) {
  const auto operands = ops::contract(variant_.op).operands;
  const auto poison = [&](const core::Buffer& buffer) {
    stream_->fill(buffer.data(), kGuard, buffer.bytes());
    stream_->fill(buffer.as<std::byte>() + kGuardBytes, kPoison, buffer.bytes() - 2 * kGuardBytes);
  };
  poison(workspace_);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    poison(buffers_[i]);
    if (operands[i].access == Access::write) continue;
    if (before[i].size() != buffers_[i].bytes() - 2 * kGuardBytes) {
      throw std::logic_error(fmt::format("operand '{}' has {} bytes, not {}", operands[i].name,
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
  const auto operands = ops::contract(variant_.op).operands;
  Operands after;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    after.push_back(download_guarded(buffers_[i], fmt::format("the operand '{}'", operands[i].name)));
  }
  download_guarded(workspace_, "the workspace");
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (shares(i)) std::swap(after[i], after[static_cast<std::size_t>(operands[i].in_place_of)]);
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool overwritten = std::any_of(operands.begin(), operands.end(), [&](const auto& operand) {
      return in_place_ && operand.in_place_of == static_cast<int>(i);
    });
    if (operands[i].access == Access::read && !overwritten && after[i] != before[i]) {
      note(fmt::format("changed the operand '{}', which it may only read", operands[i].name));
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
  if (workspace_.bytes() > 2 * kGuardBytes) call.workspace = workspace_.as<std::byte>() + kGuardBytes;
  call.prepared = prepared_.get();
  call.stream = stream_.get();
  variant_.launch(call);
  stream_->synchronize();
  return download(before);
}

Operands run_reference(Op op, const OpShape& shape, const Operands& before_fp64) {
  const Variant* reference = find_variant(op, core::DeviceKind::cpu, "reference");
  if (reference == nullptr) throw std::logic_error(fmt::format("{} has no reference", to_string(op)));
  return OpRun(*reference, core::open_device("cpu"), shape, Precision::fp64).run(before_fp64);
}

Check check_variant(const Variant& variant, const std::shared_ptr<core::Device>& device, const OpShape& shape,
                    Precision precision, std::uint64_t seed) {
  Check check;
  check.tolerance = ops::tolerance(precision, ops::contract(variant.op).terms(shape));
  const Operands before = random_operands(variant.op, shape, precision, seed);
  const Operands before_fp64 = convert(variant.op, before, precision, Precision::fp64);
  Operands expected = run_reference(variant.op, shape, before_fp64);
  take_time(variant.op, shape, before_fp64, expected);

  std::string failure = check_placement(variant, device, shape, precision, before, expected, false, check);
  if (failure.empty() && op_has_in_place(variant.op)) {
    failure = check_placement(variant, device, shape, precision, before, expected, true, check);
    if (!failure.empty()) failure = "in place: " + failure;
  }
  if (!failure.empty()) check.failure = label(variant, shape, precision) + ": " + failure;
  return check;
}

}  // namespace warpscope::tests
