// The tables of variants and the contracts of the ops.

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/collective.h"
#include "gpu/verify/op_shapes.h"
#include "gpu/verify/operands.h"
#include "gpu/verify/reference.h"

namespace warpscope::ops::tables_test {
namespace {

using core::DeviceKind;
using core::Precision;

TEST(VariantTable, ListsEveryOpsReferenceAndLoopsOnTheCpuInThatOrder) {
  for (const OpContract& contract : contracts()) {
    const auto listed = variants_of(*built_in_variants(), contract.op, DeviceKind::cpu);
    ASSERT_GE(listed.size(), 2u) << contract.name;
    EXPECT_EQ(listed[0]->name, "reference") << contract.name;
    EXPECT_EQ(listed[0]->precisions, (std::vector{Precision::fp32, Precision::fp64})) << contract.name;
    EXPECT_EQ(listed[1]->name, "loops") << contract.name;
    EXPECT_EQ(precisions_of(*listed[1]).front(), Precision::fp32) << contract.name;
  }
}

TEST(VariantTable, GoesByOpAndThenCpuBeforeCuda) {
  const VariantTable& all = *built_in_variants();
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LE(std::tuple(all[i - 1].op, all[i - 1].device), std::tuple(all[i].op, all[i].device)) << i;
  }
}

TEST(VariantTable, EveryVariantIsComplete) {
  for (const Variant& variant : *built_in_variants()) {
    SCOPED_TRACE(std::string(to_string(variant.op)) + " " + variant.name);
    EXPECT_FALSE(precisions_of(variant).empty());
    EXPECT_TRUE(variant.summary.ends_with('.'));
    const int most = variant.maximum_compute_capability;
    EXPECT_TRUE(most == 0 || most >= variant.minimum_compute_capability);
  }
}

TEST(VariantTable, TakesAnotherOnTopWithAnOpenNameOnly) {
  const Variants built_in = built_in_variants();
  Variant more{
      .op = Op::relu_forward, .name = "mine", .summary = "A test's.", .launch = [](const OpCall&) {}};
  const Variants both = with_variant(*built_in, more);
  EXPECT_EQ(both->size(), built_in->size() + 1);
  EXPECT_EQ(variants_of(*both, Op::relu_forward, DeviceKind::cpu).back()->name, "mine");
  EXPECT_EQ(find_variant(*built_in, Op::relu_forward, DeviceKind::cpu, "mine"), nullptr);
  const auto refusal = [&](const Variant& added) -> std::string {
    try {
      with_variant(*both, added);
    } catch (const core::BadInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(more), "the variant 'mine' of relu.forward on cpu is there already");
  more.name = "not=mine";
  EXPECT_EQ(refusal(more),
            "the variant 'not=mine' of relu.forward on cpu has a name of other characters than a-z, 0-9 "
            "and _");
  more.name = "idle";
  more.launch = {};
  EXPECT_EQ(refusal(more), "the variant 'idle' of relu.forward on cpu has nothing to launch");
}

TEST(Contracts, TellInWordsWhatParametersTheirOpsRead) {
  for (const OpContract& contract : contracts()) {
    for (const Parameter parameter : contract.parameters) {
      OpShape shape;
      visit_parameters(shape, [&](Parameter each, auto& value, auto standard) {
        using T = decltype(standard);
        if (each == parameter) value = static_cast<T>(standard == T{} ? 1 : 3);
      });
      const bool told = describe(contract.op, shape) != describe(contract.op, OpShape());
      EXPECT_TRUE(told || !row_of(parameter).shown) << contract.name << " " << row_of(parameter).name;
    }
  }
}

TEST(VariantTable, FindsByNameOrSaysNullptr) {
  const Variant* found = find_variant(*built_in_variants(), Op::relu_forward, DeviceKind::cpu, "loops");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->op, Op::relu_forward);
  EXPECT_EQ(find_variant(*built_in_variants(), Op::relu_forward, DeviceKind::cpu, "no_such_variant"),
            nullptr);
}

core::DeviceInfo gpu_of(int compute_capability) {
  core::DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.compute_capability = compute_capability;
  return info;
}

TEST(VariantTable, EveryShapeOfTheProofsHasAVariantInEveryPrecision) {
  const core::DeviceInfo cpu;
  for (const OpContract& contract : contracts()) {
    const bool cuda = !variants_of(*built_in_variants(), contract.op, DeviceKind::cuda).empty();
    for (const OpShape& shape : verify::shapes_of(contract.op)) {
      const auto runs = [&](const core::DeviceInfo& device, Precision precision) {
        const auto listed = variants_of(*built_in_variants(), contract.op, device.kind);
        return std::any_of(listed.begin(), listed.end(), [&](const Variant* variant) {
          return unavailable_reason(*variant, device, precision, &shape).empty();
        });
      };
      for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        EXPECT_TRUE(runs(cpu, precision)) << contract.name << " " << describe(contract.op, shape);
      }
      if (!cuda) continue;
      for (const Precision precision : core::selectable_precisions()) {
        EXPECT_TRUE(runs(gpu_of(90), precision))
            << contract.name << " " << describe(contract.op, shape) << " " << to_string(precision);
      }
    }
  }
}

