// What a cover must not do, on programs and variants made for it: hide what others read, run what is not ready,
// mix formats, fall back without a reason.

#include <list>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/ops/chains.h"
#include "gpu/plan/cover.h"
#include "tests/plan/cover_support.h"

namespace warpscope::plan::cover_rules_test {
namespace {

using ops::Name;
using ops::Op;
using ops::OpSet;
using ops::Variant;

/// "plain" for every op, and `better` after these.
std::vector<Variant> table_with(std::vector<Variant> better) {
  std::vector<Variant> table;
  for (const ops::OpContract& contract : ops::contracts()) {
    table.push_back({.op = contract.op, .name = "plain", .summary = ""});
  }
  table.insert(table.end(), better.begin(), better.end());
  for (Variant& each : table) each.precisions = {core::Precision::fp32};
  return table;
}

/// A program made node by node. Sizes do not matter.
struct Made {
  Program program;
  std::list<std::vector<Variant>> tables;

  int tensor(const std::string& name, Storage storage = Storage::planned) {
    program.tensors.push_back({name, storage, ops::Role::activation, 1});
    return static_cast<int>(program.tensors.size()) - 1;
  }
  void keep(int tensor) { program.tensors[static_cast<std::size_t>(tensor)].kept = true; }
  std::size_t node(Op op, std::vector<int> tensors) {
    program.nodes.push_back({op, "", ops::OpShape{}, std::move(tensors)});
    return program.nodes.size() - 1;
  }
  /// Covers point to the variants of their table, which stays as long as this.
  std::vector<NodeCover> covered_by(std::vector<Variant> table) {
    tables.push_back(std::move(table));
    std::vector<NodeCover> nodes = plan::cover(program, {}, {core::DeviceInfo{}, tables.back()});
    expect_all_written(program, nodes);
    return nodes;
  }
};

/// conv2d.forward, with the upsampling before it.
Variant upsampling_conv() {
  return {.op = Op::conv2d_forward,
          .name = "upsampling",
          .chain = {{.op = Op::upsample2d_forward,
                     .renames = {{Name::output, Name::upsampled}},
                     .optional = true,
                     .without = ops::Rename{Name::upsampled, Name::input}},
                    {.op = Op::conv2d_forward, .renames = {{Name::input, Name::upsampled}}}},
          .summary = ""};
}

/// upsample2d.forward, with the bias behind it.
Variant upsample_and_bias() {
  return {.op = Op::upsample2d_forward,
          .name = "with_bias",
          .chain = {{.op = Op::upsample2d_forward, .renames = {{Name::output, Name::upsampled}}},
                    {.op = Op::bias_forward,
                     .renames = {{Name::input, Name::upsampled}},
                     .optional = true,
                     .without = ops::Rename{Name::upsampled, Name::output}}},
          .summary = ""};
}

Variant epilogue() {
  return {.op = Op::conv2d_forward,
          .name = "epilogue",
          .chain = ops::bias_and_relu_after(Op::conv2d_forward),
          .summary = ""};
}

class CoverRules : public testing::Test {
 protected:
  CoverRules()
      : x(made.tensor("x", Storage::parameters)),
        weights(made.tensor("weights", Storage::parameters)),
        bias(made.tensor("bias", Storage::parameters)),
        upsampled(made.tensor("upsampled")),
        product(made.tensor("product")) {}

