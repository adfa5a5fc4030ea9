#include "gpu/plan/selection.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/ops/variant.h"

namespace warpscope::plan::selection_test {
namespace {

using core::Precision;
using ops::Op;

class CpuSelection : public testing::Test {
 protected:
  /// What apply() says to `text`; it must then have changed nothing.
  std::string refusal(const std::string& text) {
    const Selection before = selection;
    try {
      apply(selection, text, device);
    } catch (const core::BadInput& error) {
      EXPECT_EQ(selection, before) << "changed by a text that was refused";
      return error.what();
    }
    return "";
  }

  const core::DeviceInfo device = core::open_device("cpu")->info();
  Selection selection;
};

TEST_F(CpuSelection, ChoosesNothingAtFirst) {
  EXPECT_TRUE(selection.variants.empty());
  for (const ops::OpContract& contract : ops::contracts()) {
    const ops::Variant* automatic = automatic_variant(contract.op, device, Precision::fp32);
    ASSERT_NE(automatic, nullptr) << contract.name;
    EXPECT_EQ(automatic,
              ops::variants_of(*ops::built_in_variants(), contract.op, core::DeviceKind::cpu).back())
        << contract.name;
  }
  EXPECT_EQ(automatic_variant(Op::conv2d_forward, device, Precision::fp16), nullptr);
}

TEST_F(CpuSelection, AChoiceIsTakenBackByName) {
  apply(selection, "conv2d.forward=loops", device);
  EXPECT_EQ(selection.variants.size(), 1u);
  apply(selection, "conv2d.forward=automatic", device);
  EXPECT_TRUE(selection.variants.empty());
}

TEST_F(CpuSelection, APrecisionThatTheDeviceLacksIsRefusedWithThoseItHas) {
  EXPECT_EQ(training_precisions(device), (std::vector<Precision>{Precision::fp32, Precision::bf16}));
  EXPECT_NO_THROW(check_precision(device, Precision::bf16));
  for (const Precision precision : {Precision::tf32, Precision::fp16, Precision::fp64}) {
    try {
      check_precision(device, precision);
      ADD_FAILURE() << core::to_string(precision);
    } catch (const core::BadInput& error) {
      EXPECT_EQ(error.what(), "precision " + std::string(core::to_string(precision)) +
                                  " is not possible on cpu (" + device.name + "); valid: fp32, bf16");
    }
  }
}

TEST_F(CpuSelection, SetsSingleOps) {
  apply(selection, "conv2d.forward=loops,relu.backward=reference", device);
  EXPECT_EQ(selection.variants[Op::conv2d_forward], "loops");
  EXPECT_EQ(selection.variants[Op::relu_backward], "reference");
  EXPECT_FALSE(selection.variants.contains(Op::conv2d_backward_input));
}

TEST_F(CpuSelection, AllSetsEveryOpThatHasTheVariant) {
  apply(selection, "all=reference", device);
  for (const auto& [op, name] : selection.variants) {
    EXPECT_EQ(name, "reference") << ops::to_string(op);
  }
  apply(selection, "all=onednn", device);
  EXPECT_EQ(selection.variants[Op::conv2d_forward], "onednn");
  EXPECT_EQ(selection.variants[Op::batch_gather], "reference") << "has no variant onednn";
}

TEST_F(CpuSelection, LaterItemsWin) {
  apply(selection, "all=reference,conv2d.forward=loops", device);
  EXPECT_EQ(selection.variants[Op::conv2d_forward], "loops");
  EXPECT_EQ(selection.variants[Op::bias_forward], "reference");
  apply(selection, "conv2d.forward=loops,all=reference", device);
  EXPECT_EQ(selection.variants[Op::conv2d_forward], "reference");
}

TEST_F(CpuSelection, WhatIsNamedTwiceIsRefused) {
  EXPECT_EQ(refusal("conv2d.forward=reference,relu.forward=loops,conv2d.forward=loops"),
            "the selection names conv2d.forward twice, as reference and as loops; give it once");
  EXPECT_EQ(refusal("all=loops,all=loops"),
            "the selection names all twice, as loops and as loops; give it once");
}

TEST_F(CpuSelection, EmptyItemsChangeNothing) {
  const Selection before = selection;
  apply(selection, "", device);
  apply(selection, ",,", device);
  EXPECT_EQ(selection, before);
}

TEST_F(CpuSelection, UnknownNamesListTheValidOnesAndChangeNothing) {
  std::vector<std::string> names;
  for (const ops::Variant* each :
       ops::variants_of(*ops::built_in_variants(), Op::conv2d_forward, device.kind))
    names.push_back(each->name);
  EXPECT_EQ(
      refusal("all=loops,conv2d.forward=winograd"),
      fmt::format("conv2d.forward has no variant 'winograd' on cpu; valid: {}", fmt::join(names, ", ")));
  EXPECT_EQ(refusal("all=winograd"), fmt::format("no operation has a variant 'winograd' on cpu; valid: {}",
                                                 fmt::join(variant_names(device), ", ")));
  const std::string unknown = refusal("all=loops,conv3d.forward=loops");
  EXPECT_TRUE(
      unknown.starts_with("unknown operation 'conv3d.forward'; valid: weights.cast, batch.gather, "
                          "batch.augment, labels.gather, one_hot.forward"))
      << unknown;
  EXPECT_EQ(refusal("all=loops,conv2d.forward"),
            "selection 'conv2d.forward' is not of the form operation=variant, all=variant or preset=name");
  EXPECT_NE(refusal("=loops"), "");
  EXPECT_NE(refusal("conv2d.forward="), "");
}

TEST_F(CpuSelection, DescribesWhatChanged) {
  Selection changed = selection;
  EXPECT_EQ(describe_change(selection, changed, device), "");
  apply(changed, "conv2d.forward=loops,relu.forward=reference", device);
  EXPECT_EQ(describe_change(selection, changed, device),
            "conv2d.forward: onednn_fused -> loops; relu.forward: onednn -> reference");
  changed = selection;
  changed.precision = Precision::bf16;
  EXPECT_EQ(describe_change(selection, changed, device), "fp32 -> bf16");
  EXPECT_EQ(describe_change(changed, selection, device), "bf16 -> fp32");
}

TEST_F(CpuSelection, DescribesAChoiceOfWhatWasAutomatic) {
  Selection chosen = selection;
  apply(chosen, "mse.forward=loops", device);
  EXPECT_EQ(describe_change(selection, chosen, device), "mse.forward: automatic -> loops");
  EXPECT_EQ(describe_change(chosen, selection, device), "mse.forward: loops -> automatic");
}

TEST_F(CpuSelection, GoesThroughTextAndBack) {
  apply(selection, "all=loops,conv2d.backward_weights=reference,relu.forward=onednn", device);
  const std::string text = to_string(selection);
  EXPECT_TRUE(text.starts_with(
      "fp32 "
      "weights.cast=loops,batch.gather=loops,batch.augment=loops,labels.gather=loops,one_hot.forward=loops,"))
      << text;
  const auto space = text.find(' ');
  Selection back;
  back.precision = core::parse_precision(text.substr(0, space));
  apply(back, text.substr(space + 1), device);
  EXPECT_EQ(back, selection);
}

TEST_F(CpuSelection, AllTakesEachNameOfTheTable) {
  const std::vector<std::string> names = variant_names(device);
  for (const ops::Variant& variant : *ops::built_in_variants()) {
    const auto times = std::count(names.begin(), names.end(), variant.name);
    if (variant.device == device.kind) {
      EXPECT_EQ(times, 1) << variant.name;
    }
  }
  for (const std::string& name : names) EXPECT_EQ(refusal("all=" + name), "");
}

}  // namespace
}  // namespace warpscope::plan::selection_test
