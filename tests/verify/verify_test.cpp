// verify(): which rows there are, that it can be cancelled, and that it is the same for the same seed.

#include "gpu/verify/verify.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "gpu/verify/network_check.h"
#include "gpu/verify/op_shapes.h"
#include "gpu/verify/reference_cases.h"

namespace warpscope::verify::verify_test {
namespace {

using core::Precision;
using ops::Op;

VerifyOptions options_for(Op op) {
  VerifyOptions options;
  options.shapes = 2;
  options.flops = 1e6;
  options.ops = {op};
  return options;
}

TEST(Verify, HasARowForEachVariantAndPrecisionAndFindsNothingWrong) {
  const auto cpu = core::open_device("cpu");
  const auto rows = verify(cpu, options_for(Op::relu_backward), {});
  std::set<std::string> names;
  for (const VerifyRow& row : rows) {
    EXPECT_EQ(row.failure, "");
    EXPECT_TRUE(names.insert(describe(row)).second) << describe(row);
    if (row.skipped.empty() && row.variant != kFiniteDifferences) {
      EXPECT_GT(row.checked, 2);
      EXPECT_GT(row.tolerance, 0);
      EXPECT_NE(row.derivation.find("n = 1"), std::string::npos) << row.derivation;
      EXPECT_TRUE(row.same_bits);
    }
  }
  EXPECT_TRUE(names.contains("relu.backward loops fp32"));
  EXPECT_TRUE(names.contains("relu.backward finite differences fp64"));
}

TEST(Verify, SaysWhyAVariantHasNoneOfThePrecisions) {
  VerifyOptions options = options_for(Op::relu_forward);
  options.precisions = {Precision::fp16};
  options.only = "loops";
  const auto rows = verify(core::open_device("cpu"), options, {});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].skipped.starts_with("not in fp16; in fp32")) << rows[0].skipped;
  EXPECT_EQ(rows[0].checked, 0);
}

TEST(Verify, IsTheSameForTheSameSeed) {
  const auto cpu = core::open_device("cpu");
  VerifyOptions options = options_for(Op::conv2d_backward_bias);
  options.only = "loops";
  options.precisions = {Precision::fp32};
  const auto first = verify(cpu, options, {});
  const auto second = verify(cpu, options, {});
  options.seed = 2;
  const auto third = verify(cpu, options, {});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].worst_error, second[0].worst_error);
  EXPECT_NE(first[0].worst_error, third[0].worst_error);
}

TEST(Verify, StopsWhenToldAndReportsWhatWasDone) {
  int calls = 0;
  int sunk = 0;
  const auto rows = verify(
      core::open_device("cpu"), options_for(Op::relu_forward),
      [&](int done, int total, const std::string&) {
        EXPECT_LT(done, total);
        ++calls;
        return done < 1;
      },
      [&](const VerifyRow&) { ++sunk; });
  EXPECT_EQ(rows.size(), 1u);
  EXPECT_EQ(sunk, 1);
  EXPECT_GT(calls, 1);
}

TEST(RandomShapes, AreReproducibleAndWithinTheirLimits) {
  for (const auto& contract : ops::contracts()) {
    const auto shapes = random_shapes_of(contract.op, 50, 3, 1e7);
    EXPECT_EQ(shapes, random_shapes_of(contract.op, 50, 3, 1e7)) << contract.name;
    for (const ops::OpShape& shape : shapes) {
      EXPECT_LE(contract.flops(shape), 1e7) << contract.name << " " << describe(contract.op, shape);
      EXPECT_GE(shape.in_channels, 1);
      EXPECT_LE(shape.in_channels, 513);
      EXPECT_LE(shape.kernel_height, 7);
      EXPECT_LE(shape.kernel_width, 7);
      if (std::string_view(contract.name).starts_with("conv2d.")) {
        EXPECT_EQ(shape.kernel_height % 2, 1);
      }
      if (contract.scope != ops::Scope::layer) continue;
      for (const ops::Operand& operand : contract.operands) EXPECT_GE(operand.elements(shape), 1);
    }
  }
}

