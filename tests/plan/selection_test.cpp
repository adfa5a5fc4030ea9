#include "gpu/plan/selection.h"

#include <array>
#include <string>
#include <string_view>

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

TEST_F(CpuSelection, APrecisionThatTheDeviceLacksIsRefusedWithThoseItHas) {
  EXPECT_EQ(training_precisions(device), (std::vector<Precision>{Precision::fp32, Precision::bf16}));
  EXPECT_NO_THROW(check_precision(device, Precision::bf16));
  for (const Precision precision : {Precision::tf32, Precision::fp16, Precision::fp64}) {
    try {
      check_precision(device, precision);
      ADD_FAILURE() << core::to_string(precision);
    } catch (const core::BadInput& error) {
      EXPECT_EQ(error.what(), "training in " + std::string(core::to_string(precision)) +
                                  " is not possible on cpu (" + device.name + "); valid: fp32, bf16");
    }
  }
}

TEST_F(CpuSelection, SetsSingleOps) {
  apply(selection, "conv2d.forward=loops,relu.backward=reference", device);
  EXPECT_EQ(selection.variants[Op::conv2d_forward], "loops");
  EXPECT_EQ(selection.variants[Op::relu_backward], "reference");
  EXPECT_EQ(selection.variants[Op::conv2d_backward_input], "onednn");
}

TEST_F(CpuSelection, AllSetsEveryOpThatHasTheVariant) {
  apply(selection, "all=reference", device);
  for (const auto& [op, name] : selection.variants) {
    EXPECT_EQ(name, ops::is_block(op) ? "parts" : "reference") << ops::to_string(op);
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
            "no operation has a variant 'winograd' on cpu; valid: reference, loops, parts, onednn");
  const std::string unknown = refusal("all=loops,conv3d.forward=loops");
  EXPECT_TRUE(unknown.starts_with(
      "unknown operation 'conv3d.forward'; valid: weights.cast, batch.gather, labels.gather, block.forward"))
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
  EXPECT_TRUE(
      text.starts_with("fp32 weights.cast=loops,batch.gather=loops,labels.gather=loops,block.forward=parts,"
                       "conv2d.forward=loops,"))
      << text;
  const auto space = text.find(' ');
  Selection back;
  back.precision = core::parse_precision(text.substr(0, space));
  apply(back, text.substr(space + 1), device);
  EXPECT_EQ(back, selection);
}

TEST(VariantNames, AreWhatAllTakes) {
  EXPECT_EQ(variant_names(core::DeviceKind::cpu),
            (std::vector<std::string>{"reference", "loops", "parts", "onednn"}));
}

TEST_F(CpuSelection, TheBlockOpsAreBlocksTogetherOrNotAtAll) {
  EXPECT_FALSE(uses_blocks(selection, device.kind));
  choose(selection, Op::block_backward_input, "loops", device);
  EXPECT_TRUE(uses_blocks(selection, device.kind));
  for (const Op op : {Op::block_forward, Op::block_backward_weights, Op::block_backward_input}) {
    EXPECT_EQ(selection.variants[op], "loops");
  }
  choose(selection, Op::block_forward, "reference", device);
  EXPECT_EQ(selection.variants[Op::block_backward_weights], "loops");
  apply(selection, "block.backward_weights=parts", device);
  EXPECT_FALSE(uses_blocks(selection, device.kind));
  EXPECT_EQ(selection.variants[Op::block_forward], "parts");
  EXPECT_EQ(selection.variants[Op::block_backward_input], "parts");
}

constexpr std::array kBlockOps{Op::block_forward, Op::block_backward_weights, Op::block_backward_input};

/// A selection that runs blocks, as the default one on a GPU.
struct BlockSelection : CpuSelection {
  BlockSelection() { choose(selection, Op::block_forward, "loops", device); }

  Selection after(std::string_view text, BlockRule rule = BlockRule::layers_end_blocks) const {
    Selection changed = selection;
    apply(changed, text, device, rule);
    return changed;
  }
  bool blocks_after(std::string_view text, BlockRule rule = BlockRule::layers_end_blocks) const {
    return uses_blocks(after(text, rule), device.kind);
  }
};

