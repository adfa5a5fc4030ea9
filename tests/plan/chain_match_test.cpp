// Chains of ops that variants cover, matched around one node of a program.

#include "gpu/plan/chain_match.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/chains.h"
#include "tests/plan/cover_support.h"
#include "tests/support/tiny.h"

namespace warpscope::plan::chain_match_test {
namespace {

using ops::Name;
using ops::Op;
using ops::OpSet;
using ops::Variant;

const Variant kEpilogue{.op = Op::conv2d_forward,
                        .name = "epilogue",
                        .chain = ops::bias_and_relu_after(Op::conv2d_forward),
                        .summary = "",
                        .launch = [](const ops::OpCall&) {}};

TEST(ChainMatch, TakesWhatFollowsAndWritesTheLastOutput) {
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  const ChainMatch match = match_chain(program, conv, kEpilogue, {}, {});
  EXPECT_EQ(match.failure, "");
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::relu_forward}));
  EXPECT_EQ(tensor_of(match.operands, Name::input), program.nodes[conv].tensors[0]);
  EXPECT_EQ(tensor_of(match.operands, Name::bias), program.nodes[conv + 1].tensors[1]);
  EXPECT_EQ(tensor_of(match.operands, Name::output), program.nodes[conv + 2].tensors[1]);
  ASSERT_EQ(match.operands.size(), 4u) << "input, weights, bias, output";
  ASSERT_EQ(match.unstored.size(), 2u) << "the product, and the sum with the bias";
}

TEST(ChainMatch, LeavesOutWhatIsNotThere) {
  const Program program = program_of(tests::tiny_model());
  const std::size_t last = index_of(program, Op::conv2d_forward, "conv3");
  const ChainMatch match = match_chain(program, last, kEpilogue, {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward})) << "no ReLU follows the last layer";
  EXPECT_EQ(tensor_of(match.operands, Name::output), program.prediction);
}

TEST(ChainMatch, LeavesOutWhatItIsToldAndWhatNeedsThat) {
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  EXPECT_EQ(match_chain(program, conv, kEpilogue, {Op::relu_forward}, {}).covered, (OpSet{Op::bias_forward}));
  EXPECT_EQ(match_chain(program, conv, kEpilogue, {Op::bias_forward}, {}).covered, OpSet());
}

TEST(ChainMatch, AChosenOpRunsByItself) {
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  Selection selection;
  selection.variants[Op::relu_forward] = "loops";
  const ChainMatch match = match_chain(program, conv, kEpilogue, {}, selection);
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward}));
  EXPECT_EQ(match.note, "relu.forward=loops was chosen and runs by itself");
}

TEST(ChainMatch, ARequiredOpThatIsNotThereFailsWithItsName) {
  Variant variant = kEpilogue;
  variant.chain[2].optional = false;
  const Program program = program_of(tests::tiny_model());
  const std::size_t last = index_of(program, Op::conv2d_forward, "conv3");
  EXPECT_EQ(match_chain(program, last, variant, {}, {}).failure, "there is no relu.forward");
}

TEST(ChainMatch, ARequiredOpThatIsLeftOutFailsWithItsName) {
  Variant variant = kEpilogue;
  variant.chain[1].optional = false;
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  EXPECT_EQ(match_chain(program, conv, variant, {Op::bias_forward}, {}).failure, "without bias.forward");
}

TEST(ChainMatch, GivesUpOptionalOpsUntilTheShapeIsTaken) {
  Variant variant = kEpilogue;
  variant.refuses = [](const ops::OpShape& shape) -> std::string {
    return shape.covered.has(Op::relu_forward) ? "takes no ReLU" : "";
  };
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  const ChainMatch match = match_chain(program, conv, variant, {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward}));
  EXPECT_EQ(match.note, "takes no ReLU");
}

