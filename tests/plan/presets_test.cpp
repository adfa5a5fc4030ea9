#include "gpu/plan/presets.h"

#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/ops/variant.h"

namespace warpscope::plan::presets_test {
namespace {

using core::DeviceKind;
using core::Precision;
using ops::Op;

core::DeviceInfo hopper() {
  core::DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.compute_capability = 90;
  return info;
}

/// A preset's selection names variants that run.
void expect_complete(const Selection& selection, const core::DeviceInfo& device) {
  for (const auto& [op, name] : selection.variants) {
    const ops::Variant* variant = ops::find_variant(*ops::built_in_variants(), op, device.kind, name);
    ASSERT_NE(variant, nullptr) << ops::to_string(op) << "=" << name;
    EXPECT_EQ(ops::unavailable_reason(*variant, device, selection.precision), "")
        << ops::to_string(op) << "=" << name;
  }
}

TEST(Presets, OfTheCpuResolveToTheirVariants) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  const Selection loops = preset_selection("loops", cpu, Precision::fp32);
  EXPECT_FALSE(loops.variants.empty());
  for (const auto& [op, name] : loops.variants) {
    EXPECT_EQ(name, "loops") << ops::to_string(op);
  }
  EXPECT_EQ(preset_selection("onednn", cpu, Precision::fp32).variants.at(Op::conv2d_forward), "onednn_fused");
  EXPECT_EQ(preset_of(loops, cpu), "loops");
}

TEST(Presets, OneThatChangesSeveralOpsWasChosenAsAWhole) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  const Selection loops = preset_selection("loops", cpu, Precision::fp32);
  EXPECT_EQ(chosen_preset({Precision::fp32, {}}, loops, cpu), "loops");
  EXPECT_EQ(chosen_preset(loops, loops, cpu), "");
  EXPECT_EQ(chosen_preset({Precision::bf16, {}}, loops, cpu), "") << "the precision is another choice";
  Selection one = loops;
  one.variants.erase(one.variants.begin());
  EXPECT_EQ(chosen_preset(one, loops, cpu), "") << "one op tells what was chosen by itself";
  EXPECT_EQ(chosen_preset(loops, {Precision::fp32, {}}, cpu), "automatic");
}

TEST(Presets, UnknownOnesAreRefusedWithTheValidNames) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  try {
    preset_selection("warp_speed", cpu, Precision::fp32);
    FAIL() << "accepted";
  } catch (const core::BadInput& error) {
    EXPECT_STREQ(error.what(), "unknown preset 'warp_speed' on cpu; valid: loops, onednn");
  }
}

TEST(Presets, AreReadFromSelectionsAsText) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  Selection selection;
  apply(selection, "preset=loops,relu.forward=onednn", cpu);
  EXPECT_EQ(selection.variants.at(Op::conv2d_forward), "loops");
  EXPECT_EQ(selection.variants.at(Op::relu_forward), "onednn");
  apply(selection, "preset=automatic", cpu);
  EXPECT_TRUE(selection.variants.empty());
}

TEST(Presets, OfCudaSelectOnlyWhatRuns) {
  if (ops::variants_of(*ops::built_in_variants(), Op::conv2d_forward, DeviceKind::cuda).empty())
    GTEST_SKIP() << "this build has no CUDA";
  int run = 0;
  for (const Precision precision : core::selectable_precisions()) {
    for (const Preset& preset : presets(DeviceKind::cuda)) {
      SCOPED_TRACE(std::string(preset.id) + " in " + std::string(core::to_string(precision)));
      const std::string reason = preset_unavailable_reason(preset.id, hopper(), precision);
      if (reason.empty()) {
        ++run;
        expect_complete(preset_selection(preset.id, hopper(), precision), hopper());
      } else {
        EXPECT_THROW(preset_selection(preset.id, hopper(), precision), core::BadInput);
      }
    }
  }
  EXPECT_GE(run, 4) << "one at least in each precision";
}