  Made made;
  int x;
  int weights;
  int bias;
  int upsampled;
  int product;
};

TEST_F(CoverRules, WhatIsComputedAgainIsLaunchedForWhatItsOwnCallCoversAndIsShown) {
  const int biased = made.tensor("biased");
  made.keep(biased);
  const std::size_t upsample = made.node(Op::upsample2d_forward, {x, upsampled});
  made.node(Op::bias_forward, {upsampled, bias, biased});
  made.node(Op::conv2d_forward, {upsampled, weights, product});
  const auto nodes = made.covered_by(table_with({upsample_and_bias(), upsampling_conv()}));
  EXPECT_EQ(describe(nodes[upsample]), "with_bias, with bias");
}

TEST_F(CoverRules, WhatIsComputedAgainIsLaunchedForWhatItsOwnCallDoesNotStore) {
  const int biased = made.tensor("biased");
  const int rectified = made.tensor("rectified");
  const std::size_t upsample = made.node(Op::upsample2d_forward, {x, upsampled});
  made.node(Op::bias_forward, {upsampled, bias, biased});
  made.node(Op::conv2d_forward, {upsampled, weights, product});
  made.node(Op::relu_forward, {upsampled, rectified});
  const auto nodes = made.covered_by(table_with({upsample_and_bias(), upsampling_conv()}));
  ASSERT_NE(nodes[upsample].variant, nullptr);
  EXPECT_TRUE(nodes[upsample].shape.covered.empty()) << "others read what is between the two";
  EXPECT_EQ(nodes[upsample].reason, "relu.forward reads upsampled");
}

TEST_F(CoverRules, WhatIsComputedAgainAndShownIsLaunchedToo) {
  made.keep(upsampled);
  const std::size_t upsample = made.node(Op::upsample2d_forward, {x, upsampled});
  const std::size_t conv = made.node(Op::conv2d_forward, {upsampled, weights, product});
  const auto nodes = made.covered_by(table_with({upsampling_conv()}));
  EXPECT_EQ(describe(nodes[conv]), "upsampling, with upsample2d");
  EXPECT_NE(nodes[upsample].variant, nullptr);
}

TEST_F(CoverRules, AnOmittedOutputThatIsReadIsWrittenByAnother) {
  const Variant omitting{.op = Op::maxpool2d_forward,
                         .name = "omitting",
                         .chain = {{.op = Op::maxpool2d_forward}},
                         .omitted = {Name::argmax},
                         .summary = ""};
  const int pooled = made.tensor("pooled"), places = made.tensor("places");
  const std::size_t own = made.node(Op::maxpool2d_forward, {x, pooled, places});
  EXPECT_EQ(made.covered_by(table_with({omitting}))[own].variant->name, "omitting");
  made.node(Op::maxpool2d_backward, {x, places, made.tensor("gradient")});
  EXPECT_EQ(made.covered_by(table_with({omitting}))[own].variant->name, "plain");
}

TEST_F(CoverRules, AnOpWhoseInputComesLaterRunsByItself) {
  const int late = made.tensor("late");
  const int biased = made.tensor("biased");
  const std::size_t conv = made.node(Op::conv2d_forward, {x, weights, product});
  made.node(Op::relu_forward, {bias, late});
  const std::size_t add = made.node(Op::bias_forward, {product, late, biased});
  const auto nodes = made.covered_by(table_with({epilogue()}));
  EXPECT_TRUE(nodes[conv].shape.covered.empty());
  EXPECT_NE(nodes[add].variant, nullptr);
}

TEST_F(CoverRules, OfTwoActivationsThatExcludeEachOtherTheFirstIsCovered) {
  const Variant activating{.op = Op::conv2d_forward,
                           .name = "activating",
                           .chain = ops::bias_and_activation_after(Op::conv2d_forward),
                           .stored_for_others = {Name::unactivated},
                           .summary = ""};
  const int biased = made.tensor("biased"), rectified = made.tensor("rectified");
  const std::size_t conv = made.node(Op::conv2d_forward, {x, weights, product});
  made.node(Op::bias_forward, {product, bias, biased});
  made.node(Op::relu_forward, {biased, rectified});
  const std::size_t gelu = made.node(Op::gelu_forward, {rectified, made.tensor("activated")});
  const auto nodes = made.covered_by(table_with({activating}));
  EXPECT_EQ(describe(nodes[conv]), "activating, with bias, relu");
  EXPECT_EQ(tensor_of(nodes[conv].operands, Name::output), rectified);
  EXPECT_NE(nodes[gelu].variant, nullptr);
}

TEST_F(CoverRules, AnOpOfTheUpdateIsCoveredByNoneOfAMicroBatch) {
  const int biased = made.tensor("biased");
  const std::size_t conv = made.node(Op::conv2d_forward, {x, weights, product});
  made.node(Op::bias_forward, {product, bias, biased});
  EXPECT_FALSE(made.covered_by(table_with({epilogue()}))[conv].shape.covered.empty());
  made.program.update = 1;
  EXPECT_TRUE(made.covered_by(table_with({epilogue()}))[conv].shape.covered.empty());
}

std::int64_t half(std::int64_t plain) {
  return (plain + 1) / 2;
}
constexpr ops::Format kHalves{"halves", half, nullptr, nullptr};

std::vector<Variant> pooling_in_halves() {
  return table_with(
      {{.op = Op::maxpool2d_forward, .name = "halves", .formats = {{Name::argmax, &kHalves}}, .summary = ""},
       {.op = Op::maxpool2d_backward,
        .name = "halves",
        .formats = {{Name::argmax, &kHalves}},
        .summary = ""}});
}

std::vector<NodeCover> autoencoder_by(const std::vector<Variant>& table, const Selection& selection) {
  const Program program = program_of(models::find_model("autoencoder"));
  std::vector<NodeCover> nodes = plan::cover(program, selection, {core::DeviceInfo{}, table});
  expect_consistent(program, nodes);
  return nodes;
}

TEST(CoverFormats, OfOpsByThemselvesAreWrittenAndReadAlike) {
  const auto table = pooling_in_halves();
  const Program program = program_of(models::find_model("autoencoder"));
  const std::size_t forward = index_of(program, Op::maxpool2d_forward, "pool1");
  const std::size_t backward = index_of(program, Op::maxpool2d_backward, "pool1");
  const auto both = autoencoder_by(table, {});
  EXPECT_EQ(both[forward].variant->name, "halves");
  EXPECT_EQ(both[backward].variant->name, "halves");

  Selection selection;
  selection.variants[Op::maxpool2d_backward] = "plain";
  const auto plain_reader = autoencoder_by(table, selection);
  EXPECT_EQ(plain_reader[forward].variant->name, "plain");
  EXPECT_EQ(plain_reader[forward].reason,
            "not halves: maxpool2d.backward in pool1 reads pool1.argmax, not as halves");

  selection.variants = {{Op::maxpool2d_forward, "plain"}};
  const auto plain_writer = autoencoder_by(table, selection);
  EXPECT_EQ(plain_writer[backward].variant->name, "plain");
  EXPECT_EQ(plain_writer[backward].reason, "not halves: argmax is not stored as halves");
}

TEST(CoverFormats, WhatIsShownIsStoredAsTheContractSays) {
  Program program = program_of(models::find_model("autoencoder"));
  const std::size_t forward = index_of(program, Op::maxpool2d_forward, "pool1");
  program.tensors[static_cast<std::size_t>(program.nodes[forward].tensors[2])].kept = true;
  const std::vector<Variant> table = pooling_in_halves();
  const auto nodes = plan::cover(program, {}, {core::DeviceInfo{}, table});
  expect_consistent(program, nodes);
  EXPECT_EQ(nodes[forward].reason, "not halves: what is shown must not be stored as halves");
}

TEST(CoverReasons, SayWhyTheBestRefusesTheShape) {
  Variant picky{.op = Op::relu_forward, .name = "picky", .summary = ""};
  picky.refuses = [](const ops::OpShape& shape) -> std::string {
    return shape.height == 32 ? "takes smaller images" : "";
  };
  const Program program = program_of(models::find_model("autoencoder"));
  const auto table = table_with({picky});
  const auto nodes = autoencoder_by(table, {});
  const std::size_t first = index_of(program, Op::relu_forward, "relu1");
  EXPECT_EQ(nodes[first].variant->name, "plain");
  EXPECT_EQ(nodes[first].reason, "not picky: takes smaller images");
  EXPECT_EQ(nodes[index_of(program, Op::relu_forward, "relu2")].reason, "");
}

TEST(CoverReasons, NobodyIsToldThatASpecialOneRefuses) {
  Variant special{.op = Op::relu_forward, .name = "made_for_some", .special = true, .summary = ""};
  special.refuses = [](const ops::OpShape& shape) -> std::string {
    return shape.height == 32 ? "takes smaller images" : "";
  };
  const Program program = program_of(models::find_model("autoencoder"));
  const auto table = table_with({special});
  const auto nodes = autoencoder_by(table, {});
  const NodeCover& refused = nodes[index_of(program, Op::relu_forward, "relu1")];
  EXPECT_EQ(refused.variant->name, "plain");
  EXPECT_EQ(refused.reason, "");
  EXPECT_EQ(nodes[index_of(program, Op::relu_forward, "relu2")].variant->name, "made_for_some");
  const Variant* const automatic =
      automatic_variant(Op::relu_forward, {core::DeviceInfo{}, table}, core::Precision::fp32);
  ASSERT_NE(automatic, nullptr);
  EXPECT_EQ(automatic->name, "plain") << "where no shape is known";
}

TEST(CoverReasons, NobodyIsToldThatASpecialOneYieldsToACallThatCoversMore) {
  Variant special{.op = Op::conv2d_forward, .name = "made_for_some", .special = true, .summary = ""};
  special.yields_to = [](const ops::OpShape& shape) {
    return shape.in_channels == 3 ? ops::OpSet{Op::relu_forward} : ops::OpSet{};
  };
  const Program program = program_of(models::find_model("autoencoder"));
  const auto table = table_with({epilogue(), special});
  const auto nodes = autoencoder_by(table, {});
  const NodeCover& yielded = nodes[index_of(program, Op::conv2d_forward, "conv1")];
  EXPECT_EQ(yielded.variant->name, "epilogue");
  EXPECT_EQ(yielded.reason, "");
  EXPECT_EQ(nodes[index_of(program, Op::conv2d_forward, "conv2")].variant->name, "made_for_some")
      << "of a shape that it keeps";
  EXPECT_EQ(nodes[index_of(program, Op::conv2d_forward, "conv5")].variant->name, "made_for_some")
      << "no ReLU";
}

TEST(CoverReasons, SayBothWhyNotTheChosenAndWhyLessIsCovered) {
  Variant whole = epilogue();
  whole.name = "whole";
  whole.chain[2].optional = false;
  const auto table = table_with({whole, epilogue()});
  Selection selection;
  selection.variants = {{Op::conv2d_forward, "whole"}, {Op::bias_forward, "plain"}};
  const Program program = program_of(models::find_model("autoencoder"));
  const auto nodes = autoencoder_by(table, selection);
  EXPECT_EQ(nodes[index_of(program, Op::conv2d_forward, "conv5")].reason,
            "not whole: there is no relu.forward; bias.forward=plain was chosen and runs by itself");
  EXPECT_EQ(nodes[index_of(program, Op::conv2d_forward, "conv1")].variant->name, "epilogue");
}

TEST(CoverReasons, OfARefusalAreThoseOfTheBest) {
  auto table = table_with({});
  const auto never = [](const ops::OpShape&) -> std::string { return "never"; };
  for (Variant& each : table) {
    if (each.op == Op::relu_forward) each.refuses = never;
  }
  Variant best{.op = Op::relu_forward, .name = "best", .precisions = {core::Precision::fp32}, .summary = ""};
  best.refuses = [](const ops::OpShape&) -> std::string { return "not today"; };
  table.push_back(best);
  try {
    autoencoder_by(table, {});
    FAIL() << "accepted";
  } catch (const core::BadInput& error) {
    EXPECT_NE(std::string(error.what()).find("relu.forward=best cannot run in relu1: not today;"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace warpscope::plan::cover_rules_test
