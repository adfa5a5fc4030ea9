#include "gpu/profiling/bench_operands.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "gpu/ops/step/step.h"
#include "gpu/verify/host_values.h"

namespace warpscope::profiling {
namespace {

using ops::CallOperand;
using ops::Name;
using ops::OpShape;
using ops::Role;
using verify::Bytes;

constexpr std::size_t kBlock = std::size_t{1} << 18;  // elements

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Bytes normal_numbers(std::size_t elements, core::ElementType type, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> values(std::min(elements, kBlock));
  for (double& value : values) value = normal(random);
  return verify::encode(values, type);
}

/// Pixels of the window of the pooling that the call is or covers.
unsigned pixels_of_window(const ops::Variant& variant, const OpShape& shape) {
  for (const ops::CoveredOp& covered : covered_ops(variant, shape)) {
    if (covered.op != ops::Op::maxpool2d_backward) continue;
    return static_cast<unsigned>(covered.shape.kernel_height * covered.shape.kernel_width);
  }
  return 1;
}

/// How many values a byte of the operand can have.
unsigned values_of_a_byte(const CallOperand& operand, const ops::Variant& variant, const OpShape& shape) {
  if (operand.name == Name::argmax && operand.format == nullptr) return pixels_of_window(variant, shape);
  if (operand.name == Name::labels) return static_cast<unsigned>(std::clamp(shape.in_channels, 1, 256));
  return 256;
}

Bytes random_bytes(std::size_t elements, unsigned values, std::mt19937_64& random) {
  Bytes bytes(std::min(elements, kBlock));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % values);
  return bytes;
}

Bytes permutation(std::int64_t count, std::mt19937_64& random) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  return bytes_of(order);
}

Bytes control_block(const OpShape& shape) {
  ops::step::StepControl control;
  control.epoch_size = static_cast<std::uint32_t>(shape.batch) * 1000u;
  control.learning_rate = 1e-6f;
  control.first_decay = 0.9f;
  control.second_decay = 0.999f;
  control.epsilon = 1e-8f;
  return bytes_of(std::vector{control});
}

/// The beginning of an operand; the rest repeats it.
Bytes beginning(const CallOperand& operand, const ops::Variant& variant, const OpShape& shape,
                core::Precision precision, std::mt19937_64& random) {
  const auto elements = static_cast<std::size_t>(operand.elements);
  switch (operand.role) {
    case Role::byte:
      return random_bytes(elements, values_of_a_byte(operand, variant, shape), random);
    case Role::index:
      return permutation(shape.count, random);
    case Role::control:
      return elements == sizeof(ops::step::StepControl) ? control_block(shape) : Bytes(elements);
    default:
      return normal_numbers(elements, element_type(operand.role, precision), random);
  }
}

/// Copies what is there to what is not, twice as much each time.
void repeat(core::Stream& stream, const core::Buffer& buffer, std::size_t filled) {
  auto* const memory = buffer.as<std::byte>();
  while (filled < buffer.bytes()) {
    const std::size_t more = std::min(filled, buffer.bytes() - filled);
    stream.copy(memory + filled, memory, more);
    filled += more;
  }
}

}  // namespace

BenchOperands::BenchOperands(const std::shared_ptr<core::Device>& device, core::Stream& stream,
                             const ops::Variant& variant, const OpShape& shape, core::Precision precision)
    : shape_(shape), operands_(ops::operands_of(variant, shape)) {
  std::mt19937_64 random(1);
  for (const CallOperand& operand : operands_) {
    buffers_.emplace_back(device, ops::bytes_of(operand, precision));
    pointers_[operand.name] = buffers_.back().data();
    if (operand.access == ops::Access::write) continue;
    const Bytes first = beginning(operand, variant, shape, precision, random);
    stream.copy(buffers_.back().data(), first.data(), first.size());
    repeat(stream, buffers_.back(), first.size());
    stream.synchronize();  // `first` goes
  }
}

bool BenchOperands::fit(const ops::Variant& variant) const {
  const std::vector<CallOperand> others = ops::operands_of(variant, shape_);
  const auto known = [&](const CallOperand& other) {
    return std::any_of(operands_.begin(), operands_.end(), [&](const CallOperand& own) {
      return own.name == other.name && own.format == other.format;
    });
  };
  return others.size() == operands_.size() && std::all_of(others.begin(), others.end(), known);
}

}  // namespace warpscope::profiling
