#include "gpu/verify/op_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "gpu/ops/op_tests.h"
#include "gpu/verify/op_shapes.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Access;
using ops::CallOperand;
using ops::CoveredOp;
using ops::Name;
using ops::OpShape;
using ops::Variant;

std::string label(const Variant& variant, const Case& tested, Precision precision) {
  return fmt::format("{} {} {} {} on {}", to_string(variant.op), variant.name, to_string(variant.device),
                     to_string(precision), describe(variant.op, tested.shape));
}

/// OpTests::clear_time of the variant's op.
bool clear_time(const Variant& variant, const Case& tested, Operands& after) {
  const auto clear = ops::tests_of(variant.op).clear_time;
  return clear == nullptr || clear(tested.shape, tested.before, after);
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

/// Calls body(op, operand) with the covered op that writes what the call names `name`; false if there is
/// none.
template <class Body>
bool with_writer(const Variant& variant, const OpShape& shape, Name name, Body body) {
  for (const CoveredOp& covered : covered_ops(variant, shape)) {
    for (const ops::Operand& each : ops::contract(covered.op).operands) {
      if (each.access == Access::read) continue;
      if (call_name(variant, shape.covered, covered.link, each.name) != name) continue;
      body(covered, each);
      return true;
    }
  }
  return false;
}

/// Whether all that `covered` reads is computed in the call: it is near the reference's then, not equal to
/// it.
bool reads_computed(const Variant& variant, const OpShape& shape, const CoveredOp& covered) {
  const auto given = operands_of(variant, shape);
  const auto own = ops::contract(covered.op).operands;
  return std::ranges::none_of(own, [&](const ops::Operand& each) {
    if (each.access == Access::write) return false;
    const Name name = call_name(variant, shape.covered, covered.link, each.name);
    return std::ranges::any_of(given, [&](const CallOperand& one) { return one.name == name; });
  });
}

/// OpTests::accepts of the covered op that writes `name`.
bool accepted(const Variant& variant, const Case& tested, Name name, const Bytes& written, double tolerance) {
  bool right = false;
  with_writer(variant, tested.shape, name, [&](const CoveredOp& covered, const ops::Operand& operand) {
    const auto accepts = ops::tests_of(covered.op).accepts;
    if (accepts == nullptr || !reads_computed(variant, tested.shape, covered)) return;
    const Operands own = operands_of_covered(variant, tested.shape, covered, tested.expected);
    right = accepts(covered.shape, own, operand.name, written, tolerance);
  });
  return right;
}

std::string compare_bytes(const Variant& variant, const Case& tested, Name name, const Bytes& written,
                          double tolerance) {
  const Bytes& expected = tested.expected[name];
  if (written == expected || accepted(variant, tested, name, written, tolerance)) return "";
  const auto [wrong, right] = std::mismatch(written.begin(), written.end(), expected.begin());
  return fmt::format("operand '{}' differs from the reference at byte {}: {} instead of {}", to_string(name),
                     wrong - written.begin(), static_cast<int>(*wrong), static_cast<int>(*right));
}

/// The norm of `count` numbers as small as a type stores them at full precision. Smaller ones are rounded by as
/// much as these, so errors are measured against no less than this: gradients of a mean over 67,591 pixels lie
/// below it in FP16.
double least_normal_norm(core::ElementType type, std::size_t count) {
  constexpr double kSmallestHalf = 0x1p-14;
  constexpr double kSmallestSingle = 0x1p-126;  // of BF16 too
  if (type == core::ElementType::f64) return 0;
  return (type == core::ElementType::f16 ? kSmallestHalf : kSmallestSingle) *
         std::sqrt(static_cast<double>(count));
}

/// The worst element of a floating operand, whose values are decoded from `bytes`.
WorstElement worst_element(Name name, const Bytes& bytes, const std::vector<double>& out,
                           const std::vector<double>& right) {
  WorstElement worst;
  double farthest = -1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(out[i]) && !std::isfinite(right[i])) continue;
    const double distance = std::abs(out[i] - right[i]);
    if (distance <= farthest) continue;
    worst = {name, static_cast<std::int64_t>(i), out[i], right[i]};
    farthest = distance;
    if (std::isfinite(distance)) continue;
    const std::size_t size = bytes.size() / out.size();
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(i * size);
    worst.unwritten = std::all_of(first, first + static_cast<std::ptrdiff_t>(size),
                                  [](std::byte each) { return each == std::byte{kPoisonByte}; });
    break;
  }
  return worst;
}

/// Whether the call stores the operand only where another op reads it.
bool is_for_others(const Variant& variant, const CallOperand& operand) {
  const auto& names = variant.stored_for_others;
  return operand.access == Access::write && std::ranges::find(names, operand.name) != names.end();
}

