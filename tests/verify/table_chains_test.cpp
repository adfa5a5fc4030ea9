// The chains that this build's variants declare, each op by its loops on the CPU: what verify holds kernels
// against is what a right call gives, in every set of ops, without a GPU.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/verify/op_check.h"
#include "gpu/verify/op_shapes.h"

namespace warpscope::verify::table_chains_test {
namespace {

using core::Precision;
using ops::Access;
using ops::CoveredOp;
using ops::Name;
using ops::OpCall;
using ops::Variant;

const Variant* running = nullptr;  // whose chain run_links() follows: a launch is a plain function

/// Runs a call as its chain says, an op after the other.
void run_links(const OpCall& call) {
  const auto operands = operands_of(*running, call.shape);
  std::map<Name, Bytes> between;
  const auto memory_of = [&](Name name, std::size_t bytes) -> void* {
    const auto stored = std::find_if(operands.begin(), operands.end(),
                                     [&](const ops::CallOperand& each) { return each.name == name; });
    const bool plain =
        stored != operands.end() && stored->format == nullptr && call.operands[name] != nullptr;
    if (plain) return call.operands[name];
    auto [place, made] = between.try_emplace(name, bytes);
    if (made && stored != operands.end() && stored->access != Access::write) {
      const std::span packed(call.operand<const std::byte>(name), bytes_of(*stored, call.precision));
      stored->format->unpack(packed, place->second);
    }
    return place->second.data();
  };
  for (const CoveredOp& covered : covered_ops(*running, call.shape)) {
    OpCall own = call;
    own.shape = covered.shape;
    own.operands = {};
    for (const ops::Operand& each : ops::contract(covered.op).operands) {
      const auto bytes = static_cast<std::size_t>(each.elements(covered.shape)) *
                         core::size_of(element_type(each.role, call.precision));
      own.operands[each.name] =
          memory_of(call_name(*running, call.shape.covered, covered.link, each.name), bytes);
    }
    find_variant(*ops::built_in_variants(), covered.op, core::DeviceKind::cpu, "loops")->launch(own);
  }
  for (const ops::CallOperand& operand : operands) {
    if (operand.format == nullptr || operand.access == Access::read) continue;
    operand.format->pack(between.at(operand.name),
                         std::span(call.operand<std::byte>(operand.name), bytes_of(operand, call.precision)));
  }
}

/// What is wrong is wrong for any data; an output that is one sum, as the gradient of a single bias, is inaccurate
/// where its terms happen to cancel.
std::string failure_for_any_data(const Variant& variant, const std::shared_ptr<core::Device>& device,
                                 const ops::OpShape& call) {
  std::string failure;
  for (const std::uint64_t seed : {3, 4, 5}) {
    failure = check_call(variant, device, call, Precision::fp32, seed).failure;
    if (failure.empty()) break;
  }
  return failure;
}

TEST(TableChains, AreMetByTheLoopsOfTheirOps) {
  const auto cpu = core::open_device("cpu");
  int chains = 0;
  for (const Variant& listed : *ops::built_in_variants()) {
    if (listed.chain.empty()) continue;
    ++chains;
    Variant variant = listed;
    variant.device = core::DeviceKind::cpu;
    variant.launch = run_links;
    variant.workspace_bytes = nullptr;
    variant.refuses = nullptr;
    variant.prepare = nullptr;
    running = &variant;
    int checked = 0;
    for (const ops::OpShape& call : calls_of(variant, random_shapes_of(variant.op, 4, 7, 2e4), {})) {
      if (ops::contract(variant.op).flops(call) > 1e6) continue;
      ++checked;
      EXPECT_EQ(failure_for_any_data(variant, cpu, call), "");
    }
    EXPECT_GT(checked, 0) << ops::to_string(variant.op) << " " << variant.name;
  }
  if (chains == 0) GTEST_SKIP() << "no variant of this build covers other ops";
}

}  // namespace
}  // namespace warpscope::verify::table_chains_test