TEST(RandomShapes, ShrinkToTheLimitWhateverTheyAreMadeOf) {
  for (const ops::OpShape& shape : random_shapes_of(Op::optimizer_update, 50, 3, 1000)) {
    EXPECT_LE(ops::contract(Op::optimizer_update).flops(shape), 1000);
  }
  EXPECT_EQ(random_shapes_of(Op::optimizer_update, 1, 3, 0).front().count, 1)
      << "the smallest, though it costs more";
}

TEST(ReferenceCases, MakesEachResultOnceForAllWhoStoreAlike) {
  ReferenceCases cases(Op::relu_forward, 1);
  const ops::OpShape shape{.in_channels = 5};
  const ops::Variant& loops =
      *find_variant(*ops::built_in_variants(), Op::relu_forward, core::DeviceKind::cpu, "loops");
  const Case& fp32 = cases.get(loops, shape, Precision::fp32);
  EXPECT_EQ(&fp32, &cases.get(alone(Op::relu_forward), shape, Precision::tf32));
  EXPECT_NE(&fp32, &cases.get(loops, shape, Precision::bf16));
  EXPECT_NE(&fp32, &cases.get(loops, {.in_channels = 6}, Precision::fp32));
}

TEST(ReferenceCases, WithoutMemoryTellWhatTheyNeed) {
#if defined(WARPSCOPE_SANITIZES_ADDRESS) || defined(WARPSCOPE_SANITIZES_THREAD)
  GTEST_SKIP() << "a sanitizer ends the process where memory runs out";
#else
  ReferenceCases cases(Op::relu_forward, 1);
  const ops::Variant& loops =
      *find_variant(*ops::built_in_variants(), Op::relu_forward, core::DeviceKind::cpu, "loops");
  // 2^50 numbers: more than a process has addresses for, so nothing is taken from the system.
  const ops::OpShape shape{.batch = 1 << 20, .height = 1 << 10, .width = 1 << 10, .in_channels = 1 << 10};
  try {
    cases.get(loops, shape, Precision::fp32);
    FAIL() << "there is no such memory";
  } catch (const core::Error& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with("the reference needs ")) << error.what();
  }
#endif
}

TEST(NetworkCheck, FindsAWrongGradient) {
  const auto cpu = core::open_device("cpu");
  NetworkCase network = make_network_case(Precision::fp32, 1);
  plan::Selection selection{Precision::fp32, {}};
  plan::apply(selection, "all=loops", cpu->info());
  const NetworkCheck right = check_network(network, cpu, selection);
  EXPECT_EQ(right.failure, "");
  EXPECT_TRUE(right.same_bits);
  EXPECT_LT(right.tolerance, 1e-3);
  const auto& layout = models::parameter_layout(network.model);
  network.gradients[layout.find("conv2.weight").offset + 3] *= 1.5;
  EXPECT_NE(check_network(network, cpu, selection).failure.find("the gradient of conv2.weight"),
            std::string::npos);
}

TEST(NetworkCheck, HoldsForANetworkWithAHead) {
  const auto cpu = core::open_device("cpu");
  for (const char* const variants : {"all=loops", "all=onednn"}) {
    NetworkCase network = make_network_case(Precision::fp32, 1, small_joint_network());
    plan::Selection selection{Precision::fp32, {}};
    plan::apply(selection, variants, cpu->info());
    EXPECT_EQ(check_network(network, cpu, selection).failure, "") << variants;
    const auto& layout = models::parameter_layout(network.model);
    network.gradients[layout.find("head.weight").offset] += 1;
    EXPECT_NE(check_network(network, cpu, selection).failure.find("the gradient of head.weight"),
              std::string::npos);
  }
}

TEST(NetworkCheck, AllowsMoreWhereRoundingIsCoarser) {
  const double fp32 = network_tolerance(make_network_case(Precision::fp32, 1), Precision::fp32);
  const double fp16 = network_tolerance(make_network_case(Precision::fp16, 1), Precision::fp16);
  const double bf16 = network_tolerance(make_network_case(Precision::bf16, 1), Precision::bf16);
  EXPECT_LT(fp32, fp16);
  EXPECT_LT(fp16, bf16);
  EXPECT_LT(bf16, 0.5) << "a gradient of the wrong sign would pass";
}

}  // namespace
}  // namespace warpscope::verify::verify_test
