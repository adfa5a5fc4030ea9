// Calls that cover several ops held against the chain that their variant declares: right ones pass, each
// planted fault is found. The variants are made up here of the loops of single ops.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/chains.h"
#include "gpu/ops/op_tests.h"
#include "gpu/verify/op_check.h"
#include "gpu/verify/op_shapes.h"
#include "gpu/verify/verify.h"

namespace warpscope::verify::chain_check_test {
namespace {

using core::Precision;
using ops::Link;
using ops::Name;
using ops::Op;
using ops::OpCall;
using ops::OpSet;
using ops::OpShape;
using ops::Rename;
using ops::Variant;

constexpr OpShape kConv{.batch = 2,
                        .height = 3,
                        .width = 5,
                        .in_channels = 2,
                        .out_channels = 4,
                        .kernel_height = 3,
                        .kernel_width = 3};

/// Runs the loops of one op on operands of `call`, by their names there; `names` are those of the op that
/// differ.
void run_loops(Op op, const OpCall& call, const OpShape& shape, const std::vector<Rename>& names = {}) {
  OpCall own = call;
  own.shape = shape;
  own.shape.covered = {};
  own.operands = {};
  for (const ops::Operand& each : ops::contract(op).operands) {
    Name name = each.name;
    for (const Rename& rename : names) {
      if (rename.its == each.name) name = rename.ours;
    }
    own.operands[each.name] = call.operands[name];
  }
  find_variant(*ops::built_in_variants(), op, core::DeviceKind::cpu, "loops")->launch(own);
}

Variant tested(Op op, std::vector<Link> chain, void (*launch)(const OpCall&)) {
  return {.op = op,
          .name = "tested",
          .precisions = {Precision::fp32},
          .chain = std::move(chain),
          .summary = "",
          .launch = launch};
}

std::string failure_of(const Variant& variant, const OpShape& shape = kConv) {
  return check_variant(variant, core::open_device("cpu"), shape, Precision::fp32, 1).failure;
}

void add_bias_and_cut(const OpCall& call) {
  const OpShape result = ops::result_shape(call.shape);
  if (call.covers(Op::bias_forward)) run_loops(Op::bias_forward, call, result, {{Name::input, Name::output}});
  if (call.covers(Op::relu_forward)) run_loops(Op::relu_forward, call, result, {{Name::input, Name::output}});
}

void convolution(const OpCall& call) {
  run_loops(Op::conv2d_forward, call, call.shape);
  add_bias_and_cut(call);
}

Variant epilogue(void (*launch)(const OpCall&)) {
  return tested(Op::conv2d_forward, ops::bias_and_relu_after(Op::conv2d_forward), launch);
}

TEST(ChainCheck, PassesARightEpilogue) {
  EXPECT_EQ(failure_of(epilogue(convolution)), "");
}

TEST(ChainCheck, CatchesTheBiasOfAnotherChannel) {
  const std::string failure = failure_of(epilogue([](const OpCall& call) {
    run_loops(Op::conv2d_forward, call, call.shape);
    if (!call.covers(Op::bias_forward)) return;
    float* bias = call.operand<float>(Name::bias);
    std::swap(bias[0], bias[1]);
    add_bias_and_cut(call);
    std::swap(bias[0], bias[1]);
  }));
  EXPECT_NE(failure.find("conv2d.forward tested cpu fp32 on 2x3x5x2 -> 4, 3x3; with bias:"),
            std::string::npos)
      << failure;
  EXPECT_NE(failure.find("relative error"), std::string::npos) << failure;
}

TEST(ChainCheck, CatchesAnEpilogueThatDoesNothing) {
  const std::string failure =
      failure_of(epilogue([](const OpCall& call) { run_loops(Op::conv2d_forward, call, call.shape); }));
  EXPECT_NE(failure.find("relative error"), std::string::npos) << failure;
}

TEST(ChainCheck, CatchesAnEpilogueThatCutsThoughItWasNotAskedTo) {
  const std::string failure = failure_of(epilogue([](const OpCall& call) {
    OpCall more = call;
    if (call.covers(Op::bias_forward)) more.shape.covered.add(Op::relu_forward);
    convolution(more);
  }));
  EXPECT_NE(failure.find("; with bias:"), std::string::npos) << failure;
}

TEST(ChainCheck, CatchesAWriteToTheBias) {
  const std::string failure = failure_of(epilogue([](const OpCall& call) {
    convolution(call);
    if (call.covers(Op::relu_forward)) call.operand<float>(Name::bias)[0] = 1;
  }));
  EXPECT_NE(failure.find("changed the operand 'bias'"), std::string::npos) << failure;
}

TEST(ChainCheck, FindsAChainThatSaysAnotherOrderThanTheCodeHas) {
  std::vector<Link> chain{
      {.op = Op::conv2d_forward, .renames = {{Name::output, Name::product}}},
      {.op = Op::relu_forward,
       .renames = {{Name::input, Name::product}, {Name::output, Name::activated}},
       .shape = ops::result_shape},
      {.op = Op::bias_forward, .renames = {{Name::input, Name::activated}}, .shape = ops::result_shape}};
  EXPECT_NE(failure_of(tested(Op::conv2d_forward, chain, convolution)).find("relative error"),
            std::string::npos);
}

OpShape before_upsampling(const OpShape& own) {
  OpShape shape = ops::input_shape(own);
  shape.height /= 2;
  shape.width /= 2;
  return shape;
}

std::int64_t packed_elements(std::int64_t plain) {
  return (plain + 1) / 2;
}
void pack(std::span<const std::byte> plain, std::span<std::byte> packed) {
  for (std::byte& byte : packed) byte = {};
  for (std::size_t i = 0; i < plain.size(); ++i) packed[i / 2] |= plain[i] << (i % 2 * 4);
}
void unpack(std::span<const std::byte> packed, std::span<std::byte> plain) {
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = packed[i / 2] >> (i % 2 * 4) & std::byte{15};
}
void unpack_swapped(std::span<const std::byte> packed, std::span<std::byte> plain) {
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = packed[i / 2] >> (4 - i % 2 * 4) & std::byte{15};
}
constexpr ops::Format kFourBits{"4-bit codes", packed_elements, pack, unpack};
constexpr ops::Format kSwapped{"swapped 4-bit codes", packed_elements, pack, unpack_swapped};

/// Two members before and after the convolution that may be left out, and an argmax in a format of its own.
std::vector<Link> around() {
  return {
      {.op = Op::upsample2d_forward,
       .renames = {{Name::output, Name::upsampled}},
       .optional = true,
       .without = Rename{Name::upsampled, Name::input},
       .shape = before_upsampling},
      {.op = Op::conv2d_forward, .renames = {{Name::input, Name::upsampled}, {Name::output, Name::product}}},
      {.op = Op::maxpool2d_forward,
       .renames = {{Name::input, Name::product}},
       .optional = true,
       .without = Rename{Name::product, Name::output},
       .shape = ops::pooling_shape}};
}

void run_around(const OpCall& call) {
  OpCall own = call;
  std::vector<float> upsampled(static_cast<std::size_t>(call.shape.batch * call.shape.height *
                                                        call.shape.width * call.shape.in_channels));
  if (call.covers(Op::upsample2d_forward)) {
    own.operands[Name::upsampled] = upsampled.data();
    run_loops(Op::upsample2d_forward, own, before_upsampling(call.shape), {{Name::output, Name::upsampled}});
  } else {
    own.operands[Name::upsampled] = call.operands[Name::input];
  }
  const OpShape result = ops::result_shape(call.shape);
  std::vector<float> product(
      static_cast<std::size_t>(result.batch * result.height * result.width * result.in_channels));
  const bool pool = call.covers(Op::maxpool2d_forward);
  own.operands[Name::product] = pool ? product.data() : call.operands[Name::output];
  run_loops(Op::conv2d_forward, own, call.shape,
            {{Name::input, Name::upsampled}, {Name::output, Name::product}});
  if (!pool) return;
  Bytes codes(product.size());
  own.operands[Name::argmax] = codes.data();
  run_loops(Op::maxpool2d_forward, own, ops::pooling_shape(call.shape), {{Name::input, Name::product}});
  const auto pooled =
      static_cast<std::size_t>(result.batch * (result.height / 2) * (result.width / 2) * result.in_channels);
  pack(std::span(codes).first(pooled), std::span(call.operand<std::byte>(Name::argmax), (pooled + 1) / 2));
}

Variant pooled(void (*launch)(const OpCall&), const ops::Format* format = &kFourBits) {
  Variant variant = tested(Op::conv2d_forward, around(), launch);
  variant.formats = {{Name::argmax, format}};
  return variant;
}

TEST(ChainCheck, PassesEverySetOfWhatMayBeLeftOut) {
  const Variant variant = pooled(run_around);
  EXPECT_EQ(failure_of(variant), "");
  EXPECT_EQ(calls_of(variant, {kConv}, {}).size() % 4, 0u);
  const auto upsampled = fitted(variant, kConv, {Op::upsample2d_forward});
  ASSERT_TRUE(upsampled.has_value());
  EXPECT_EQ(upsampled->height, 6) << "twice that of an odd image";
  EXPECT_EQ(fitted(variant, kConv, {Op::maxpool2d_forward})->height, 3);
}

TEST(ChainCheck, CatchesAFormatThatIsNotTheOneWritten) {
  const std::string failure = failure_of(pooled(run_around, &kSwapped));
  EXPECT_NE(failure.find("'argmax' differs from the reference"), std::string::npos) << failure;
}

TEST(ChainCheck, AcceptsAnotherWinnerWhereRoundingMovesValuesAndNoneFartherOff) {
  const auto accepts = ops::tests_of(Op::maxpool2d_forward).accepts;
  const Operands values{
      {Name::input, encode(std::vector{1.0, 1.0 - 1e-9, 0.5, 0.0}, core::ElementType::f64)}};
  const auto accepted = [&](int code) {
    const Bytes codes{static_cast<std::byte>(code)};
    return accepts({.height = 2, .width = 2, .kernel_height = 2, .kernel_width = 2}, values, Name::argmax,
                   codes, 1e-7);
  };
  EXPECT_TRUE(accepted(0));
  EXPECT_TRUE(accepted(1)) << "less than the largest by no more than rounding";
  EXPECT_FALSE(accepted(2));
  EXPECT_FALSE(accepted(7)) << "no code";
}

TEST(ChainCheck, CatchesACodeThatPointsElsewhere) {
  const std::string failure = failure_of(pooled([](const OpCall& call) {
    run_around(call);
    if (call.covers(Op::maxpool2d_forward)) call.operand<std::byte>(Name::argmax)[0] ^= std::byte{1};
  }));
  EXPECT_NE(failure.find("'argmax' differs from the reference at byte 0"), std::string::npos) << failure;
}

Variant layer(void (*launch)(const OpCall&)) {
  std::vector<Link> chain{
      {.op = Op::linear_backward_weights},
      {.op = Op::linear_backward_bias, .optional = true},
      {.op = Op::linear_backward_input,
       .renames = {{Name::input_gradient, Name::unmasked_gradient}},
       .optional = true},
      {.op = Op::relu_backward,
       .renames = {{Name::output, Name::input}, {Name::output_gradient, Name::unmasked_gradient}},
       .optional = true,
       .without = Rename{Name::unmasked_gradient, Name::input_gradient},
       .needs = {Op::linear_backward_input},
       .shape = ops::input_shape}};
  return tested(Op::linear_backward_weights, chain, launch);
}

constexpr OpShape kLayer{.batch = 6, .in_channels = 9, .out_channels = 7};

void layer_backward(const OpCall& call) {
  run_loops(Op::linear_backward_weights, call, call.shape);
  if (call.covers(Op::linear_backward_bias)) run_loops(Op::linear_backward_bias, call, call.shape);
  if (call.covers(Op::linear_backward_input)) run_loops(Op::linear_backward_input, call, call.shape);
}

TEST(ChainCheck, ChecksTheWholeBackwardPassOfALinearLayer) {
  EXPECT_EQ(failure_of(layer([](const OpCall& call) {
                         layer_backward(call);
                         if (!call.covers(Op::relu_backward)) return;
                         run_loops(
                             Op::relu_backward, call, ops::input_shape(call.shape),
                             {{Name::output, Name::input}, {Name::output_gradient, Name::input_gradient}});
                       }),
                       kLayer),
            "");
}

TEST(ChainCheck, CatchesALayerWithoutItsMask) {
  const std::string failure = failure_of(layer(layer_backward), kLayer);
  EXPECT_NE(failure.find("relu.backward: operand 'input_gradient' has a relative error"), std::string::npos)
      << failure;
}

TEST(ChainCheck, CatchesALayerWithoutAGradientThatItCovers) {
  const std::string failure = failure_of(
      layer([](const OpCall& call) { run_loops(Op::linear_backward_weights, call, call.shape); }), kLayer);
  EXPECT_NE(failure.find("has a relative error of inf"), std::string::npos) << failure;
}

TEST(ChainCheck, ChecksTheGradientOfTheLoss) {
  const std::vector<Link> chain{{.op = Op::cross_entropy_forward},
                                {.op = Op::cross_entropy_backward, .optional = true}};
  const OpShape logits{.batch = 5, .in_channels = 9};
  EXPECT_EQ(failure_of(tested(Op::cross_entropy_forward, chain,
                              [](const OpCall& call) {
                                run_loops(Op::cross_entropy_forward, call, call.shape);
                                if (call.covers(Op::cross_entropy_backward)) {
                                  run_loops(Op::cross_entropy_backward, call, call.shape);
                                }
                              }),
                       logits),
            "");
  const std::string failure =
      failure_of(tested(Op::cross_entropy_forward, chain,
                        [](const OpCall& call) { run_loops(Op::cross_entropy_forward, call, call.shape); }),
                 logits);
  EXPECT_NE(failure.find("'gradient' has a relative error"), std::string::npos) << failure;
}

TEST(ChainCheck, ChecksTheLabelsBesideTheImages) {
  const std::vector<Link> chain{{.op = Op::batch_gather}, {.op = Op::labels_gather, .optional = true}};
  const OpShape images{.batch = 5, .height = 3, .width = 2, .in_channels = 3, .count = 11};
  EXPECT_EQ(failure_of(tested(Op::batch_gather, chain,
                              [](const OpCall& call) {
                                run_loops(Op::batch_gather, call, call.shape);
                                if (call.covers(Op::labels_gather)) {
                                  run_loops(Op::labels_gather, call, call.shape);
                                }
                              }),
                       images),
            "");
  const std::string failure =
      failure_of(tested(Op::batch_gather, chain,
                        [](const OpCall& call) { run_loops(Op::batch_gather, call, call.shape); }),
                 images);
  EXPECT_NE(failure.find("'labels' differs from the reference"), std::string::npos) << failure;
}

TEST(ChainTerms, MultiplyWhereSumsAreSummedAndAddWhatComesFromOutside) {
  const Variant forward = tested(Op::conv2d_forward, ops::bias_and_relu_after(Op::conv2d_forward), nullptr);
  OpShape shape = kConv;
  EXPECT_EQ(terms_of(forward, shape), 9 * 2);
  shape.covered = {Op::bias_forward, Op::relu_forward};
  EXPECT_EQ(terms_of(forward, shape), 9 * 2 + 1) << "the bias is one term more";
  const Variant backward = tested(
      Op::conv2d_backward_input,
      {{.op = Op::conv2d_backward_input, .renames = {{Name::input_gradient, Name::upsampled_gradient}}},
       {.op = Op::upsample2d_backward,
        .renames = {{Name::output_gradient, Name::upsampled_gradient}},
        .shape = before_upsampling}},
      nullptr);
  shape.covered = {Op::upsample2d_backward};
  EXPECT_EQ(terms_of(backward, shape), 4 * 9 * 4) << "four sums of nine taps and four channels";
  OpShape layer_shape = kLayer;
  layer_shape.covered = {Op::linear_backward_bias, Op::linear_backward_input, Op::relu_backward};
  EXPECT_EQ(terms_of(layer(nullptr), layer_shape), 7) << "the longer of sums side by side";
}

TEST(VariantText, NamesTheLargestSetOfCoveredOps) {
  VerifyRow row;
  row.variant = "hopper";
  EXPECT_EQ(variant_text(row), "hopper");
  row.covers = describe(OpSet{Op::bias_forward, Op::relu_forward});
  row.sets = 3;
  EXPECT_EQ(variant_text(row), "hopper; with bias, relu (3 sets)");
}

}  // namespace
}  // namespace warpscope::verify::chain_check_test