TEST(UnavailableReason, IsEmptyWhereTheVariantRuns) {
  const Variant& loops = *find_variant(*built_in_variants(), Op::relu_forward, DeviceKind::cpu, "loops");
  EXPECT_EQ(unavailable_reason(loops, core::DeviceInfo{}, Precision::fp32), "");
}

TEST(UnavailableReason, NamesTheDeviceItNeeds) {
  const Variant& loops = *find_variant(*built_in_variants(), Op::relu_forward, DeviceKind::cpu, "loops");
  EXPECT_EQ(unavailable_reason(loops, gpu_of(90), Precision::fp32), "runs on cpu only");
}

TEST(UnavailableReason, NamesTheComputeCapabilities) {
  const Variant hopper{.name = "hopper",
                       .device = DeviceKind::cuda,
                       .precisions = {Precision::bf16},
                       .minimum_compute_capability = 90,
                       .summary = ""};
  EXPECT_EQ(unavailable_reason(hopper, gpu_of(86), Precision::bf16),
            "needs compute capability 9.0, this GPU has 8.6");
  EXPECT_EQ(unavailable_reason(hopper, gpu_of(120), Precision::bf16), "");
}

TEST(UnavailableReason, NamesThePrecisionThatNeedsMore) {
  const Variant wmma{.name = "wmma",
                     .device = DeviceKind::cuda,
                     .precisions = {Precision::fp16, Precision::bf16},
                     .minimum_beside_fp16 = 80,
                     .summary = ""};
  EXPECT_EQ(unavailable_reason(wmma, gpu_of(75), Precision::fp16), "");
  EXPECT_EQ(unavailable_reason(wmma, gpu_of(75), Precision::bf16),
            "needs compute capability 8.0 in bf16, this GPU has 7.5");
  EXPECT_EQ(unavailable_reason(wmma, gpu_of(80), Precision::bf16), "");
}

TEST(UnavailableReason, NamesTheRangeOfComputeCapabilities) {
  Variant variant{.name = "sm_90a",
                  .device = DeviceKind::cuda,
                  .precisions = {Precision::bf16},
                  .minimum_compute_capability = 90,
                  .maximum_compute_capability = 90,
                  .summary = ""};
  EXPECT_EQ(unavailable_reason(variant, gpu_of(90), Precision::bf16), "");
  EXPECT_EQ(unavailable_reason(variant, gpu_of(89), Precision::bf16),
            "needs compute capability 9.0 only, this GPU has 8.9");
  EXPECT_EQ(unavailable_reason(variant, gpu_of(100), Precision::bf16),
            "needs compute capability 9.0 only, this GPU has 10.0");
  variant.minimum_compute_capability = 80;
  EXPECT_EQ(unavailable_reason(variant, gpu_of(86), Precision::bf16), "");
  EXPECT_EQ(unavailable_reason(variant, gpu_of(100), Precision::bf16),
            "needs compute capability 8.0 to 9.0, this GPU has 10.0");
}

constexpr Format kHalves{"halves", [](std::int64_t plain) { return plain / 2; }, nullptr, nullptr};

