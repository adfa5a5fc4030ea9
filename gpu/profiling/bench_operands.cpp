#include "gpu/profiling/bench_operands.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "gpu/ops/step/step.h"
#include "gpu/verify/host_values.h"

namespace warpscope::profiling {
namespace {

using ops::Op;
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

Bytes random_bytes(std::size_t elements, Op op, std::mt19937_64& random) {
  const unsigned mask = op == Op::maxpool2d_backward ? 3 : 255;
  Bytes bytes(std::min(elements, kBlock));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & mask);
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
Bytes beginning(Op op, const ops::Operand& operand, const OpShape& shape, core::Precision precision,
                std::mt19937_64& random) {
  const auto elements = static_cast<std::size_t>(operand.elements(shape));
  switch (operand.role) {
    case Role::byte:
      return random_bytes(elements, op, random);
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

BenchOperands::BenchOperands(const std::shared_ptr<core::Device>& device, core::Stream& stream, Op op,
                             const OpShape& shape, core::Precision precision) {
  std::mt19937_64 random(1);
  const auto operands = ops::contract(op).operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    buffers_.emplace_back(device, ops::operand_bytes(op, static_cast<int>(i), shape, precision));
    pointers_.push_back(buffers_.back().data());
    if (operands[i].access == ops::Access::write) continue;
    const Bytes first = beginning(op, operands[i], shape, precision, random);
    stream.copy(buffers_.back().data(), first.data(), first.size());
    repeat(stream, buffers_.back(), first.size());
    stream.synchronize();  // `first` goes
  }
}

}  // namespace warpscope::profiling
