// Numbers near zero: what a CPU's kernels make of them, on every thread, and what the reference does.

#include "gpu/ops/launch.h"

#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/subnormals.h"
#include "gpu/ops/step/step.h"
#include "gpu/verify/op_run.h"
#include "gpu/verify/reference.h"

namespace warpscope::ops::launch_test {
namespace {

using core::Precision;
using Values = std::vector<double>;

/// 1e-20 squared is a subnormal float.
float tiny_product() {
  volatile float tiny = 1e-20f;
  return tiny * tiny;
}

TEST(SubnormalsAsZeros, HoldsForItsThreadAndThoseThatItStarts) {
  EXPECT_GT(tiny_product(), 0);
  {
    const core::SubnormalsAsZeros zeros;
    EXPECT_EQ(tiny_product(), 0);
    float elsewhere = 1;
    std::thread([&] { elsewhere = tiny_product(); }).join();
    EXPECT_EQ(elsewhere, 0);
  }
  EXPECT_GT(tiny_product(), 0);
}

verify::Bytes control_block() {
  step::StepControl control;
  control.learning_rate = 0.001f;
  control.first_decay = 0.9f;
  control.second_decay = 0.999f;
  control.epsilon = 1e-8f;
  verify::Bytes bytes(sizeof(control));
  std::memcpy(bytes.data(), &control, sizeof(control));
  return bytes;
}

/// What the update of parameters of 0 by `gradients` gives, in FP32 by `loops` or in FP64 by the reference.
verify::Operands update(const Values& gradients, UpdateRule rule, bool by_reference) {
  const OpShape shape{.count = static_cast<std::int64_t>(gradients.size()), .rule = rule};
  const auto type = by_reference ? core::ElementType::f64 : core::ElementType::f32;
  const auto state = [&](int which) {
    return verify::encode(Values(states_of(rule) >= which ? gradients.size() : 0), type);
  };
  const verify::Operands before{{Name::gradients, verify::encode(gradients, type)},
                                {Name::control, control_block()},
                                {Name::norm_parts, verify::encode(Values(kSumParts), type)},
                                {Name::metrics, verify::encode(Values{1, 0, 0}, type)},
                                {Name::parameters, verify::encode(Values(gradients.size()), type)},
                                {Name::first_state, state(1)},
                                {Name::second_state, state(2)}};
  if (by_reference) return verify::run_reference(Op::optimizer_update, shape, before);
  verify::OpRun run(*find_variant(*built_in_variants(), Op::optimizer_update, core::DeviceKind::cpu, "loops"),
                    core::open_device("cpu"), shape, Precision::fp32);
  return run.run(before);
}

TEST(Launch, UpdatesByTinyGradientsAreThoseOfTheReference) {
  Values gradients;
  // A tenth of each, which a moment takes of it, is a normal float; its square need not be.
  for (int power = 0; power < 37; ++power) gradients.push_back(std::pow(10.0, -power));
  for (const RuleRow& row : kUpdateRules) {
    const auto loops =
        verify::decode(update(gradients, row.rule, false)[Name::parameters], core::ElementType::f32);
    const auto exact =
        verify::decode(update(gradients, row.rule, true)[Name::parameters], core::ElementType::f64);
    ASSERT_EQ(loops.size(), exact.size());
    for (std::size_t i = 0; i < loops.size(); ++i) {
      EXPECT_NEAR(loops[i], exact[i], 1e-5 * std::abs(exact[i]) + 1.2e-38)
          << row.name << ", gradient 1e-" << i;
    }
  }
}

TEST(Launch, KernelsOfACpuMakeZerosOfSubnormalsAndTheReferenceDoesNot) {
  const Values gradients(16, 1e-20);
  auto loops = update(gradients, UpdateRule::adam, false);
  EXPECT_EQ(verify::decode(loops[Name::second_state], core::ElementType::f32), Values(16));
  const auto exact =
      verify::decode(update(gradients, UpdateRule::adam, true)[Name::second_state], core::ElementType::f64);
  for (const double moment : exact) EXPECT_NEAR(moment, 1e-43, 1e-47);
  EXPECT_GT(tiny_product(), 0) << "the thread is as it was";
}

/// Enough rows for all threads of oneDNN's pool, which begin with whoever needs them first.
Values products_near_zero() {
  OpShape shape;
  shape.batch = 4096;
  shape.in_channels = 64;
  shape.out_channels = 64;
  shape.height = shape.width = 1;
  const auto f32 = core::ElementType::f32;
  verify::OpRun run(*find_variant(*built_in_variants(), Op::linear_forward, core::DeviceKind::cpu, "onednn"),
                    core::open_device("cpu"), shape, Precision::fp32);
  auto after = run.run({{Name::input, verify::encode(Values(4096 * 64, 1e-20), f32)},
                        {Name::weights, verify::encode(Values(64 * 64, 1e-21), f32)}});
  return verify::decode(after[Name::output], f32);
}

TEST(Launch, EveryThreadOfAPoolMakesZerosOfSubnormals) {
  const Values zeros(4096 * 64);
  EXPECT_EQ(products_near_zero(), zeros);
  Values elsewhere;
  std::thread([&] { elsewhere = products_near_zero(); }).join();
  EXPECT_EQ(elsewhere, zeros) << "a pool of another thread's";
}

}  // namespace
}  // namespace warpscope::ops::launch_test
