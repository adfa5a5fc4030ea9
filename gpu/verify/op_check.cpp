#include "gpu/verify/op_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/batch/batch.h"
#include "gpu/ops/block/block.h"
#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/ops/linear/linear.h"
#include "gpu/ops/step/step.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Access;
using ops::Op;
using ops::OpShape;
using ops::Variant;

std::string label(const Variant& variant, const Case& tested, Precision precision) {
  std::string fused;
  for (const Op op : tested.absorbed) fused += fmt::format(" + {}", to_string(op));
  return fmt::format("{} {}{} {} {} on {}", to_string(variant.op), variant.name, fused,
                     to_string(variant.device), to_string(precision), describe(variant.op, tested.shape));
}

/// Clears the one field that differs from run to run, so that the rest can be compared. False if it was not written.
bool take_time(const Case& tested, Operands& after) {
  if (tested.op != Op::step_record) return true;
  ops::step::StepControl control;
  std::memcpy(&control, tested.before[ops::step::kRecordControl].data(), sizeof(control));
  const std::size_t at =
      control.step % static_cast<std::uint64_t>(tested.shape.count) * sizeof(ops::step::StepRecord);
  ops::step::StepRecord old;
  ops::step::StepRecord record;
  std::memcpy(&old, tested.before[ops::step::kRecordRing].data() + at, sizeof(old));
  std::memcpy(&record, after[ops::step::kRecordRing].data() + at, sizeof(record));
  const bool written = record.nanoseconds != 0 && record.nanoseconds != old.nanoseconds;
  record.nanoseconds = 0;
  std::memcpy(after[ops::step::kRecordRing].data() + at, &record, sizeof(record));
  return written;
}

/// Takes out of both what is neither finite in the one nor in the other: such values have no distance.
void drop_both_not_finite(std::vector<double>& out, std::vector<double>& expected) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(out[i]) && !std::isfinite(expected[i])) continue;
    out[kept] = out[i];
    expected[kept++] = expected[i];
  }
  out.resize(kept);
  expected.resize(kept);
}

/// Whether each code of a block's argmax points at a value that is the largest of its window but for rounding: eight times
/// the error that the tolerance allows the values on average.
bool right_codes(const Case& tested, std::span<const Slot> slots, Precision precision, const Bytes& codes,
                 double tolerance) {
  OpShape whole = tested.shape;
  whole.pool = false;
  const Operands before = convert(slots, tested.before, precision, Precision::fp64);
  const auto values = decode(run_reference(Op::block_forward, whole, before)[ops::block::kForwardOutput],
                             core::ElementType::f64);
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  const double slack = 8 * tolerance * std::sqrt(squares / static_cast<double>(values.size()));
  const int scale = whole.upsample ? 2 : 1;
  const int height = scale * whole.height;
  const int width = scale * whole.width;
  const int channels = whole.out_channels;
  std::size_t element = 0;
  for (std::int64_t n = 0; n < whole.batch; ++n) {
    for (int i = 0; i < height / 2; ++i) {
      for (int j = 0; j < width / 2; ++j) {
        for (int k = 0; k < channels; ++k, ++element) {
          const auto value = [&](int code) {
            const std::int64_t pixel = (n * height + 2 * i + code / 2) * width + 2 * j + code % 2;
            return values[static_cast<std::size_t>(pixel * channels + k)];
          };
          const int code = std::to_integer<int>(codes[element / 4]) >> 2 * (element % 4) & 3;
          const double largest = std::max({value(0), value(1), value(2), value(3)});
          if (!(value(code) >= largest - slack)) return false;
        }
      }
    }
  }
  return true;
}

/// Compares what a call wrote with the reference; "" if it is right.
std::string compare(const Case& tested, std::span<const Slot> slots, Precision precision,
                    const Operands& after, Check& check) {
  const Operands& expected = tested.expected;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    if (slot.access == Access::read) continue;
    if (!is_number(slot.role)) {
      if (after[i] == expected[i]) continue;
      if (tested.op == Op::block_forward) {
        if (right_codes(tested, slots, precision, after[i], check.tolerance)) continue;
        return fmt::format("operand '{}' points at values that are not the largest", slot.name);
      }
      const auto [wrong, right] = std::mismatch(after[i].begin(), after[i].end(), expected[i].begin());
      return fmt::format("operand '{}' differs from the reference at byte {}: {} instead of {}", slot.name,
                         wrong - after[i].begin(), static_cast<int>(*wrong), static_cast<int>(*right));
    }
    std::vector<double> out = decode(after[i], element_type(slot.role, precision));
    std::vector<double> right = decode(expected[i], core::ElementType::f64);
    drop_both_not_finite(out, right);
    const bool own_output = i == output_slot(tested.op);
    const double error = relative_error(out, right, own_output ? tested.usual_norm : 0);
    check.worst_error = std::max(check.worst_error, error);
    if (!(error <= check.tolerance)) {
      return fmt::format("operand '{}' has a relative error of {:.3g}, more than {:.3g}", slot.name, error,
                         check.tolerance);
    }
  }
  return "";
}

