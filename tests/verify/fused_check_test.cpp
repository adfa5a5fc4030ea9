// Fused calls held against chains of references: right ones pass, each planted fault is found.

#include <cstdint>
#include <string>

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
