// What is chosen by measurement, with times that are made up.

#include "gpu/profiling/measure.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/tiny_classifier.h"

namespace warpscope::profiling::measure_test {
namespace {

using core::Precision;
using ops::Op;

const ops::Variant kRules{.op = Op::relu_forward, .name = "rules"};
const ops::Variant kOther{.op = Op::relu_forward, .name = "other"};

plan::PlanNode node(std::int64_t batch, const ops::Variant* variant, std::vector<int> covers = {}) {
  ops::OpShape shape;
  shape.batch = batch;
  return {Op::relu_forward, "", shape, variant, -1, std::move(covers)};
}

std::string key(std::int64_t batch) {
  return plan::call_key(Op::relu_forward, Precision::fp32, node(batch, nullptr).shape);
}

Trial trial_of(std::vector<plan::PlanNode> nodes, NodeSamples rules = {}, NodeSamples times = {}) {
  Trial trial{std::move(nodes), {}, std::move(rules), std::move(times)};
  trial.private_tensors.resize(trial.nodes.size());
  return trial;
}

TEST(Decide, TakesWhatIsFasterBeyondTheSpread) {
  const Trial rules = trial_of({node(1, &kRules), node(2, &kRules), node(3, &kRules)});
  const Trial trial =
      trial_of({node(1, &kOther), node(2, &kOther), node(3, &kOther)},
               {{10, 10, 10}, {10, 10, 12}, {10, 10, 14}}, {{5, 9.8, 9}, {5, 9.8, 11}, {5, 9.8, 10}});
  const plan::MeasuredChoices expected{{key(1), {"other", 5, "rules", 10}}};
  EXPECT_EQ(decide(rules, {trial}, Precision::fp32), expected);
}

TEST(Decide, ComparesAWholeCallWithTheCallsThatItReplaces) {
  const Trial rules = trial_of({node(1, &kRules, {1}), node(2, nullptr)});  // one call of 10
  const auto apart = [&](double first, double second) {
    const Trial trial = trial_of({node(1, &kOther), node(2, &kOther)}, {{10, 0}, {10, 0}},
                                 {{first, second}, {first, second}});
    return decide(rules, {trial}, Precision::fp32);
  };
  EXPECT_TRUE(apart(4, 7).empty()) << "the own op's call is faster, the two are not";
  EXPECT_EQ(apart(4, 3), (plan::MeasuredChoices{{key(1), {"other", 7, "rules", 10}}}));
}

TEST(Decide, ComparesWhatAVariantsOwnFormatTiesTogether) {
  const Trial rules = trial_of({node(1, &kRules), node(2, &kRules)});
  Trial trial = trial_of({node(1, &kOther), node(2, &kOther)}, {{10, 10}, {10, 10}}, {{2, 19}, {2, 19}});
  EXPECT_EQ(decide(rules, {trial}, Precision::fp32).size(), 1u);
  trial.private_tensors = {{7}, {7}};
  EXPECT_TRUE(decide(rules, {trial}, Precision::fp32).empty());
}

TEST(Decide, SumsUpTheSameCalls) {
  const Trial rules = trial_of({node(1, &kRules), node(1, &kRules)});
  const auto twice = [&](double first, double second) {
    const Trial trial = trial_of({node(1, &kOther), node(1, &kOther)}, {{10, 10}, {10, 10}},
                                 {{first, second}, {first, second}});
    return decide(rules, {trial}, Precision::fp32);
  };
  EXPECT_TRUE(twice(4, 16).empty());
  EXPECT_EQ(twice(4, 12), (plan::MeasuredChoices{{key(1), {"other", 8, "rules", 10}}}));
}

/// A clock and steps of which calls by `loops` take a microsecond and all others ten.
struct Made {
  double clock = 0;
  double seconds_a_step = 0;
  int steps = 0;
  Outcome outcome = Outcome::faster;
  double ratio = 1.2;

  Measurement measured() {
    MeasureOptions options;
    options.stopwatch = [this](core::Device&, core::Stream&) {
      return Stopwatch{[this] { return clock; }, [this](plan::Plan& step) { return times_of(step); },
                       [this](plan::Plan&, plan::Plan&, const ContestOptions&) {
                         Contest contest;
                         contest.outcome = outcome;
                         contest.ratio = ratio;
                         return std::optional(contest);
                       }};
    };
    return measure(core::open_device("cpu"), tests::tiny_classifier(), {.batch = 2}, {}, options);
  }

  std::vector<double> times_of(const plan::Plan& step) {
    clock += seconds_a_step;
    ++steps;
    std::vector<double> times;
    for (const plan::PlanNode& each : step.nodes()) {
      times.push_back(each.variant == nullptr ? 0 : each.variant->name == "loops" ? 1 : 10);
    }
    return times;
  }
};

TEST(Measure, TakesTheFastestVariantOfEachCall) {
  Made made;
  const Measurement measured = made.measured();
  ASSERT_FALSE(measured.choices.empty()) << measured.why_rules;
  EXPECT_TRUE(measured.final);
  for (const auto& [call, choice] : measured.choices) {
    EXPECT_EQ(choice.variant, "loops") << call;
    EXPECT_NE(choice.instead, "loops") << call;
  }
}

TEST(Measure, LeavesTheRulesWhereWholeStepsAreNoFaster) {
  Made made{.outcome = Outcome::no_faster, .ratio = 1};
  EXPECT_TRUE(made.measured().choices.empty());
  EXPECT_TRUE(made.measured().final);
  made = {.outcome = Outcome::disturbed};
  EXPECT_TRUE(made.measured().choices.empty());
  EXPECT_FALSE(made.measured().final) << "another time may say more";
}

TEST(Measure, EndsWhenItsTimeIsOver) {
  Made made{.seconds_a_step = 0.1};
  const Measurement measured = made.measured();
  EXPECT_TRUE(measured.choices.empty());
  EXPECT_FALSE(measured.final);
  EXPECT_LE(made.clock, 1);
}

}  // namespace
}  // namespace warpscope::profiling::measure_test
