// Fused calls held against chains of references: right ones pass, each planted fault is found.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/verify/op_check.h"

namespace warpscope::verify {
namespace {

using core::Precision;
using ops::Op;
using ops::OpCall;
using ops::OpShape;
using ops::Variant;

constexpr OpShape kShape{.batch = 2,
                         .height = 3,
                         .width = 5,
                         .in_channels = 2,
                         .out_channels = 4,
                         .kernel_height = 3,
                         .kernel_width = 3};
constexpr std::int64_t kOutputs = 2 * 3 * 5 * 4;
constexpr std::size_t kBias = 3;  // the operand after the op's own

void run_loops(Op op, const OpCall& call) {
  OpCall own = call;
  own.absorbed = 0;
  own.operands = call.operands.first(3);
  find_variant(op, core::DeviceKind::cpu, "loops")->launch(own);
}

void add_bias_and_cut(const OpCall& call, std::int64_t shift) {
  float* y = call.operand<float>(ops::conv2d::kForwardOutput);
  for (std::int64_t i = 0; i < kOutputs; ++i) {
    if (call.absorbed > 0) y[i] += static_cast<const float*>(call.operands[kBias])[(i + shift) % 4];
    if (call.absorbed > 1 && y[i] < 0) y[i] = 0;
  }
}

void right(const OpCall& call) {
  run_loops(Op::conv2d_forward, call);
  add_bias_and_cut(call, 0);
}

std::string check_forward(void (*launch)(const OpCall&)) {
  const Variant variant{.op = Op::conv2d_forward,
                        .name = "tested",
                        .precisions = {Precision::fp32},
                        .fuses = {Op::bias_forward, Op::relu_forward},
                        .summary = "",
                        .launch = launch};
  return check_variant(variant, core::open_device("cpu"), kShape, Precision::fp32, 1).failure;
}

TEST(FusedCheck, PassesARightEpilogue) {
  EXPECT_EQ(check_forward(right), "");
}

TEST(FusedCheck, CatchesTheBiasOfAnotherChannel) {
  const std::string failure = check_forward([](const OpCall& call) {
    run_loops(Op::conv2d_forward, call);
    add_bias_and_cut(call, 1);
  });
  EXPECT_NE(failure.find("conv2d.forward tested + bias.forward cpu fp32"), std::string::npos) << failure;
  EXPECT_NE(failure.find("relative error"), std::string::npos) << failure;
}

TEST(FusedCheck, CatchesAnEpilogueThatDoesNothing) {
  const std::string failure = check_forward([](const OpCall& call) { run_loops(Op::conv2d_forward, call); });
  EXPECT_NE(failure.find("relative error"), std::string::npos) << failure;
}

TEST(FusedCheck, CatchesAnEpilogueThatCutsThoughItWasNotAskedTo) {
  const std::string failure = check_forward([](const OpCall& call) {
    OpCall more = call;
    more.absorbed = call.absorbed > 0 ? 2 : 0;
    run_loops(Op::conv2d_forward, call);
    add_bias_and_cut(more, 0);
  });
  EXPECT_NE(failure.find("+ bias.forward cpu"), std::string::npos) << failure;
  EXPECT_EQ(failure.find("relu"), std::string::npos) << failure;
}

TEST(FusedCheck, CatchesAWriteToTheBias) {
  const std::string failure = check_forward([](const OpCall& call) {
    right(call);
    if (call.absorbed == 2) static_cast<float*>(call.operands[kBias])[0] = 1;
  });
  EXPECT_NE(failure.find("changed the operand 'bias'"), std::string::npos) << failure;
}

TEST(FusedCheck, ChecksTheBiasGradientOfTheWeightsGradient) {
  Variant variant{.op = Op::conv2d_backward_weights,
                  .name = "tested",
                  .precisions = {Precision::fp32},
                  .fuses = {Op::conv2d_backward_bias},
                  .fuses_on_request = true,
                  .summary = "",
                  .launch = [](const OpCall& call) {
                    run_loops(Op::conv2d_backward_weights, call);
                    if (call.absorbed == 0) return;
                    const auto* dy = call.operand<const float>(ops::conv2d::kWeightsOutputGradient);
                    auto* db = static_cast<float*>(call.operands[kBias]);
                    for (int k = 0; k < 4; ++k) {
                      db[k] = 0;
                      for (std::int64_t i = k; i < kOutputs; i += 4) db[k] += dy[i];
                    }
                  }};
  const auto cpu = core::open_device("cpu");
  EXPECT_EQ(check_variant(variant, cpu, kShape, Precision::fp32, 1).failure, "");
  variant.launch = [](const OpCall& call) { run_loops(Op::conv2d_backward_weights, call); };
  const std::string failure = check_variant(variant, cpu, kShape, Precision::fp32, 1).failure;
  EXPECT_NE(failure.find("'bias_gradient' has a relative error of inf"), std::string::npos) << failure;
}

/// The operands of an absorbed op that a fused call has: `places` in its list.
void run_absorbed(Op op, const OpCall& call, std::initializer_list<std::size_t> places) {
  std::vector<void*> operands;
  for (const std::size_t place : places) operands.push_back(call.operands[place]);
  OpCall own = call;
  own.absorbed = 0;
  own.operands = operands;
  if (op == Op::relu_backward) own.shape = {.batch = call.shape.batch, .in_channels = call.shape.in_channels};
  find_variant(op, core::DeviceKind::cpu, "loops")->launch(own);
}

constexpr OpShape kLayer{.batch = 6, .in_channels = 9, .out_channels = 7};

void layer_backward(const OpCall& call) {
  run_absorbed(Op::linear_backward_weights, call, {0, 1, 2});
  if (call.absorbed > 0) run_absorbed(Op::linear_backward_bias, call, {1, 3});
  if (call.absorbed > 1) run_absorbed(Op::linear_backward_input, call, {1, 4, 5});
}

std::string check_layer(void (*launch)(const OpCall&)) {
  const Variant variant{.op = Op::linear_backward_weights,
                        .name = "tested",
                        .precisions = {Precision::fp32},
                        .fuses = {Op::linear_backward_bias, Op::linear_backward_input, Op::relu_backward},
                        .summary = "",
                        .launch = launch};
  return check_variant(variant, core::open_device("cpu"), kLayer, Precision::fp32, 3).failure;
}

TEST(FusedCheck, ChecksTheWholeBackwardPassOfALinearLayer) {
  EXPECT_EQ(check_layer([](const OpCall& call) {
              layer_backward(call);
              if (call.absorbed > 2) run_absorbed(Op::relu_backward, call, {6, 5, 5});
            }),
            "");
}

TEST(FusedCheck, CatchesALayerWithoutItsMask) {
  const std::string failure = check_layer(layer_backward);
  EXPECT_NE(failure.find("+ relu.backward"), std::string::npos) << failure;
  EXPECT_NE(failure.find("'input_gradient' has a relative error"), std::string::npos) << failure;
}

TEST(FusedCheck, CatchesALayerWithoutTheGradientOfItsInput) {
  const std::string failure = check_layer([](const OpCall& call) {
    OpCall less = call;
    less.absorbed = std::min(call.absorbed, 1);
    layer_backward(less);
  });
  EXPECT_NE(failure.find("+ linear.backward_input cpu"), std::string::npos) << failure;
}

TEST(FusedCheck, ChecksTheGradientOfTheLoss) {
  Variant variant{.op = Op::cross_entropy_forward,
                  .name = "tested",
                  .precisions = {Precision::fp32},
                  .fuses = {Op::cross_entropy_backward},
                  .summary = "",
                  .launch = [](const OpCall& call) {
                    run_absorbed(Op::cross_entropy_forward, call, {0, 1, 2, 3, 4, 5});
                    if (call.absorbed > 0) run_absorbed(Op::cross_entropy_backward, call, {0, 1, 6, 7});
                  }};
  const auto cpu = core::open_device("cpu");
  const OpShape logits{.batch = 5, .in_channels = 9};
  EXPECT_EQ(check_variant(variant, cpu, logits, Precision::fp32, 1).failure, "");
  variant.launch = [](const OpCall& call) {
    run_absorbed(Op::cross_entropy_forward, call, {0, 1, 2, 3, 4, 5});
  };
  const std::string failure = check_variant(variant, cpu, logits, Precision::fp32, 1).failure;
  EXPECT_NE(failure.find("'gradient' has a relative error"), std::string::npos) << failure;
}

TEST(FusedCheck, ChecksTheLabelsBesideTheImages) {
  Variant variant{.op = Op::batch_gather,
                  .name = "tested",
                  .precisions = {Precision::fp32},
                  .fuses = {Op::labels_gather},
                  .summary = "",
                  .launch = [](const OpCall& call) {
                    run_absorbed(Op::batch_gather, call, {0, 1, 2, 3});
                    if (call.absorbed > 0) run_absorbed(Op::labels_gather, call, {4, 1, 2, 5});
                  }};
  const auto cpu = core::open_device("cpu");
  const OpShape images{.batch = 5, .height = 3, .width = 2, .in_channels = 3, .count = 11};
  EXPECT_EQ(check_variant(variant, cpu, images, Precision::fp32, 1).failure, "");
  variant.launch = [](const OpCall& call) { run_absorbed(Op::batch_gather, call, {0, 1, 2, 3}); };
  const std::string failure = check_variant(variant, cpu, images, Precision::fp32, 1).failure;
  EXPECT_NE(failure.find("'output' differs from the reference"), std::string::npos) << failure;
}

TEST(FusedCheck, SaysWhichOpItCannotAbsorb) {
  const Variant variant{.op = Op::conv2d_forward,
                        .name = "tested",
                        .precisions = {Precision::fp32},
                        .fuses = {Op::maxpool2d_forward},
                        .summary = "",
                        .launch = right};
  try {
    check_variant(variant, core::open_device("cpu"), kShape, Precision::fp32, 1);
    FAIL() << "checked";
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find("maxpool2d.forward"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace warpscope::verify