TEST(CallOperands, OfAnOpByItselfHaveTheVariantsFormats) {
  const Variant pooling{
      .op = Op::maxpool2d_forward, .name = "pooling", .formats = {{Name::argmax, &kHalves}}, .summary = ""};
  const OpShape shape{
      .batch = 2, .height = 4, .width = 4, .in_channels = 8, .kernel_height = 2, .kernel_width = 2};
  for (const CallOperand& operand : operands_of(pooling, shape)) {
    EXPECT_EQ(operand.format, operand.name == Name::argmax ? &kHalves : nullptr) << to_string(operand.name);
    if (operand.name != Name::input) {
      EXPECT_EQ(operand.elements, operand.name == Name::argmax ? 32 : 64) << to_string(operand.name);
    }
  }
}

TEST(CallOperands, OfVariantsThatDoNotWorkInPlaceShareNoMemory) {
  Variant relu = verify::alone(Op::relu_forward);
  relu.in_place = false;
  EXPECT_FALSE(operands_of(relu, {}).back().in_place_of.has_value());
}

TEST(CallOperands, InFormatsOfTheirOwnShareNoMemory) {
  const OpShape shape{.batch = 2, .height = 4, .width = 4, .in_channels = 8};
  EXPECT_TRUE(operands_of(verify::alone(Op::relu_forward), shape).back().in_place_of.has_value());
  for (const Name name : {Name::input, Name::output}) {
    const Variant relu{.op = Op::relu_forward, .name = "relu", .formats = {{name, &kHalves}}, .summary = ""};
    EXPECT_FALSE(operands_of(relu, shape).back().in_place_of.has_value()) << to_string(name);
  }
}

TEST(UnavailableReason, NamesThePrecisionsThatAPersonCanChoose) {
  const Variant& reference =
      *find_variant(*built_in_variants(), Op::relu_forward, DeviceKind::cpu, "reference");
  EXPECT_EQ(unavailable_reason(reference, core::DeviceInfo{}, Precision::bf16), "not in bf16; in fp32");
}

TEST(UnavailableReason, PassesOnWhyAShapeIsRefused) {
  const Variant picky{
      .name = "picky", .precisions = {Precision::fp32}, .summary = "", .refuses = [](const OpShape& shape) {
        return std::string(shape.in_channels % 4 == 0 ? "" : "channels must be a multiple of 4");
      }};
  const OpShape odd{.in_channels = 3};
  const OpShape even{.in_channels = 4};
  EXPECT_EQ(unavailable_reason(picky, {}, Precision::fp32, &odd), "channels must be a multiple of 4");
  EXPECT_EQ(unavailable_reason(picky, {}, Precision::fp32, &even), "");
  EXPECT_EQ(unavailable_reason(picky, {}, Precision::fp32), "");
}

TEST(HopperChains, WorkspaceIsThatOfTheRouteInEachPrecision) {
  const Variant* hopper =
      find_variant(*built_in_variants(), Op::conv2d_backward_input, DeviceKind::cuda, "hopper");
  if (hopper == nullptr) GTEST_SKIP() << "this build has no kernels for Hopper";
  const Variant& fused =
      *find_variant(*built_in_variants(), Op::conv2d_backward_input, DeviceKind::cuda, "fused");
  OpShape shape{.batch = 2,
                .height = 8,
                .width = 8,
                .in_channels = 64,
                .out_channels = 128,
                .kernel_height = 3,
                .kernel_width = 3};
  EXPECT_EQ(workspace_bytes(*hopper, shape, Precision::bf16), 0u);
  EXPECT_EQ(workspace_bytes(*hopper, shape, Precision::tf32), std::size_t{4 * 9 * 64 * 128});
  shape.covered.add(Op::maxpool2d_backward);
  EXPECT_EQ(workspace_bytes(*hopper, shape, Precision::bf16), std::size_t{2 * 2 * 8 * 8 * 128});
  EXPECT_EQ(workspace_bytes(*hopper, shape, Precision::tf32),
            std::size_t{4 * 9 * 64 * 128 + 4 * 2 * 8 * 8 * 128});
  shape.in_channels = 60;
  EXPECT_EQ(workspace_bytes(*hopper, shape, Precision::tf32), workspace_bytes(fused, shape, Precision::tf32));
}