TEST(ChainMatch, GivesUpNoMoreThanTheVariantRefuses) {
  Variant variant = kEpilogue;
  variant.chain.front().renames.push_back({Name::input, Name::upsampled});
  variant.chain.insert(variant.chain.begin(), {.op = Op::upsample2d_forward,
                                               .renames = {{Name::output, Name::upsampled}},
                                               .optional = true,
                                               .without = ops::Rename{Name::upsampled, Name::input}});
  variant.refuses = [](const ops::OpShape& shape) -> std::string {
    return shape.covered.has(Op::upsample2d_forward) ? "takes no upsampled input" : "";
  };
  const Program program = program_of(models::find_model("autoencoder"));
  const ChainMatch match =
      match_chain(program, index_of(program, Op::conv2d_forward, "conv4"), variant, {}, {});
  EXPECT_EQ(match.failure, "");
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::relu_forward}));
  EXPECT_EQ(match.note, "takes no upsampled input");
}

/// kEpilogue and a pooling behind it.
Variant pooling_epilogue(ops::OpShape (*shape)(const ops::OpShape&),
                         bool (*takes)(const ops::OpShape&, ops::OpShape&)) {
  Variant variant = kEpilogue;
  variant.chain[2].renames.push_back({Name::output, Name::activated});
  variant.chain[2].without = ops::Rename{Name::biased, Name::activated};
  variant.chain.push_back({.op = Op::maxpool2d_forward,
                           .renames = {{Name::input, Name::activated}},
                           .optional = true,
                           .without = ops::Rename{Name::activated, Name::output},
                           .shape = shape,
                           .takes = takes});
  return variant;
}

TEST(ChainMatch, LeavesOutAPoolingInOtherWindowsThanItsOwn) {
  const Variant variant = pooling_epilogue(ops::pooling_shape, nullptr);
  Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  EXPECT_EQ(match_chain(program, conv, variant, {}, {}).covered,
            (OpSet{Op::bias_forward, Op::relu_forward, Op::maxpool2d_forward}));
  ops::OpShape& pool = program.nodes[index_of(program, Op::maxpool2d_forward, "pool1")].shape;
  pool.kernel_height = 1;
  pool.kernel_width = 3;
  const ChainMatch match = match_chain(program, conv, variant, {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::relu_forward}));
  EXPECT_EQ(match.note, "maxpool2d.forward has a window of 1x3");
}

TEST(ChainMatch, ALinkThatTakesAnyWindowTellsTheCallWhichItIs) {
  const Variant variant = pooling_epilogue(
      [](const ops::OpShape& call) {
        ops::OpShape shape = ops::result_shape(call);
        shape.kernel_height = call.window_height;
        shape.kernel_width = call.window_width;
        return shape;
      },
      ops::take_window);
  Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  ops::OpShape& pool = program.nodes[index_of(program, Op::maxpool2d_forward, "pool1")].shape;
  pool.kernel_height = 1;
  pool.kernel_width = 3;
  const ChainMatch match = match_chain(program, conv, variant, {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::relu_forward, Op::maxpool2d_forward}));
  EXPECT_EQ(match.note, "");
  EXPECT_EQ(match.shape.window_height, 1);
  EXPECT_EQ(match.shape.window_width, 3);
  EXPECT_EQ(ops::by_itself(match.shape), program.nodes[conv].shape);
  const ChainMatch without = match_chain(program, conv, variant, {Op::maxpool2d_forward}, {});
  EXPECT_EQ(without.shape.window_width, 1) << "no pooling, no window";
}

TEST(ChainMatch, WhatALinkDoesNotTakeIsNotThere) {
  Variant variant = pooling_epilogue(ops::pooling_shape, [](const ops::OpShape& its, ops::OpShape& call) {
    call.window_height = its.kernel_height;
    return its.kernel_height == 1;
  });
  const Program program = program_of(tests::tiny_model());
  const std::size_t conv = index_of(program, Op::conv2d_forward, "conv1");
  const ChainMatch match = match_chain(program, conv, variant, {}, {});
  EXPECT_EQ(match.covered, (OpSet{Op::bias_forward, Op::relu_forward}));
  EXPECT_EQ(match.note, "") << "nobody has to be told";
  EXPECT_EQ(match.shape.window_height, 1) << "what it noted of an op that it does not take is forgotten";
  variant.chain.back().optional = false;
  const ChainMatch required = match_chain(program, conv, variant, {}, {});
  EXPECT_EQ(required.failure, "there is no maxpool2d.forward that it takes");
  EXPECT_TRUE(required.absent);
}

}  // namespace
}  // namespace warpscope::plan::chain_match_test
