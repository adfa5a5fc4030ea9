#include "gpu/verify/update_operands.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "gpu/ops/optimizer/optimizer.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Op;
using ops::OpShape;
using ops::UpdateRule;
using ops::step::StepControl;

using Random = std::mt19937_64;

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

bool one_in(Random& random, unsigned n) {
  return random() % n == 0;
}

/// Calls change(values) with the values of an operand, which it may change.
template <class F>
void edit(Op op, Precision precision, int index, Operands& operands, F change) {
  Bytes& bytes = operands[static_cast<std::size_t>(index)];
  const auto type = element_type(ops::contract(op).operands[static_cast<std::size_t>(index)].role, precision);
  std::vector<double> values = decode(bytes, type);
  change(values);
  bytes = encode(values, type);
}

void square(std::vector<double>& values) {
  for (double& value : values) value *= value;
}

/// Gives each value of operand `to` the sign that the first values of operand `from` have: what is added does not cancel.
void point_alike(Op op, Precision precision, int from, int to, Operands& operands) {
  const std::vector<double> signs = operand_values(op, operands, from, precision);
  edit(op, precision, to, operands, [&](std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::copysign(values[i], signs[i]);
  });
}

/// Gradients of N(0, 1) after dividing by the loss scale, and state that fits them.
void fit_moments(Op op, const OpShape& shape, Precision precision, double loss_scale, Operands& operands) {
  const bool per_sample = op == Op::optimizer_update_per_sample;
  const int first =
      per_sample ? int{ops::optimizer::kPerSampleFirstState} : int{ops::optimizer::kUpdateFirstState};
  const int second =
      per_sample ? int{ops::optimizer::kPerSampleSecondState} : int{ops::optimizer::kUpdateSecondState};
  edit(op, precision, ops::optimizer::kUpdateGradients, operands, [&](std::vector<double>& values) {
    for (double& value : values) value *= loss_scale;
  });
  edit(op, precision, second, operands, square);
  if (shape.rule == UpdateRule::rmsprop) {
    edit(op, precision, first, operands, square);
  } else {
    point_alike(op, precision, ops::optimizer::kUpdateGradients, first, operands);
  }
}

/// The parts of the gradients' norm, and clipping that sometimes does something.
void fit_clipping(const OpShape& shape, Precision precision, Random& random, StepControl& control,
                  Operands& operands) {
  constexpr Op kOp = Op::optimizer_update;
  const auto gradients = operand_values(kOp, operands, ops::optimizer::kUpdateGradients, precision);
  const auto length = static_cast<std::size_t>(ops::slice_length(shape.count));
  double squares = 0;
  edit(kOp, precision, ops::optimizer::kUpdateNormParts, operands, [&](std::vector<double>& parts) {
    parts.assign(parts.size(), 0.0);
    for (std::size_t i = 0; i < gradients.size(); ++i) parts[i / length] += gradients[i] * gradients[i];
    for (const double part : parts) squares += part;
  });
  const double norm = std::sqrt(squares) / control.loss_scale;
  if (one_in(random, 2)) control.clip_norm = static_cast<float>(norm * uniform(random, 0.1, 1.5));
  if (one_in(random, 3)) control.clip_value = static_cast<float>(uniform(random, 0.3, 2.0));
}

void sometimes_lose_the_loss(Op op, Precision precision, int metrics, Random& random, Operands& operands) {
  if (!one_in(random, 8)) return;
  edit(op, precision, metrics, operands, [](std::vector<double>& values) {
    values[ops::step::kLossMetric] = std::numeric_limits<double>::quiet_NaN();
  });
}

}  // namespace

void randomize_update_settings(Op op, const OpShape& shape, Random& random, StepControl& control) {
  switch (op) {
    case Op::gradients_accumulate:
    case Op::gradients_keep:
    case Op::micro_batch_record:
    case Op::optimizer_update:
    case Op::optimizer_update_per_sample:
    case Op::step_record:
      break;
    default:
      return;
  }
  control.learning_rate = static_cast<float>(std::pow(10.0, uniform(random, -3.0, -1.0)));
  control.first_decay = static_cast<float>(uniform(random, 0.3, 0.99));
  control.second_decay = static_cast<float>(1.0 - std::pow(10.0, uniform(random, -4.0, -0.5)));
  control.epsilon = static_cast<float>(std::pow(10.0, uniform(random, -8.0, -3.0)));
  // With weight decay several samples do have an order.
  const bool ordered = op == Op::optimizer_update_per_sample && shape.batch > 1;
  if (!ordered && one_in(random, 2)) control.weight_decay = static_cast<float>(uniform(random, 0.0, 0.05));
  control.micro_batches = static_cast<std::uint32_t>(1 + random() % 4);
  control.micro_batch = static_cast<std::uint32_t>(random() % control.micro_batches);
  control.updates = static_cast<std::uint32_t>(one_in(random, 4) ? 0 : random() % 1001);
  control.overflow = one_in(random, 8) ? 1 : 0;
  control.halted = one_in(random, 8) ? 1 : 0;
}

void fit_update(Op op, const OpShape& shape, Precision precision, Random& random, Operands& operands) {
  if (op == Op::step_record) {
    edit(op, precision, ops::step::kRecordStatistics, operands, square);
    sometimes_lose_the_loss(op, precision, ops::step::kRecordMetrics, random, operands);
  }
  if (op == Op::gradients_accumulate) {
    point_alike(op, precision, ops::optimizer::kAccumulateGradients, ops::optimizer::kAccumulateSums,
                operands);
  }
  if (op == Op::micro_batch_record) {
    point_alike(op, precision, ops::step::kMicroBatchMetrics, ops::step::kMicroBatchSums, operands);
  }
  if (op != Op::optimizer_update && op != Op::optimizer_update_per_sample) return;
  StepControl control;
  Bytes& bytes = operands[ops::optimizer::kUpdateControl];
  std::memcpy(&control, bytes.data(), sizeof(control));
  fit_moments(op, shape, precision, control.loss_scale, operands);
  if (op == Op::optimizer_update_per_sample) return;
  fit_clipping(shape, precision, random, control, operands);
  std::memcpy(bytes.data(), &control, sizeof(control));
  sometimes_lose_the_loss(op, precision, ops::optimizer::kUpdateMetrics, random, operands);
}

}  // namespace warpscope::verify
