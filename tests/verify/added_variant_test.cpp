// A variant that comes while the program runs: chosen, trained with, proved, while plans from before go on.

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/sizes.h"
#include "gpu/plan/plan.h"
#include "gpu/plan/selection.h"
#include "gpu/verify/verify.h"
#include "tests/support/plan_memory.h"

namespace warpscope::plan::added_variant_test {
namespace {

using core::Precision;
using ops::Name;
using ops::Op;
using tests::PlanMemory;

/// What a kernel that was compiled while the program runs would hold.
struct Compiled {
  float least = 0;
  int prepared = 0;
  int launched = 0;
};

class Loaded final : public ops::Prepared {};

ops::Variant added_relu(const std::shared_ptr<Compiled>& code) {
  ops::Variant made{.op = Op::relu_forward,
                    .name = "compiled",
                    .precisions = {Precision::fp32},
                    .summary = "Comes while the program runs."};
  made.prepare = [code](const ops::OpCall& call) {
    EXPECT_EQ(call.variant->name, "compiled");
    EXPECT_NE(
        find_variant(*call.context->variants, Op::relu_forward, call.context->device->kind(), "compiled"),
        nullptr);
    ++code->prepared;
    return std::make_unique<Loaded>();
  };
  made.launch = [code](const ops::OpCall& call) {
    EXPECT_NE(dynamic_cast<const Loaded*>(call.prepared), nullptr);
    ++code->launched;
    const auto* from = call.operand<const float>(Name::input);
    auto* to = call.operand<float>(Name::output);
    for (std::int64_t i = 0; i < ops::sizes::input(call.shape); ++i)
      to[i] = from[i] < code->least ? code->least : from[i];  // NaN stays NaN
  };
  return made;
}

TEST(AddedVariant, IsChosenTrainedWithAndProvedWhileAnOldPlanGoesOn) {
  const auto code = std::make_shared<Compiled>();
  PlanMemory one, other;
  auto old_plan = std::make_unique<Plan>(one.model, Purpose::training, Selection{}, 5, one.device,
                                         *one.stream, one.bindings());
  old_plan->launch(*one.stream);
  std::unique_ptr<Plan> plan;
  {
    const ops::Context context{other.device, with_variant(*ops::built_in_variants(), added_relu(code))};
    Selection selection;
    apply(selection, "relu.forward=compiled", context);
    EXPECT_THROW(apply(selection, "relu.forward=compiled", other.device->info()), core::BadInput)
        << "the table from before has no such variant";
    plan = std::make_unique<Plan>(other.model, Purpose::training, selection, 5, context, *other.stream,
                                  other.bindings());

    verify::VerifyOptions options;
    options.shapes = 1;
    options.ops = {Op::relu_forward};
    options.only = "compiled";
    const std::vector<verify::VerifyRow> rows = verify::verify(context, options, {}, {});
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].failure, "");
    EXPECT_GT(rows[0].checked, 10);
  }
  const int before = code->launched;
  for (int step = 0; step < 2; ++step) plan->launch(*other.stream);
  EXPECT_GT(code->prepared, 1);
  EXPECT_GT(code->launched, before);
  EXPECT_TRUE(std::any_of(plan->nodes().begin(), plan->nodes().end(), [](const PlanNode& node) {
    return node.variant != nullptr && node.variant->name == "compiled";
  })) << "the plan holds the table";

  old_plan->launch(*one.stream);
  EXPECT_NEAR(one.ring[1].loss, other.ring[1].loss, 1e-5 * one.ring[1].loss);
}

}  // namespace
}  // namespace warpscope::plan::added_variant_test