/// Compares what a call wrote with the reference; "" if it is right.
std::string compare(const Variant& variant, const Case& tested, Precision precision, const Operands& after,
                    Check& check) {
  const Name output = output_of(variant, tested.shape);
  for (const CallOperand& operand : operands_of(variant, tested.shape)) {
    const Name name = operand.name;
    if (operand.access == Access::read) continue;
    if (!is_number(operand.role)) {
      const std::string wrong = compare_bytes(variant, tested, name, after[name], check.tolerance);
      if (!wrong.empty()) return wrong;
      continue;
    }
    const core::ElementType type = element_type(operand.role, precision);
    std::vector<double> out = decode(after[name], type);
    std::vector<double> right = decode(tested.expected[name], core::ElementType::f64);
    const WorstElement worst = worst_element(name, after[name], out, right);
    drop_both_not_finite(out, right);
    const double least = least_normal_norm(type, out.size());
    const bool is_sum = name == output || is_for_others(variant, operand);
    const double error = relative_error(out, right, std::max(least, is_sum ? tested.usual_norm : 0));
    check.worst_error = std::max(check.worst_error, error);
    if (!(error <= check.tolerance)) {
      check.worst = worst;
      return fmt::format("operand '{}' has a relative error of {:.3g}, more than {:.3g}", to_string(name),
                         error, check.tolerance);
    }
  }
  return "";
}

bool same_bits(const std::vector<CallOperand>& operands, const Operands& first, const Operands& second) {
  return std::ranges::all_of(operands, [&](const CallOperand& each) {
    return each.access == Access::read || first[each.name] == second[each.name];
  });
}

/// The same call where nobody else reads what it stores for others (Variant::stored_for_others): "" if the rest has the
/// same bits.
std::string check_without_stored(const Variant& variant, const Case& tested, OpRun& op_run,
                                 const Operands& first) {
  std::vector<CallOperand> rest = operands_of(variant, tested.shape);
  const auto goes = [&](const CallOperand& each) { return is_for_others(variant, each); };
  if (std::erase_if(rest, goes) == 0 || !variant.deterministic) return "";
  const Operands after = op_run.run(tested.before, variant.stored_for_others);
  return same_bits(rest, first, after) ? "" : "gave other bits where nobody reads what it stores for others";
}

/// One placement (operands apart or in place): result, faults, and the same bits again.
std::string check_placement(const Variant& variant, const ops::Context& context, Precision precision,
                            const Case& tested, bool in_place, Check& check) {
  OpRun op_run(variant, context, tested.shape, precision, in_place);
  Operands first = op_run.run(tested.before);
  if (!op_run.fault().empty()) return op_run.fault();
  if (!clear_time(variant, tested, first)) return "noted no time";
  const std::string wrong = compare(variant, tested, precision, first, check);
  if (!wrong.empty()) return wrong;
  Operands second = op_run.run(tested.before);
  clear_time(variant, tested, second);
  if (!same_bits(operands_of(variant, tested.shape), first, second)) {
    check.same_bits = false;
    if (variant.deterministic) return "gave other bits the second time";
  }
  const std::string other = check_without_stored(variant, tested, op_run, first);
  return other.empty() ? op_run.fault() : other;
}

/// Whether the op adds up products of its operands, or makes fewer numbers of those of its only one.
bool adds_up(const ops::OpContract& contract, const OpShape& shape) {
  if (contract.work == ops::Work::products) return true;
  int reads = 0;
  std::int64_t in = 0, out = 0;
  for (const ops::Operand& each : contract.operands) {
    if (!is_number(each.role)) return false;
    const bool read = each.access != Access::write;
    reads += read ? 1 : 0;
    (read ? in : out) += each.elements(shape);
  }
  return reads == 1 && out < in;
}

/// Case::usual_norm: the squares of the products are the products of the squares.
double usual_norm(const Variant& variant, const OpShape& shape, const Operands& memory) {
  constexpr std::size_t kFewOutputs = 256;
  if (!adds_up(ops::contract(variant.op), shape)) return 0;
  for (const CoveredOp& covered : covered_ops(variant, shape)) {
    if (covered.op != variant.op) continue;
    Operands own = operands_of_covered(variant, shape, covered, memory);
    Name output{};
    for (const ops::Operand& each : ops::contract(covered.op).operands) {
      if (each.access == Access::write) output = each.name;
    }
    if (own[output].size() / sizeof(double) > kFewOutputs) return 0;
    for (const ops::Operand& each : ops::contract(covered.op).operands) {
      std::vector<double> values = decode(own[each.name], core::ElementType::f64);
      for (double& value : values) value *= value;
      own[each.name] = encode(values, core::ElementType::f64);
    }
    const auto sums = decode(run_reference(covered.op, covered.shape, own)[output], core::ElementType::f64);
    const double squares = std::accumulate(sums.begin(), sums.end(), 0.0);
    const std::size_t count = memory[output_of(variant, shape)].size() / sizeof(double);
    const auto outputs = static_cast<double>(count);
    return std::sqrt(squares / static_cast<double>(sums.size()) * outputs);
  }
  return 0;
}