TEST(HopperChains, GradientsOfFewChannelsHaveTheirRouteInEachPrecision) {
  const Variant* hopper =
      find_variant(*built_in_variants(), Op::conv2d_backward_weights, DeviceKind::cuda, "hopper");
  if (hopper == nullptr) GTEST_SKIP() << "this build has no kernels for Hopper";
  const Variant& fused =
      *find_variant(*built_in_variants(), Op::conv2d_backward_weights, DeviceKind::cuda, "fused");
  OpShape shape{.batch = 2,
                .height = 32,
                .width = 32,
                .in_channels = 3,
                .out_channels = 64,
                .kernel_height = 3,
                .kernel_width = 3,
                .covered = {Op::conv2d_backward_bias, Op::maxpool2d_backward}};
  constexpr std::size_t kTiles = 2 * 4 * 2;  // of 4x8 windows, each with its part of the gradients
  EXPECT_EQ(workspace_bytes(*hopper, shape, Precision::bf16), 4 * kTiles * 64 * (9 * 3 + 1));
  EXPECT_EQ(workspace_bytes(*hopper, shape, Precision::tf32), 4 * kTiles * 64 * (9 * 3 + 1));
  shape.in_channels = 64;
  EXPECT_EQ(workspace_bytes(*hopper, shape, Precision::tf32), workspace_bytes(fused, shape, Precision::tf32));
}

TEST(MmaRows, SaysWhatItTakesAndHowMuchMemory) {
  const Variant* rows =
      find_variant(*built_in_variants(), Op::conv2d_backward_weights, DeviceKind::cuda, "mma_rows");
  if (rows == nullptr) GTEST_SKIP() << "this build has no CUDA";
  OpShape shape{.batch = 512,
                .height = 1,
                .width = 1014,
                .in_channels = 70,
                .out_channels = 256,
                .kernel_height = 1,
                .kernel_width = 7,
                .covered = {Op::one_hot_forward, Op::conv2d_backward_bias},
                .valid = true};
  EXPECT_EQ(rows->refuses(shape), "");
  // Four slices of filters by 33 spans are 132 blocks; the bias is one more row of each.
  EXPECT_EQ(workspace_bytes(*rows, shape, Precision::fp16), std::size_t{4 * 33 * 256 * (7 * 70 + 1)});
  shape.batch = 1;
  shape.width = 70;  // 64 positions, one span
  EXPECT_EQ(workspace_bytes(*rows, shape, Precision::fp16), std::size_t{4 * 256 * (7 * 70 + 1)});
  shape.out_channels = 252;
  EXPECT_EQ(rows->refuses(shape), "takes filters in multiples of 8");
  shape.out_channels = 256;
  shape.kernel_width = 33;
  EXPECT_EQ(rows->refuses(shape), "takes kernels of at most 31 taps");
  shape.kernel_width = 7;
  shape.in_channels = 256;
  EXPECT_EQ(rows->refuses(shape), "a byte tells at most 255 characters apart");
}

TEST(VariantTable, EveryChainIsWellFormed) {
  for (const Variant& variant : *built_in_variants()) {
    if (variant.chain.empty()) continue;
    SCOPED_TRACE(std::string(to_string(variant.op)) + " " + variant.name);
    EXPECT_GT(variant.chain.size(), 1u) << "a chain of its own op only says nothing";
    std::set<Op> listed;
    for (const Link& link : variant.chain) {
      EXPECT_TRUE(listed.insert(link.op).second) << to_string(link.op) << " twice";
      EXPECT_EQ(link.optional && link.op == variant.op, false);
      EXPECT_TRUE(link.optional || !link.without) << to_string(link.op) << " is always there";
      for (const Rename& rename : link.renames) operand_of(link.op, rename.its);  // throws if there is none
      OpSet needed = link.needs | link.excludes;
      for (const Link& other : variant.chain) needed.remove(other.op);
      EXPECT_TRUE(needed.empty()) << "needs or excludes " << describe(needed);
    }
    EXPECT_TRUE(listed.contains(variant.op));
    // Every set of ops must fit on some shape, and formats must be of operands of some call.
    std::set<Name> seen;
    for (const OpSet& covered : coverings(variant)) {
      bool fits = false;
      for (const OpShape& shape : verify::shapes_of(variant.op)) {
        const auto call = verify::fitted(variant, shape, covered);
        if (!call) continue;
        fits = true;
        for (const CallOperand& operand : operands_of(variant, *call)) {
          seen.insert(operand.name);
          EXPECT_GT(operand.elements, 0) << to_string(operand.name);
        }
        break;
      }
      EXPECT_TRUE(fits) << describe(covered);
    }
    for (const PrivateOperand& each : variant.formats) EXPECT_TRUE(seen.contains(each.name));
    for (const Name each : variant.stored) EXPECT_TRUE(seen.contains(each)) << to_string(each);
    for (const Name each : variant.stored_for_others) EXPECT_TRUE(seen.contains(each)) << to_string(each);
  }
}

