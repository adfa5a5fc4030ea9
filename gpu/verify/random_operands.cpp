#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/relu/relu.h"
#include "gpu/ops/step/step.h"
#include "gpu/verify/op_check.h"
#include "gpu/verify/update_operands.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Op;
using ops::OpShape;
using ops::Role;

using Random = std::mt19937_64;

Bytes bytes_of(const void* data, std::size_t size) {
  Bytes bytes(size);
  std::memcpy(bytes.data(), data, size);
  return bytes;
}

Bytes random_bytes(std::size_t size, Random& random) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

std::vector<double> random_numbers(Op op, std::size_t operand, std::size_t elements, Random& random) {
  std::normal_distribution<float> normal;
  std::vector<double> values(elements);
  for (double& value : values) {
    value = normal(random);
    if (op == Op::maxpool2d_forward) value = std::round(4 * value) / 4;
    if (op == Op::relu_backward && operand == ops::relu::kBackwardOutput) value = std::max(value, 0.0);
  }
  if (op == Op::gradients_norm && operand == 0 && random() % 2 == 0) {
    constexpr double kNotFinite[] = {std::numeric_limits<double>::quiet_NaN(),
                                     std::numeric_limits<double>::infinity(),
                                     -std::numeric_limits<double>::infinity()};
    const std::size_t place = random() % 2 == 0 ? elements - 1 : random() % elements;
    values[place] = kNotFinite[random() % 3];
  }
  return values;
}

/// Zero in one of eight elements: masked too often, few sums would be left whose errors could average out.
std::vector<double> random_relu_output(std::size_t elements, Random& random) {
  std::normal_distribution<float> normal;
  std::vector<double> values(elements);
  for (double& value : values) value = random() % 8 == 0 ? 0.0 : std::abs(normal(random)) + 1.0 / 64;
  return values;
}

bool is_cross_entropy(Op op) {
  return op == Op::cross_entropy_forward || op == Op::cross_entropy_backward;
}

/// A logit that stands out; between 64 and 128, where FP32 still takes its difference to the others without rounding.
constexpr double kLargeLogit = 80;

/// Multiples of 1/64, so that in FP32 too the difference of two logits is exact and what is left is the op's own error.
/// Of four images one has large logits throughout, one a single large one, and one a tie.
std::vector<double> random_logits(const OpShape& shape, Random& random) {
  std::normal_distribution<float> normal;
  const auto classes = static_cast<std::size_t>(shape.in_channels);
  std::vector<double> values(static_cast<std::size_t>(shape.batch) * classes);
  for (double& value : values) value = std::round(64 * normal(random)) / 64;
  for (std::size_t image = 0; image < values.size(); image += classes) {
    const auto kind = random() % 4;
    const std::span logits(values.data() + image, classes);
    if (kind == 0) {
      for (double& value : logits) value += kLargeLogit;
    } else if (kind == 1) {
      logits[random() % classes] = kLargeLogit;
    } else if (kind == 2) {
      const double largest = *std::max_element(logits.begin(), logits.end());
      logits[random() % classes] = largest;
    }
  }
  return values;
}

/// Classes. Where one logit stands out it is another's: a loss of exp(-80) is zero in FP16, and its relative error
/// infinite.
Bytes random_labels(const OpShape& shape, const std::vector<double>& logits, Random& random) {
  const auto classes = static_cast<std::size_t>(shape.in_channels);
  Bytes labels(static_cast<std::size_t>(shape.batch));
  for (std::size_t image = 0; image < labels.size(); ++image) {
    const auto logit = [&](std::size_t c) { return logits[image * classes + c]; };
    std::size_t label = random() % classes;
    const std::size_t next = (label + 1) % classes;
    if (logit(label) - logit(next) > kLargeLogit / 2) label = next;
    labels[image] = static_cast<std::byte>(label);
  }
  return labels;
}

Bytes random_order(std::int64_t count, Random& random) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  return bytes_of(order.data(), order.size() * sizeof(order[0]));
}

/// Half of the time the batch at hand is the last of the epoch. The order of a gather has `count` positions. The gradient
/// of a mean is scaled so that it lies well inside the range of FP16, as training scales it.
Bytes random_control(Op op, const OpShape& shape, Random& random) {
  ops::step::StepControl control;
  control.step = random() % 1000;
  control.learning_rate = 0.05f;
  const auto batch = static_cast<std::uint32_t>(shape.batch);
  const auto batches = static_cast<std::uint32_t>(1 + random() % 5);
  control.epoch_size = batches * batch;
  control.position =
      (random() % 2 == 0 ? batches - 1 : static_cast<std::uint32_t>(random() % batches)) * batch;
  if (op == Op::batch_gather || op == Op::labels_gather)
    control.position = static_cast<std::uint32_t>(random() % static_cast<std::uint64_t>(shape.count));
  int exponent = static_cast<int>(random() % 25);
  if (op == Op::mse_backward) {
    const auto elements =
        static_cast<std::uint64_t>(shape.batch * shape.height * shape.width * shape.in_channels);
    exponent = static_cast<int>(std::bit_width(elements)) - 2 + exponent % 4;
  }
  if (is_cross_entropy(op)) {
    exponent = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(shape.batch))) - 2 + exponent % 4;
  }
  control.loss_scale = std::ldexp(1.0f, exponent);
  control.overflow = random() % 3 == 0 ? 1 : 0;
  control.growth_interval = static_cast<std::uint32_t>(random() % 4);
  control.good_steps = control.growth_interval == 0
                           ? static_cast<std::uint32_t>(random() % 100)
                           : static_cast<std::uint32_t>(random() % control.growth_interval);
  randomize_update_settings(op, shape, random, control);
  return bytes_of(&control, sizeof(control));
}

/// An argmax that the forward reference made from random data.
Bytes random_argmax(const OpShape& shape, Random& random) {
  const Operands input = random_operands(Op::maxpool2d_forward, shape, Precision::fp64, random());
  return run_reference(Op::maxpool2d_forward, shape, input)[ops::maxpool2d::kForwardArgmax];
}

}  // namespace

Operands random_operands(Op op, const OpShape& shape, Precision precision, std::uint64_t seed,
                         std::span<const Op> absorbed) {
  Random random(seed);
  Operands operands;
  for (const Slot& slot : slots_of(op, shape, absorbed)) {
    const std::size_t index = operands.size();
    const auto elements = static_cast<std::size_t>(slot.elements);
    if (slot.access == ops::Access::write) {
      operands.emplace_back();
      continue;
    }
    switch (slot.role) {
      case Role::byte:
        if (is_cross_entropy(op)) {
          operands.push_back(random_labels(
              shape, operand_values(op, operands, ops::cross_entropy::kForwardLogits, precision), random));
          break;
        }
        operands.push_back(op == Op::maxpool2d_backward ? random_argmax(shape, random)
                                                        : random_bytes(elements, random));
        break;
      case Role::index:
        operands.push_back(random_order(shape.count, random));
        break;
      case Role::control:
        operands.push_back(op == Op::step_record && index == ops::step::kRecordRing
                               ? random_bytes(elements, random)
                               : random_control(op, shape, random));
        break;
      default:
        if (slot.name == kReluOutputSlot) {
          operands.push_back(
              encode(random_relu_output(elements, random), element_type(slot.role, precision)));
          break;
        }
        operands.push_back(encode(
            is_cross_entropy(op) ? random_logits(shape, random) : random_numbers(op, index, elements, random),
            element_type(slot.role, precision)));
    }
  }
  fit_update(op, shape, precision, random, operands);
  return operands;
}

}  // namespace warpscope::verify
