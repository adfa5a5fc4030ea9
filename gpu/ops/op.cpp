#include "gpu/ops/op.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops {

#define WARPSCOPE_OP(op, folder, name) \
  namespace folder {                   \
  OpContract name##_contract();        \
  }
WARPSCOPE_OPS(WARPSCOPE_OP)
#undef WARPSCOPE_OP

namespace {

using core::ElementType;
using core::Precision;

OpContract row(Op op, OpContract contract) {
  contract.op = op;
  return contract;
}

const std::array<OpContract, kOpCount>& table() {
  static const std::array<OpContract, kOpCount> rows{
#define WARPSCOPE_OP(op, folder, name) row(Op::op, folder::name##_contract()),
      WARPSCOPE_OPS(WARPSCOPE_OP)
#undef WARPSCOPE_OP
  };
  return rows;
}

double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return std::ldexp(1.0, -24);
    case Precision::tf32:
      return std::ldexp(1.0, -11);
    case Precision::fp16:
      return std::ldexp(1.0, -11);
    case Precision::bf16:
      return std::ldexp(1.0, -8);
    case Precision::fp64:
      return std::ldexp(1.0, -53);
  }
  throw std::logic_error("unknown precision");
}

}  // namespace

const OpContract& contract(Op op) {
  return table().at(static_cast<std::size_t>(op));
}

std::span<const OpContract> contracts() {
  return table();
}

std::string_view to_string(Op op) {
  return contract(op).name;
}

Op parse_op(std::string_view text) {
  std::string valid;
  for (const auto& entry : contracts()) {
    if (text == entry.name) return entry.op;
    valid += valid.empty() ? "" : ", ";
    valid += entry.name;
  }
  throw core::BadInput(fmt::format("unknown operation '{}'; valid: {}", text, valid));
}

std::string describe(const OpSet& ops) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kOpCount; ++i) {
    if (!ops.has(static_cast<Op>(i))) continue;
    const std::string_view name = to_string(static_cast<Op>(i));
    names.push_back(name.ends_with(".forward") ? name.substr(0, name.find('.')) : name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

const Operand& operand_of(Op op, Name name) {
  for (const Operand& operand : contract(op).operands) {
    if (operand.name == name) return operand;
  }
  throw std::logic_error(fmt::format("{} has no operand '{}'", to_string(op), to_string(name)));
}

ElementType element_type(Role role, Precision precision) {
  const bool fp64 = precision == Precision::fp64;
  switch (role) {
    case Role::activation:
    case Role::weight:
      if (precision == Precision::fp16) return ElementType::f16;
      if (precision == Precision::bf16) return ElementType::bf16;
      return fp64 ? ElementType::f64 : ElementType::f32;
    case Role::gradient:
    case Role::parameter:
    case Role::scalar:
      return fp64 ? ElementType::f64 : ElementType::f32;
    case Role::byte:
      return ElementType::u8;
    case Role::index:
      return ElementType::u32;
    case Role::control:
      return ElementType::bytes;
  }
  throw std::logic_error("unknown role");
}

double least_flops(Op op, const OpShape& shape) {
  const OpContract& found = contract(op);
  return found.least_flops == nullptr ? found.flops(shape) : found.least_flops(shape);
}

namespace {

/// ", stride 2, valid": the parameters that the op reads and that are not the standard.
std::string describe_parameters(Op op, const OpShape& shape) {
  std::string text;
  const auto& read = contract(op).parameters;
  visit_parameters(shape, [&](Parameter parameter, auto value, auto standard) {
    const ParameterRow& row = row_of(parameter);
    if (!row.shown || value == standard || std::find(read.begin(), read.end(), parameter) == read.end())
      return;
    std::string name(row.name);
    std::replace(name.begin(), name.end(), '_', ' ');
    text += ", " + name;
    if constexpr (std::is_arithmetic_v<decltype(value)> && !std::is_same_v<decltype(value), bool>) {
      text += fmt::format(" {}", value);
    }
  });
  return text;
}

}  // namespace

std::string describe(Op op, const OpShape& shape) {
  const std::string own = contract(op).describe(shape) + describe_parameters(op, shape);
  if (shape.covered.empty()) return own;
  const bool windows = shape.window_height != 1 || shape.window_width != 1;
  const bool patches = shape.patch_channels != 0;
  return fmt::format(
      "{}; with {}{}{}", own, describe(shape.covered),
      windows ? fmt::format(" in windows of {}x{}", shape.window_height, shape.window_width) : "",
      patches ? fmt::format(", from {} channel{}", shape.patch_channels, shape.patch_channels == 1 ? "" : "s")
              : "");
}

double tolerance(Precision precision, std::int64_t terms) {
  const double accumulate =
      precision == Precision::fp64 ? unit_roundoff(Precision::fp64) : unit_roundoff(Precision::fp32);
  return 4.0 * accumulate * std::sqrt(static_cast<double>(terms)) + 2.0 * unit_roundoff(precision);
}

namespace sizes {

std::int64_t step_control(const OpShape&) {
  return sizeof(step::StepControl);
}
std::int64_t step_metrics(const OpShape&) {
  return step::kMetrics;
}
std::int64_t step_statistics(const OpShape&) {
  return step::kStatistics * kSumParts;
}

std::string describe_images(const OpShape& s) {
  return fmt::format("{}x{}x{}x{}", s.batch, s.height, s.width, s.in_channels);
}

std::string describe_parameters(const OpShape& s) {
  return fmt::format("{} parameters", s.count);
}

}  // namespace sizes
}  // namespace warpscope::ops