TEST(VariantTable, WhereTheReferenceRefusesShapesTheOthersDoToo) {
  for (const Variant& variant : *built_in_variants()) {
    const Variant* reference = find_variant(*built_in_variants(), variant.op, DeviceKind::cpu, "reference");
    ASSERT_NE(reference, nullptr) << to_string(variant.op);
    if (!reference->refuses) continue;
    EXPECT_TRUE(variant.refuses) << to_string(variant.op) << " " << variant.name;
  }
}

TEST(VariantTable, ConvolutionsOfEveryKindAreTakenInEveryPrecision) {
  const OpShape shape{.batch = 2,
                      .height = 15,
                      .width = 20,
                      .in_channels = 64,
                      .out_channels = 64,
                      .kernel_height = 5,
                      .kernel_width = 7,
                      .stride = 2,
                      .dilation = 2,
                      .valid = true};
  for (const Op op : {Op::conv2d_forward, Op::conv2d_backward_input, Op::conv2d_backward_weights,
                      Op::conv2d_backward_bias}) {
    std::set<std::pair<DeviceKind, Precision>> all;
    std::set<std::pair<DeviceKind, Precision>> taken;
    for (const Variant& variant : *built_in_variants()) {
      if (variant.op != op || variant.library) continue;
      const bool takes = !variant.refuses || variant.refuses(shape).empty();
      for (const Precision precision : precisions_of(variant)) {
        all.emplace(variant.device, precision);
        if (takes) taken.emplace(variant.device, precision);
      }
    }
    EXPECT_EQ(taken, all) << to_string(op);
  }
}

TEST(VariantTable, EveryFormatGivesBackWhatItHasPacked) {
  std::set<const Format*> formats;
  for (const Variant& variant : *built_in_variants()) {
    for (const PrivateOperand& each : variant.formats) formats.insert(each.format);
  }
  if (formats.empty()) GTEST_SKIP() << "no variant of this build stores anything in a format of its own";
  for (const Format* format : formats) {
    for (const std::size_t elements : {1u, 3u, 4u, 5u, 64u, 1023u}) {
      std::vector<std::byte> plain(elements);
      for (std::size_t i = 0; i < elements; ++i) plain[i] = static_cast<std::byte>(i * 7 / 3 % 4);
      std::vector<std::byte> packed(
          static_cast<std::size_t>(format->elements(static_cast<std::int64_t>(elements))));
      std::vector<std::byte> again(elements);
      format->pack(plain, packed);
      format->unpack(packed, again);
      EXPECT_EQ(again, plain) << format->name << " of " << elements;
    }
  }
}

TEST(OpTests, SayWhatTheProofsOfEveryOpNeed) {
  for (const OpContract& contract : contracts()) {
    SCOPED_TRACE(contract.name);
    const OpTests& tests = ops::tests_of(contract.op);
    ASSERT_NE(tests.shapes, nullptr);
    EXPECT_FALSE(tests.shapes().empty());
    ASSERT_NE(tests.random_shape, nullptr);
    EXPECT_NE(tests.derivative.has_value(), !std::string(tests.no_derivative).empty())
        << "a derivative, or a reason why there is none";
    EXPECT_TRUE(tests.derivative || tests.more_derivatives.empty());
    if (!tests.derivative) continue;
    std::vector<Derivative> derivatives = tests.more_derivatives;
    derivatives.push_back(*tests.derivative);
    for (const Derivative& derivative : derivatives) {
      EXPECT_EQ(operand_of(derivative.forward, derivative.variable).access, Access::read);
      EXPECT_EQ(operand_of(derivative.forward, derivative.output).access, Access::write);
      EXPECT_EQ(operand_of(contract.op, derivative.result).access, Access::write);
      if (derivative.output_gradient) operand_of(contract.op, *derivative.output_gradient);
    }
  }
}