/// Forgets what nobody compares: what was given, and what passes between ops, where no op judges by it.
void keep_what_is_compared(const Variant& variant, const OpShape& shape, Operands& memory) {
  Operands kept;
  for (const CallOperand& operand : operands_of(variant, shape)) {
    if (operand.access != Access::read) kept[operand.name] = std::move(memory[operand.name]);
  }
  for (const CoveredOp& covered : covered_ops(variant, shape)) {
    if (ops::tests_of(covered.op).accepts == nullptr) continue;
    if (!reads_computed(variant, shape, covered)) continue;
    for (const ops::Operand& each : ops::contract(covered.op).operands) {
      const Name name = call_name(variant, shape.covered, covered.link, each.name);
      if (each.access == Access::read) kept[name] = std::move(memory[name]);
    }
  }
  memory = std::move(kept);
}

}  // namespace

Case make_case(const Variant& variant, const OpShape& shape, Precision precision, std::uint64_t seed) {
  Case made{shape, random_operands(variant, shape, precision, seed), {}};
  const Operands before = convert(variant, shape, made.before, precision, Precision::fp64);
  made.expected = run_reference(variant, shape, before);
  made.usual_norm = usual_norm(variant, shape, made.expected);
  keep_what_is_compared(variant, shape, made.expected);
  clear_time(variant, made, made.expected);
  return made;
}

Check check_case(const Variant& variant, const ops::Context& context, Precision precision,
                 const Case& tested) {
  Check check;
  check.terms = terms_of(variant, tested.shape);
  check.tolerance = ops::tolerance(precision, check.terms);
  check.workspace = workspace_bytes(variant, tested.shape, precision);
  const auto operands = operands_of(variant, tested.shape);
  const bool has_in_place =
      std::ranges::any_of(operands, [](const auto& each) { return each.in_place_of.has_value(); });
  std::string failure = check_placement(variant, context, precision, tested, false, check);
  if (failure.empty() && has_in_place) {
    failure = check_placement(variant, context, precision, tested, true, check);
    if (!failure.empty()) failure = "in place: " + failure;
  }
  if (!failure.empty()) check.failure = label(variant, tested, precision) + ": " + failure;
  return check;
}

Check check_cases(const Variant& variant, const ops::Context& context, Precision precision,
                  std::span<const Case> tested) {
  Check check = check_case(variant, context, precision, tested.front());
  if (!check.failure.empty()) return check;
  OpRun op_run(variant, context, tested.front().shape, precision);
  for (const Case& each : tested) {
    Operands after = op_run.run(each.before);
    std::string failure = op_run.fault();
    if (failure.empty() && !clear_time(variant, each, after)) failure = "noted no time";
    if (failure.empty()) failure = compare(variant, each, precision, after, check);
    if (failure.empty()) continue;
    check.later = true;
    check.failure = fmt::format("{}: is right at first, but where other numbers lie in the same memory: {}",
                                label(variant, each, precision), failure);
    break;
  }
  return check;
}

Check worse(const Check& first, const Check& second) {
  const bool later =
      second.worst_error * first.tolerance > first.worst_error * second.tolerance || first.tolerance == 0;
  Check result = later ? second : first;
  result.same_bits = first.same_bits && second.same_bits;
  result.workspace = std::max(first.workspace, second.workspace);
  result.failure = first.failure.empty() ? second.failure : first.failure;
  result.worst = first.failure.empty() ? second.worst : first.worst;
  return result;
}

Check check_call(const Variant& variant, const ops::Context& context, const OpShape& shape,
                 Precision precision, std::uint64_t seed) {
  return check_case(variant, context, precision, make_case(variant, shape, precision, seed));
}

Check check_variant(const Variant& variant, const ops::Context& context, const OpShape& shape,
                    Precision precision, std::uint64_t seed) {
  Check check;
  for (const ops::OpSet& covered : coverings(variant)) {
    const auto call = fitted(variant, shape, covered);
    if (!call || (variant.refuses && !variant.refuses(*call).empty())) continue;
    check = worse(check, check_call(variant, context, *call, precision, seed));
  }
  return check;
}

}  // namespace warpscope::verify