TEST(Presets, TensorCoresSayInWhichPrecisionsTheyAre) {
  if (ops::variants_of(*ops::built_in_variants(), Op::conv2d_forward, DeviceKind::cuda).empty())
    GTEST_SKIP() << "this build has no CUDA";
  EXPECT_EQ(preset_unavailable_reason("tensor_cores", hopper(), Precision::fp32),
            "its kernels (mma of conv2d.forward) do not run in fp32; in tf32, fp16, bf16");
  const Selection selection = preset_selection("tensor_cores", hopper(), Precision::bf16);
  EXPECT_EQ(selection.variants.at(Op::conv2d_forward), "mma_fused");
  EXPECT_FALSE(selection.variants.contains(Op::conv2d_backward_bias)) << "covered";
}

TEST(Defaults, EveryOpHasOneInEveryPrecisionOnHopper) {
  if (ops::variants_of(*ops::built_in_variants(), Op::conv2d_forward, DeviceKind::cuda).empty())
    GTEST_SKIP() << "this build has no CUDA";
  for (const Precision precision : core::selectable_precisions()) {
    SCOPED_TRACE(core::to_string(precision));
    for (const ops::OpContract& contract : ops::contracts()) {
      EXPECT_NE(automatic_variant(contract.op, hopper(), precision), nullptr) << contract.name;
    }
  }
}

TEST(Defaults, OnTuringAreTensorCoresInFp16) {
  if (ops::variants_of(*ops::built_in_variants(), Op::conv2d_forward, DeviceKind::cuda).empty())
    GTEST_SKIP() << "this build has no CUDA";
  core::DeviceInfo turing = hopper();
  turing.compute_capability = 75;
  core::DeviceInfo ampere = hopper();
  ampere.compute_capability = 80;
  for (const Op op : {Op::conv2d_forward, Op::conv2d_backward_input, Op::conv2d_backward_weights,
                      Op::linear_forward, Op::linear_backward_input, Op::linear_backward_weights}) {
    SCOPED_TRACE(ops::to_string(op));
    EXPECT_EQ(automatic_variant(op, turing, Precision::fp16)->name, "wmma");
    EXPECT_NE(automatic_variant(op, turing, Precision::bf16)->name, "wmma");
    EXPECT_NE(automatic_variant(op, ampere, Precision::fp16)->name, "wmma") << "mma and split_k are faster";
  }
  EXPECT_EQ(preset_unavailable_reason("wmma", turing, Precision::bf16),
            "its kernels (wmma of conv2d.forward) do not run in bf16; in fp16");
}

TEST(Defaults, NoLibraryWhereWeHaveOurOwn) {
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda}) {
    core::DeviceInfo device = hopper();
    device.kind = kind;
    if (kind == DeviceKind::cpu) device.compute_capability = 0;
    for (const ops::OpContract& contract : ops::contracts()) {
      bool own = false;
      for (const ops::Variant* variant : ops::variants_of(*ops::built_in_variants(), contract.op, kind)) {
        own |= !variant->library && ops::unavailable_reason(*variant, device, Precision::fp32).empty();
      }
      const ops::Variant* automatic = automatic_variant(contract.op, device, Precision::fp32);
      if (automatic == nullptr) continue;
      EXPECT_NE(automatic->library, own) << contract.name;
    }
  }
}

TEST(WithPrecision, KeepsWhatRunsAndReplacesWhatDoesNot) {
  if (ops::variants_of(*ops::built_in_variants(), Op::conv2d_forward, DeviceKind::cuda).empty())
    GTEST_SKIP() << "this build has no CUDA";
  const Selection bf16 = preset_selection("tensor_cores", hopper(), Precision::bf16);
  const Selection fp16 = with_precision(bf16, Precision::fp16, hopper());
  EXPECT_EQ(fp16.variants, bf16.variants);
  EXPECT_EQ(fp16.precision, Precision::fp16);
  const Selection fp32 = with_precision(bf16, Precision::fp32, hopper());
  EXPECT_FALSE(fp32.variants.contains(Op::conv2d_forward)) << "mma_fused does not run in fp32";
  expect_complete(fp32, hopper());
}

}  // namespace
}  // namespace warpscope::plan::presets_test