// What a contract does not list gets lost where shapes are written down: in files, benches and names of choices.
TEST(OpTests, TryTheParametersThatTheContractLists) {
  for (const OpContract& contract : contracts()) {
    std::set<Parameter> tried;
    for (const OpShape& call : ops::tests_of(contract.op).shapes()) {
      const OpShape shape = by_itself(call);
      visit_parameters(shape, [&](Parameter parameter, const auto& value, auto standard) {
        if (value != standard) tried.insert(parameter);
      });
    }
    const std::set<Parameter> listed(contract.parameters.begin(), contract.parameters.end());
    for (const Parameter each : tried) {
      EXPECT_TRUE(listed.contains(each)) << contract.name << " does not list " << row_of(each).name;
    }
    for (const Parameter each : listed) {
      EXPECT_TRUE(tried.contains(each)) << "no shape of " << contract.name << " has " << row_of(each).name;
    }
  }
}

TEST(Contract, InPlaceOperandsShareWithAReadOneOfTheSameSize) {
  for (const OpContract& contract : contracts()) {
    for (std::size_t i = 0; i < contract.operands.size(); ++i) {
      const int other = contract.operands[i].in_place_of;
      if (other < 0) continue;
      SCOPED_TRACE(contract.name);
      ASSERT_LT(other, static_cast<int>(contract.operands.size()));
      EXPECT_EQ(contract.operands[i].access, Access::write);
      EXPECT_EQ(contract.operands[static_cast<std::size_t>(other)].access, Access::read);
      for (const OpShape& shape : verify::shapes_of(contract.op)) {
        const auto operands = operands_of(verify::alone(contract.op), shape);
        EXPECT_EQ(bytes_of(operands[i], Precision::bf16),
                  bytes_of(operands[static_cast<std::size_t>(other)], Precision::bf16));
      }
    }
  }
}

TEST(Contract, IsListedInTheOrderOfTheOpsAndReadByName) {
  ASSERT_EQ(contracts().size(), static_cast<std::size_t>(kOpCount));
  for (int i = 0; i < kOpCount; ++i) {
    const OpContract& contract = contracts()[static_cast<std::size_t>(i)];
    EXPECT_EQ(contract.op, static_cast<Op>(i));
    EXPECT_EQ(parse_op(contract.name), contract.op);
  }
}

TEST(Contract, WhatAddsOverRanksHasANameThatPeopleReadAndNothingElseHas) {
  for (const OpContract& contract : contracts()) {
    if (contract.adds_over_ranks) {
      EXPECT_NO_THROW(ranks::collective_of(contract.name)) << contract.name;
    } else {
      EXPECT_THROW(ranks::collective_of(contract.name), core::Error) << contract.name;
    }
  }
}

