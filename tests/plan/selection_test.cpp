#include "gpu/plan/selection.h"

#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/ops/variant.h"

namespace warpscope::plan {
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
  Selection selection = default_selection(device, Precision::fp32);
};

TEST_F(CpuSelection, DefaultsToTheLastVariantOfEachOp) {
  for (const ops::OpContract& contract : ops::contracts()) {
    ASSERT_TRUE(selection.variants.contains(contract.op)) << contract.name;
    EXPECT_EQ(selection.variants[contract.op],
              ops::variants_of(contract.op, core::DeviceKind::cpu).back()->name);
  }
  EXPECT_EQ(selection.variants[Op::conv2d_forward], "onednn");
}

TEST_F(CpuSelection, LeavesOutOpsThatHaveNoVariantInThePrecision) {
  const Selection fp16 = default_selection(device, Precision::fp16);
  EXPECT_EQ(fp16.precision, Precision::fp16);
  EXPECT_TRUE(fp16.variants.empty());
}

TEST_F(CpuSelection, SetsSingleOps) {
  apply(selection, "conv2d.forward=loops,relu.backward=reference", device);
  EXPECT_EQ(selection.variants[Op::conv2d_forward], "loops");
  EXPECT_EQ(selection.variants[Op::relu_backward], "reference");
  EXPECT_EQ(selection.variants[Op::conv2d_backward_input], "onednn");
}

TEST_F(CpuSelection, AllSetsEveryOpThatHasTheVariant) {
  apply(selection, "all=reference", device);
  for (const auto& [op, name] : selection.variants) EXPECT_EQ(name, "reference") << ops::to_string(op);
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
  apply(selection, "conv2d.forward=reference,conv2d.forward=loops", device);
  EXPECT_EQ(selection.variants[Op::conv2d_forward], "loops");
}

TEST_F(CpuSelection, EmptyItemsChangeNothing) {
  const Selection before = selection;
  apply(selection, "", device);
  apply(selection, ",,", device);
  EXPECT_EQ(selection, before);
}

TEST_F(CpuSelection, UnknownNamesListTheValidOnesAndChangeNothing) {
  EXPECT_EQ(refusal("all=loops,conv2d.forward=winograd"),
            "conv2d.forward has no variant 'winograd' on cpu; valid: reference, loops, onednn");
  EXPECT_EQ(refusal("all=winograd"),
            "no operation has a variant 'winograd' on cpu; valid: reference, loops, onednn");
  const std::string unknown = refusal("all=loops,conv3d.forward=loops");
  EXPECT_TRUE(unknown.starts_with(
      "unknown operation 'conv3d.forward'; valid: weights.cast, batch.gather, labels.gather, conv2d.forward"))
      << unknown;
  EXPECT_EQ(refusal("all=loops,conv2d.forward"),
            "selection 'conv2d.forward' is not of the form operation=variant, all=variant or preset=name");
  EXPECT_NE(refusal("=loops"), "");
  EXPECT_NE(refusal("conv2d.forward="), "");
}

TEST_F(CpuSelection, DescribesWhatChanged) {
  Selection changed = selection;
  EXPECT_EQ(describe_change(selection, changed), "");
  apply(changed, "conv2d.forward=loops,relu.forward=reference", device);
  EXPECT_EQ(describe_change(selection, changed),
            "conv2d.forward: onednn -> loops; relu.forward: onednn -> reference");
  changed = selection;
  changed.precision = Precision::bf16;
  EXPECT_EQ(describe_change(selection, changed), "fp32 -> bf16");
  EXPECT_EQ(describe_change(changed, selection), "bf16 -> fp32");
}

TEST_F(CpuSelection, DescribesOpsThatComeAndGo) {
  Selection without = selection;
  without.variants.erase(Op::mse_forward);
  EXPECT_EQ(describe_change(without, selection), "mse.forward: none -> loops");
  EXPECT_EQ(describe_change(selection, without), "mse.forward: loops -> none");
}

TEST_F(CpuSelection, GoesThroughTextAndBack) {
  apply(selection, "all=loops,conv2d.backward_weights=reference,relu.forward=onednn", device);
  const std::string text = to_string(selection);
  EXPECT_TRUE(text.starts_with(
      "fp32 weights.cast=loops,batch.gather=loops,labels.gather=loops,conv2d.forward=loops,"))
      << text;
  const auto space = text.find(' ');
  Selection back;
  back.precision = core::parse_precision(text.substr(0, space));
  apply(back, text.substr(space + 1), device);
  EXPECT_EQ(back, selection);
}

TEST(VariantNames, AreWhatAllTakes) {
  EXPECT_EQ(variant_names(core::DeviceKind::cpu), (std::vector<std::string>{"reference", "loops", "onednn"}));
}

}  // namespace
}  // namespace warpscope::plan