bool same_bits(std::span<const Slot> slots, const Operands& first, const Operands& second) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].access != Access::read && first[i] != second[i]) return false;
  }
  return true;
}

/// One placement (operands apart or in place): result, faults, and the same bits again.
std::string check_placement(const Variant& variant, const std::shared_ptr<core::Device>& device,
                            Precision precision, const Case& tested, bool in_place, Check& check) {
  const auto slots = slots_of(tested.op, tested.shape, tested.absorbed);
  OpRun op_run(variant, device, tested.shape, precision, in_place, static_cast<int>(tested.absorbed.size()));
  Operands first = op_run.run(tested.before);
  if (!op_run.fault().empty()) return op_run.fault();
  if (!take_time(tested, first)) return "noted no time";
  const std::string wrong = compare(tested, slots, precision, first, check);
  if (!wrong.empty()) return wrong;
  Operands second = op_run.run(tested.before);
  take_time(tested, second);
  if (!same_bits(slots, first, second)) {
    check.same_bits = false;
    if (variant.deterministic) return "gave other bits the second time";
  }
  return op_run.fault();
}

/// The operands of an op that is absorbed whole, whose own are `before` from `extra` on: what it reads of them and what it
/// shares with the op before it. The last one is its output.
Operands operands_of_absorbed(Op absorbed, const Operands& before, std::size_t extra) {
  const Bytes& own = before[extra];
  switch (absorbed) {
    case Op::linear_backward_input:
      return {before[ops::linear::kWeightsOutputGradient], own, {}};
    case Op::labels_gather:
      return {own, before[ops::batch::kGatherOrder], before[ops::batch::kGatherControl], {}};
    default:
      return {
          before[ops::cross_entropy::kForwardLogits], before[ops::cross_entropy::kForwardLabels], own, {}};
  }
}

/// An absorbed op's reference, given the output so far; writes the output or the gradient that it makes.
void run_absorbed(Op op, const OpShape& shape, Op absorbed, const Operands& before, std::size_t& extra,
                  Operands& after) {
  const std::size_t output = output_slot(op);
  switch (absorbed) {
    case Op::bias_forward:
      after[output] =
          run_reference(absorbed, output_shape(op, shape), {after[output], before[extra++], {}})[2];
      break;
    case Op::relu_forward:
      after[output] = run_reference(absorbed, output_shape(op, shape), {after[output], {}})[1];
      break;
    case Op::relu_backward:
      after[extra - 1] =
          run_reference(absorbed, output_shape(op, shape), {before[extra], after[extra - 1], {}})[2];
      ++extra;
      break;
    case Op::linear_backward_input:
    case Op::labels_gather:
    case Op::cross_entropy_backward: {
      const Operands result = run_reference(absorbed, shape, operands_of_absorbed(absorbed, before, extra));
      after[extra + 1] = result.back();
      extra += 2;
      break;
    }
    default: {
      // slots_of() lets nothing else pass than a bias gradient, summed over the gradient that the op reads.
      const bool weights = op == Op::conv2d_backward_weights || op == Op::linear_backward_weights;
      after[extra++] = run_reference(absorbed, shape, {before[weights ? 1 : 0], {}})[1];
    }
  }
}

/// Ops whose outputs are sums of products of two operands.
bool sums_products(Op op) {
  switch (op) {
    case Op::conv2d_forward:
    case Op::conv2d_backward_input:
    case Op::conv2d_backward_weights:
    case Op::linear_forward:
    case Op::linear_backward_input:
    case Op::linear_backward_weights:
      return true;
    default:
      return false;
  }
}