TEST(Contract, UnknownOpsAreRefusedWithTheValidNames) {
  try {
    parse_op("conv3d.forward");
    FAIL() << "accepted";
  } catch (const core::BadInput& error) {
    EXPECT_NE(std::string(error.what()).find("'conv3d.forward'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("conv2d.forward, linear.forward"), std::string::npos);
  }
}

TEST(Contract, CountsFlopsAndBytesOfTheAutoencodersSecondConvolution) {
  const OpShape shape{.batch = 64,
                      .height = 16,
                      .width = 16,
                      .in_channels = 256,
                      .out_channels = 128,
                      .kernel_height = 3,
                      .kernel_width = 3};
  EXPECT_EQ(contract(Op::conv2d_forward).flops(shape), 2.0 * 64 * 16 * 16 * 256 * 128 * 9);
  EXPECT_EQ(contract(Op::conv2d_forward).terms(shape), 256 * 9);
  EXPECT_EQ(contract(Op::conv2d_backward_input).terms(shape), 128 * 9);
  EXPECT_EQ(contract(Op::conv2d_backward_weights).terms(shape), 64 * 16 * 16);
  EXPECT_EQ(minimum_bytes(verify::alone(Op::conv2d_forward), shape, Precision::fp32),
            4.0 * (64 * 16 * 16 * 256 + 128 * 9 * 256 + 64 * 16 * 16 * 128));
  EXPECT_EQ(describe(Op::conv2d_forward, shape), "64x16x16x256 -> 128, 3x3");
}

TEST(Contract, CountsOutputsOfConvolutionsWithStrideDilationAndWithoutPadding) {
  const auto extent = [](int input, int kernel, int stride, int dilation, bool valid) {
    return output_extent({.stride = stride, .dilation = dilation, .valid = valid}, input, kernel);
  };
  EXPECT_EQ(extent(224, 7, 2, 1, false), 112);
  EXPECT_EQ(extent(7, 3, 2, 1, false), 4) << "rounded up";
  EXPECT_EQ(extent(2, 7, 1, 3, false), 2) << "a kernel larger than the image";
  EXPECT_EQ(extent(1014, 7, 1, 1, true), 1008);
  EXPECT_EQ(extent(10, 3, 2, 2, true), 3);
  EXPECT_EQ(extent(7, 3, 1, 3, true), 1);
  EXPECT_EQ(extent(6, 3, 1, 3, true), 0) << "the kernel does not fit";

  OpShape shape{.batch = 64,
                .height = 32,
                .width = 31,
                .in_channels = 3,
                .out_channels = 256,
                .kernel_height = 3,
                .kernel_width = 5,
                .stride = 2,
                .dilation = 3};
  EXPECT_EQ(describe(Op::conv2d_forward, shape), "64x32x31x3 -> 256, 3x5, stride 2, dilation 3");
  EXPECT_EQ(contract(Op::conv2d_forward).flops(shape), 2.0 * 64 * 16 * 16 * 256 * 3 * 15);
  EXPECT_EQ(contract(Op::conv2d_backward_input).terms(shape), 256 * 2 * 3) << "every other tap";
  shape.valid = true;
  EXPECT_EQ(describe(Op::conv2d_backward_bias, shape), "64x32x31x3 -> 256, 3x5, stride 2, dilation 3, valid");
  EXPECT_EQ(contract(Op::conv2d_backward_weights).terms(shape), 64 * 13 * 10);
  EXPECT_EQ(minimum_bytes(verify::alone(Op::conv2d_forward), shape, Precision::fp32),
            4.0 * (64 * 32 * 31 * 3 + 256 * 15 * 3 + 64 * 13 * 10 * 256));
}

TEST(Contract, PoolingTellsWindowsOtherThan2x2) {
  OpShape shape{
      .batch = 64, .height = 30, .width = 1014, .in_channels = 256, .kernel_height = 2, .kernel_width = 2};
  EXPECT_EQ(describe(Op::maxpool2d_forward, shape), "64x30x1014x256");
  EXPECT_EQ(operand_of(Op::maxpool2d_forward, Name::output).elements(shape), 64 * 15 * 507 * 256);
  shape.kernel_height = 1;
  shape.kernel_width = 3;
  EXPECT_EQ(describe(Op::maxpool2d_backward, shape), "64x30x1014x256, 1x3");
  EXPECT_EQ(operand_of(Op::maxpool2d_backward, Name::argmax).elements(shape), 64 * 30 * 338 * 256);
  EXPECT_EQ(contract(Op::maxpool2d_forward).flops(shape), 2.0 * 64 * 30 * 338 * 256);
}

TEST(Contract, GradientsStayInSinglePrecisionWhereActivationsAreHalf) {
  EXPECT_EQ(element_type(Role::activation, Precision::fp16), core::ElementType::f16);
  EXPECT_EQ(element_type(Role::weight, Precision::bf16), core::ElementType::bf16);
  EXPECT_EQ(element_type(Role::gradient, Precision::fp16), core::ElementType::f32);
  EXPECT_EQ(element_type(Role::activation, Precision::tf32), core::ElementType::f32);
  EXPECT_EQ(element_type(Role::parameter, Precision::fp64), core::ElementType::f64);
}

TEST(Tolerance, GrowsWithTheRootOfTheSumAndWithTheRoundoff) {
  EXPECT_GT(tolerance(Precision::fp32, 400), tolerance(Precision::fp32, 100));
  EXPECT_NEAR(tolerance(Precision::fp32, 100), (4 * 10 + 2) / 16777216.0, 1e-12);
  EXPECT_GT(tolerance(Precision::bf16, 1), tolerance(Precision::fp16, 1));
  EXPECT_LT(tolerance(Precision::fp64, 1 << 20), 1e-12);
}

}  // namespace
}  // namespace warpscope::ops::tables_test
