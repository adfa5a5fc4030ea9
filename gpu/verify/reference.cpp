#include "gpu/verify/reference.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/verify/op_run.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Access;
using ops::CoveredOp;
using ops::Name;
using ops::Op;
using ops::OpShape;
using ops::Variant;

bool is_operand(const std::vector<ops::CallOperand>& operands, Name name) {
  return std::ranges::any_of(operands, [&](const ops::CallOperand& each) { return each.name == name; });
}

bool is_for_others(const Variant& variant, Name name) {
  return std::ranges::find(variant.stored_for_others, name) != variant.stored_for_others.end();
}

/// The first operand that `op` writes.
const ops::Operand& written_by(Op op) {
  const auto operands = ops::contract(op).operands;
  return *std::ranges::find_if(operands,
                               [](const ops::Operand& each) { return each.access != Access::read; });
}

}  // namespace

Operands run_reference(Op op, const OpShape& shape, const Operands& before_fp64) {
  const Variant* reference = find_variant(*ops::built_in_variants(), op, core::DeviceKind::cpu, "reference");
  if (reference == nullptr) throw core::Error(fmt::format("{} has no reference", to_string(op)));
  static const std::shared_ptr<core::Device> cpu = core::open_device("cpu");
  return OpRun(*reference, cpu, shape, Precision::fp64).run(before_fp64);
}

Operands run_reference(const Variant& variant, const OpShape& shape, const Operands& before_fp64) {
  Operands memory = before_fp64;
  for (const CoveredOp& covered : covered_ops(variant, shape)) {
    const Operands own = operands_of_covered(variant, shape, covered, memory);
    const Operands after = run_reference(covered.op, covered.shape, own);
    for (const ops::Operand& each : ops::contract(covered.op).operands) {
      if (each.access == Access::read) continue;
      memory[call_name(variant, shape.covered, covered.link, each.name)] = after[each.name];
    }
  }
  return memory;
}

std::int64_t terms_of(const Variant& variant, const OpShape& shape) {
  ops::ByName<std::int64_t> sums;  // of what the call has computed; 0: given
  std::int64_t most = 1;
  for (const CoveredOp& covered : covered_ops(variant, shape)) {
    const ops::OpContract& contract = ops::contract(covered.op);
    std::int64_t terms = contract.terms(covered.shape);
    std::int64_t computed = 0;
    std::int64_t given = 0;
    for (const ops::Operand& each : contract.operands) {
      if (each.access == Access::write) continue;
      const std::int64_t sum = sums[call_name(variant, shape.covered, covered.link, each.name)];
      computed = std::max(computed, sum);
      if (sum == 0 && is_number(each.role)) ++given;
    }
    if (computed > 0) {
      given = std::min(given, terms - 1);
      terms = computed * (terms - given) + given;
    }
    for (const ops::Operand& each : contract.operands) {
      if (each.access == Access::read) continue;
      sums[call_name(variant, shape.covered, covered.link, each.name)] = terms;
    }
    most = std::max(most, terms);
  }
  return most;
}

Name output_of(const Variant& variant, const OpShape& shape) {
  const auto operands = operands_of(variant, shape);
  std::optional<Name> name;
  for (const CoveredOp& covered : covered_ops(variant, shape)) {
    const auto in_call = [&](Name its) { return call_name(variant, shape.covered, covered.link, its); };
    const auto list = ops::contract(covered.op).operands;
    const bool reads = name && std::ranges::any_of(list, [&](const ops::Operand& each) {
                         return each.access == Access::read && in_call(each.name) == *name;
                       });
    const bool passes = name && (!is_operand(operands, *name) || is_for_others(variant, *name));
    if (covered.op == variant.op || (reads && passes)) {
      name = in_call(written_by(covered.op).name);
    }
  }
  return *name;
}

std::string misfit(const Variant& variant, const OpShape& shape) {
  const auto list = covered_ops(variant, shape);
  if (list.size() == 1) return "";
  ops::ByName<std::int64_t> known;
  for (const CoveredOp& covered : list) {
    for (const ops::Operand& each : ops::contract(covered.op).operands) {
      const Name name = call_name(variant, shape.covered, covered.link, each.name);
      const std::int64_t elements = each.elements(covered.shape);
      if (elements <= 0) return fmt::format("operand '{}' is empty", to_string(name));
      if (known[name] == 0) known[name] = elements;
      if (known[name] != elements) {
        return fmt::format("{} takes {} elements of '{}' of which there are {}", to_string(covered.op),
                           elements, to_string(name), known[name]);
      }
    }
  }
  return "";
}

std::vector<int> binding_of(const Variant& variant, const OpShape& shape) {
  std::vector<int> binding;
  for (const CoveredOp& covered : covered_ops(variant, shape)) {
    binding.push_back(static_cast<int>(covered.op));
    for (const ops::Operand& each : ops::contract(covered.op).operands) {
      binding.push_back(static_cast<int>(call_name(variant, shape.covered, covered.link, each.name)));
    }
  }
  return binding;
}

}  // namespace warpscope::verify