/// Case::usual_norm: the squares of the products are the products of the squares.
double usual_norm(Op op, const OpShape& shape, const Operands& before_fp64, std::size_t outputs) {
  constexpr std::size_t kFewOutputs = 256;
  if (!sums_products(op) || outputs > kFewOutputs) return 0;
  const auto own = static_cast<std::ptrdiff_t>(ops::contract(op).operands.size());
  Operands squares(before_fp64.begin(), before_fp64.begin() + own);
  for (Bytes& operand : squares) {
    std::vector<double> values = decode(operand, core::ElementType::f64);
    for (double& value : values) value *= value;
    operand = encode(values, core::ElementType::f64);
  }
  const auto sums = decode(run_reference(op, shape, squares)[output_slot(op)], core::ElementType::f64);
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

}  // namespace

Operands run_reference(Op op, const OpShape& shape, const Operands& before_fp64) {
  const Variant* reference = find_variant(op, core::DeviceKind::cpu, "reference");
  if (reference == nullptr) throw core::Error(fmt::format("{} has no reference", to_string(op)));
  static const std::shared_ptr<core::Device> cpu = core::open_device("cpu");
  return OpRun(*reference, cpu, shape, Precision::fp64).run(before_fp64);
}

Operands run_reference(Op op, const OpShape& shape, std::span<const Op> absorbed,
                       const Operands& before_fp64) {
  const std::size_t own = ops::contract(op).operands.size();
  Operands after =
      run_reference(op, shape, {before_fp64.begin(), before_fp64.begin() + static_cast<std::ptrdiff_t>(own)});
  after.resize(before_fp64.size());
  std::size_t extra = own;
  for (const Op next : absorbed) run_absorbed(op, shape, next, before_fp64, extra, after);
  return after;
}

Case make_case(Op op, const OpShape& shape, std::span<const Op> absorbed, Precision precision,
               std::uint64_t seed) {
  Case made{op, shape, {absorbed.begin(), absorbed.end()}, {}, {}};
  const auto slots = slots_of(op, shape, absorbed);
  made.before = random_operands(op, shape, precision, seed, absorbed);
  const Operands before = convert(slots, made.before, precision, Precision::fp64);
  made.expected = run_reference(op, shape, absorbed, before);
  made.usual_norm = usual_norm(op, shape, before, made.expected[output_slot(op)].size() / sizeof(double));
  take_time(made, made.expected);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].access == Access::read) made.expected[i] = {};
  }
  return made;
}

Check check_case(const Variant& variant, const std::shared_ptr<core::Device>& device, Precision precision,
                 const Case& tested) {
  Check check;
  check.terms = ops::contract(variant.op).terms(tested.shape);
  for (const Op op : tested.absorbed) {
    if (op == Op::bias_forward) ++check.terms;
    if (op == Op::linear_backward_input) {
      check.terms = std::max(check.terms, ops::contract(op).terms(tested.shape));
    }
  }
  check.tolerance = ops::tolerance(precision, check.terms);
  check.workspace = workspace_bytes(variant, tested.shape, precision);
  const auto operands = ops::contract(variant.op).operands;
  const bool has_in_place = std::any_of(operands.begin(), operands.end(),
                                        [](const auto& operand) { return operand.in_place_of >= 0; });
  std::string failure = check_placement(variant, device, precision, tested, false, check);
  if (failure.empty() && has_in_place) {
    failure = check_placement(variant, device, precision, tested, true, check);
    if (!failure.empty()) failure = "in place: " + failure;
  }
  if (!failure.empty()) check.failure = label(variant, tested, precision) + ": " + failure;
  return check;
}

Check worse(const Check& first, const Check& second) {
  const bool later =
      second.worst_error * first.tolerance > first.worst_error * second.tolerance || first.tolerance == 0;
  Check result = later ? second : first;
  result.same_bits = first.same_bits && second.same_bits;
  result.workspace = std::max(first.workspace, second.workspace);
  result.failure = first.failure.empty() ? second.failure : first.failure;
  return result;
}

Check check_variant(const Variant& variant, const std::shared_ptr<core::Device>& device, const OpShape& shape,
                    Precision precision, std::uint64_t seed) {
  Check check;
  for (std::size_t absorbed = 0; absorbed <= variant.fuses.size(); ++absorbed) {
    const Case tested =
        make_case(variant.op, shape, std::span(variant.fuses).first(absorbed), precision, seed);
    check = worse(check, check_case(variant, device, precision, tested));
  }
  return check;
}

}  // namespace warpscope::verify