TEST_F(BlockSelection, ALayersVariantEndsTheBlocksThatContainIt) {
  int contained = 0;
  for (const ops::OpContract& contract : ops::contracts()) {
    if (ops::is_block(contract.op)) continue;
    contained += blocks_contain(contract.op) ? 1 : 0;
    Selection changed = after(std::string(contract.name) + "=loops");
    EXPECT_EQ(changed.variants[contract.op], "loops");
    for (const Op op : kBlockOps) {
      EXPECT_EQ(changed.variants[op], blocks_contain(contract.op) ? "parts" : "loops") << contract.name;
    }
  }
  EXPECT_EQ(contained, 11)
      << "forward and backward: convolution 4, bias 1, ReLU, pooling and upsampling 2 each";
}

TEST_F(BlockSelection, BlocksThatAreAskedForByNameStay) {
  EXPECT_FALSE(blocks_after("conv2d.forward=loops"));
  EXPECT_TRUE(blocks_after("conv2d.forward=loops,block.forward=reference"));
  EXPECT_TRUE(blocks_after("block.backward_weights=loops,conv2d.forward=loops"));
  EXPECT_FALSE(blocks_after("block.forward=parts,conv2d.forward=loops"));
  EXPECT_FALSE(blocks_after("preset=loops,conv2d.forward=reference"));
  EXPECT_TRUE(blocks_after("linear.forward=reference,optimizer.update=loops"));
}

TEST_F(BlockSelection, WithoutBlocksInTheModelNothingElseChanges) {
  const Selection changed = after("relu.forward=reference", BlockRule::keep_blocks);
  EXPECT_TRUE(uses_blocks(changed, device.kind));
  EXPECT_EQ(describe_change(selection, changed), "relu.forward: onednn -> reference");
}

TEST_F(BlockSelection, TheMarkerSaysThatBlocksEnd) {
  Selection changed = after("conv2d.forward=loops");
  EXPECT_EQ(describe_change(selection, changed),
            "conv2d.forward: onednn -> loops; block.*: loops -> parts, layers run one by one");
  EXPECT_EQ(
      describe_change(changed, selection),
      "block.forward: parts -> loops; conv2d.forward: loops -> onednn; block.backward_weights: parts -> "
      "loops; block.backward_input: parts -> loops");
  choose(selection, Op::block_forward, "reference", device);
  changed = selection;
  choose(changed, Op::block_forward, "parts", device);
  EXPECT_EQ(describe_change(selection, changed), "block.*: reference, loops -> parts, layers run one by one");
}

TEST_F(BlockSelection, ItsTextGivesItAgain) {
  for (const char* text : {"", "conv2d.forward=loops", "block.forward=reference,conv2d.forward=reference",
                           "linear.forward=loops", "all=loops", "block.forward=parts"}) {
    const Selection changed = after(text);
    Selection again = default_selection(device, changed.precision);
    apply(again, selection_text(changed, device), device);
    EXPECT_EQ(again, changed) << text << ": " << selection_text(changed, device);
  }
  EXPECT_EQ(selection_text(default_selection(device, selection.precision), device), "");
}

// The variants of GPUs are in the tables wherever CUDA is built in, with or without a device.
TEST(GpuSelection, ALayersVariantAloneEndsTheDefaultBlocksAndItsTextGivesItAgain) {
  core::DeviceInfo gpu;
  gpu.kind = core::DeviceKind::cuda;
  gpu.compute_capability = 90;
  for (const Precision precision : core::selectable_precisions()) {
    const Selection standard = default_selection(gpu, precision);
    if (!uses_blocks(standard, gpu.kind)) GTEST_SKIP() << "this build has no blocks for GPUs";
    for (const char* text :
         {"conv2d.backward_input=gather", "relu.backward=naive", "upsample2d.forward=naive",
          "preset=fastest,maxpool2d.forward=naive", "preset=tensor_cores"}) {
      Selection changed = standard;
      try {
        apply(changed, text, gpu);
      } catch (const core::BadInput&) {
        continue;  // not in this precision
      }
      EXPECT_FALSE(uses_blocks(changed, gpu.kind)) << text;
      Selection again = standard;
      apply(again, selection_text(changed, gpu), gpu);
      EXPECT_EQ(again, changed) << selection_text(changed, gpu);
      EXPECT_FALSE(uses_blocks(with_precision(changed, Precision::bf16, gpu), gpu.kind)) << text;
    }
    Selection kept = standard;
    apply(kept, "conv2d.forward=naive,block.forward=fused", gpu);
    EXPECT_TRUE(uses_blocks(kept, gpu.kind));
    Selection again = standard;
    apply(again, selection_text(kept, gpu), gpu);
    EXPECT_EQ(again, kept) << selection_text(kept, gpu);
  }
}

}  // namespace
}  // namespace warpscope::plan
