#include "gpu/settings/schedule.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::training::schedule_test {
namespace {

using core::BadInput;
using nlohmann::json;
using tests::holds;
using tests::message_of;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The expected rates are those that torch 2.15 gives for a base rate of 0.1, read from
// optimizer.param_groups[0]["lr"] after each scheduler.step(). tests/peers/torch_schedules.py compares more
// of them where torch is installed.

TEST(Schedule, StepFallsAsInTorch) {  // StepLR(optimizer, 3, gamma=0.5)
  const std::vector<double> expected{0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125};
  const Schedule schedule = parse_schedule("step:every=3,factor=0.5");
  for (std::size_t epoch = 0; epoch < expected.size(); ++epoch) {
    EXPECT_DOUBLE_EQ(rate_at(schedule, 0.1, static_cast<double>(epoch), 0), expected[epoch]) << epoch;
  }
}

TEST(Schedule, CosineFallsAsInTorch) {
  // SequentialLR(o, [LinearLR(o, 0.01, total_iters=2), CosineAnnealingLR(o, 8, eta_min=0.001)], [2])
  const std::vector<double> expected{0.001,           0.0505,           0.1,    0.0962320368593,
                                     0.0855017856687, 0.0694428299021,  0.0505, 0.0315571700979,
                                     0.0154982143313, 0.00476796314069, 0.001};
  const Schedule schedule = parse_schedule("cosine:warmup=2,final=0.01");
  for (std::size_t epoch = 0; epoch < expected.size(); ++epoch) {
    EXPECT_NEAR(rate_at(schedule, 0.1, static_cast<double>(epoch), 10), expected[epoch], 1e-12) << epoch;
  }
}

TEST(Schedule, OneCycleRisesAndFallsAsInTorch) {
  // OneCycleLR(o, max_lr=0.1, total_steps=11, pct_start=0.3): the peak is at step 0.3 * 11 - 1 of 10.
  const std::vector<double> expected{0.004,
                                     0.0422341113735,
                                     0.0960261424723,
                                     0.0979746567821,
                                     0.0884475724769,
                                     0.0726087049298,
                                     0.0530582708088,
                                     0.0330058028987,
                                     0.01574325128,
                                     0.00410455432063,
                                     4e-07};
  const Schedule schedule = parse_schedule("one_cycle:peak=0.23,start=25,final=1e4");
  for (std::size_t step = 0; step < expected.size(); ++step) {
    const double epoch = 4.0 * static_cast<double>(step) / 10;
    EXPECT_NEAR(rate_at(schedule, 0.1, epoch, 4), expected[step], 1e-12) << step;
  }
}

TEST(Schedule, PlateauReducesAsInTorch) {  // ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
  const std::vector<double> losses{1, .9, .89999, .95, .9, .8, .8, .8, .8, .8, .8, .8};
  const std::vector<double> expected{0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125};
  const Schedule schedule = parse_schedule("plateau:factor=0.5,patience=2");
  PlateauState state;
  for (std::size_t epoch = 0; epoch < losses.size(); ++epoch) {
    state = observe(schedule, state, 0.1, losses[epoch]);
    EXPECT_DOUBLE_EQ(rate_at(schedule, state, 0.1), expected[epoch]) << epoch;
  }
}

TEST(Schedule, PlateauHasTheDefaultsOfTheIssue) {
  const Schedule schedule = parse_schedule("plateau");
  EXPECT_EQ(schedule.plateau_factor, 0.5);
  EXPECT_EQ(schedule.patience, 3);
  EXPECT_EQ(schedule.threshold, 1e-4);
  PlateauState state = observe(schedule, {}, 1, 0.5);
  for (int bad = 1; bad <= 3; ++bad) state = observe(schedule, state, 1, 0.5);
  EXPECT_EQ(rate_at(schedule, state, 1), 1);
  state = observe(schedule, state, 1, 0.5);
  EXPECT_EQ(rate_at(schedule, state, 1), 0.5);
}

TEST(Schedule, PlateauKeepsTheLeastRateAndNeverRaisesIt) {
  const Schedule schedule = parse_schedule("plateau:factor=0.1,patience=0,least=0.002");
  PlateauState state;
  for (int epoch = 0; epoch < 5; ++epoch) state = observe(schedule, state, 0.1, 1);
  EXPECT_EQ(rate_at(schedule, state, 0.1), 0.002);
  EXPECT_NEAR(state.scale, 0.01, 1e-15) << "reductions that change nothing are not kept";
  EXPECT_EQ(rate_at(schedule, PlateauState{}, 0.001), 0.001) << "a base rate below the least one";
  EXPECT_EQ(observe(schedule, PlateauState{.best = 1, .bad_epochs = 0, .scale = 1}, 0.001, 1).scale, 1);
}

TEST(Schedule, PlateauTakesALossThatIsNotFiniteAsBad) {
  const Schedule schedule = parse_schedule("plateau:patience=1");
  PlateauState state = observe(schedule, {}, 1, kNan);
  EXPECT_FALSE(state.best.has_value());
  EXPECT_EQ(state.bad_epochs, 1);
  state = observe(schedule, state, 1, 0.5);
  EXPECT_EQ(state, (PlateauState{.best = 0.5, .bad_epochs = 0, .scale = 1}));
  for (int i = 0; i < 2; ++i) state = observe(schedule, state, 1, kNan);
  EXPECT_EQ(state, (PlateauState{.best = 0.5, .bad_epochs = 0, .scale = 0.5}));
}

TEST(Schedule, PlateauGoesOnFromJson) {
  const Schedule schedule = parse_schedule("plateau:factor=0.7,patience=2");
  const auto loss = [](int epoch) { return 0.3 + 0.1 * std::sin(0.37 * epoch * epoch); };
  PlateauState whole;
  PlateauState resumed;
  for (int epoch = 0; epoch < 40; ++epoch) {
    whole = observe(schedule, whole, 0.1, loss(epoch));
    resumed = json::parse(json(resumed).dump()).get<PlateauState>();
    resumed = observe(schedule, resumed, 0.1, loss(epoch));
    ASSERT_EQ(whole, resumed) << epoch;
  }
  EXPECT_LT(whole.scale, 0.5);
}

TEST(Schedule, PlateauRefusesJsonThatIsNotItsState) {
  PlateauState state{.best = 2, .bad_epochs = 1, .scale = 0.5};
  for (const char* text :
       {R"([])", R"({"best":1,"bad_epochs":0})", R"({"best":"x","bad_epochs":0,"scale":1})",
        R"({"best":1,"bad_epochs":-1,"scale":1})", R"({"best":1,"bad_epochs":0.5,"scale":1})",
        R"({"best":1,"bad_epochs":99999999999,"scale":1})", R"({"best":1,"bad_epochs":0,"scale":2})",
        R"({"best":1,"bad_epochs":0,"scale":null})"}) {
    EXPECT_TRUE(holds(message_of<BadInput>([&] { json::parse(text).get_to(state); }), {"plateau"})) << text;
  }
  EXPECT_EQ(state, (PlateauState{.best = 2, .bad_epochs = 1, .scale = 0.5}));
}

TEST(Schedule, RatesFollowEveryStepInsideAnEpoch) {
  const Schedule cosine = parse_schedule("cosine:warmup=1,final=0.1");
  EXPECT_DOUBLE_EQ(rate_at(cosine, 1, 0.5, 3), kWarmUpStart + 0.5 * (1 - kWarmUpStart));
  EXPECT_DOUBLE_EQ(rate_at(cosine, 1, 2, 3), 0.1 + 0.9 / 2);
  for (const char* text : {"cosine:warmup=1,final=0.1", "one_cycle"}) {
    const Schedule schedule = parse_schedule(text);
    for (int step = 1; step <= 3000; ++step) {
      const double change =
          rate_at(schedule, 1, step / 1000.0, 3) - rate_at(schedule, 1, (step - 1) / 1000.0, 3);
      ASSERT_LT(std::abs(change), 0.002) << text << " jumps at step " << step;
      ASSERT_NE(change, 0) << text << " rests at step " << step;
    }
  }
}

TEST(Schedule, StepDropsWhereItShouldWhateverFractionsRoundTo) {
  const Schedule schedule = parse_schedule("step:every=1,factor=0.5");
  double epoch = 0;
  for (int step = 0; step <= 500; ++step) {
    const int drops = step / 10;
    ASSERT_DOUBLE_EQ(rate_at(schedule, 1, epoch, 0), std::pow(0.5, drops)) << step;
    epoch += 0.1;  // ten of these are 0.9999999999999999
  }
}

TEST(Schedule, StaysAtItsLastRateAfterTheEnd) {
  EXPECT_DOUBLE_EQ(rate_at(parse_schedule("cosine:final=0.2"), 1, 12, 10), 0.2);
  EXPECT_DOUBLE_EQ(rate_at(parse_schedule("one_cycle:start=10,final=10"), 1, 12, 10), 0.01);
  EXPECT_DOUBLE_EQ(rate_at(parse_schedule("one_cycle:peak=1"), 1, 12, 10), 1);
  EXPECT_DOUBLE_EQ(rate_at(parse_schedule("one_cycle:peak=0"), 1, 0, 10), 1);
  EXPECT_DOUBLE_EQ(rate_at(parse_schedule("constant"), 0.25, 0, 0), 0.25) << "earlier files mean no warm-up";
  EXPECT_DOUBLE_EQ(rate_at(parse_schedule("constant"), 0.25, 1e9, 0), 0.25);
  const Schedule warm = parse_schedule("constant:warmup=0.5");
  EXPECT_DOUBLE_EQ(rate_at(warm, 1, 0, 0), 0.01);
  EXPECT_DOUBLE_EQ(rate_at(warm, 1, 0.25, 0), 0.505);
  EXPECT_DOUBLE_EQ(rate_at(warm, 1, 0.5, 0), 1);
  EXPECT_DOUBLE_EQ(rate_at(warm, 1, 3, 0), 1);
  EXPECT_NEAR(rate_at(parse_schedule("one_cycle"), 1, -1, 10), 0.04, 1e-15);
}

TEST(Schedule, SaysWhenTheLengthOfTheRunIsMissing) {
  for (const char* text : {"cosine", "one_cycle"}) {
    const Schedule schedule = parse_schedule(text);
    EXPECT_TRUE(needs_length(schedule.kind));
    for (const double total : {0.0, -1.0, std::numeric_limits<double>::infinity(), kNan}) {
      EXPECT_TRUE(
          holds(message_of<BadInput>([&] { rate_at(schedule, 1, 0, total); }), {text, "epochs or steps"}));
    }
  }
  for (const char* text : {"constant", "step", "plateau"}) {
    EXPECT_FALSE(needs_length(parse_schedule(text).kind));
    EXPECT_NO_THROW(check_length(parse_schedule(text), 0));
  }
  const Schedule warm = parse_schedule("cosine:warmup=5");
  EXPECT_NO_THROW(check_length(warm, 5.5));
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { check_length(warm, 5); }), {"warm-up", "5 epochs", "shorter"}));
}

TEST(Schedule, TextComesBackAsItWas) {
  EXPECT_EQ(to_string(Schedule{}), "constant");
  EXPECT_EQ(to_string(parse_schedule("constant:warmup=0.5")), "constant:warmup=0.5");
  EXPECT_EQ(to_string(parse_schedule("step")), "step:every=10,factor=0.1");
  EXPECT_EQ(to_string(parse_schedule("cosine:final=0.01,warmup=1")), "cosine:warmup=1,final=0.01");
  EXPECT_EQ(to_string(parse_schedule("one_cycle:peak=0.3,start=25,final=1e4")),
            "one_cycle:peak=0.3,start=25,final=10000");
  EXPECT_EQ(to_string(parse_schedule("plateau:least=1e-5")),
            "plateau:factor=0.5,patience=3,least=1e-05,threshold=0.0001");
  for (const char* text : {"constant", "step:every=0.1,factor=0.3333333333333333", "cosine:warmup=1.7",
                           "one_cycle:peak=0.1,final=1", "plateau:patience=0,threshold=0"}) {
    const Schedule schedule = parse_schedule(text);
    EXPECT_EQ(parse_schedule(to_string(schedule)), schedule) << text;
  }
}

TEST(Schedule, BadTextGetsASentenceThatListsWhatIsValid) {
  const auto refusal = [](const char* text) { return message_of<BadInput>([&] { parse_schedule(text); }); };
  EXPECT_TRUE(holds(refusal("cosine:warmup=0,warmup=1"), {"warmup", "cosine stands there twice"}));
  EXPECT_TRUE(holds(refusal("linear"), {"'linear'", "constant, step, cosine, one_cycle, plateau"}));
  EXPECT_TRUE(holds(refusal(""), {"''", "constant, step"}));
  EXPECT_TRUE(holds(refusal("step:evry=3"), {"step", "'evry'", "every, factor"}));
  EXPECT_TRUE(holds(refusal("step:every=3,"), {"''", "every, factor"}));
  EXPECT_TRUE(holds(refusal("step:"), {"''", "every, factor"}));
  EXPECT_TRUE(holds(refusal("step:every"), {"every=", "a number above 0"}));
  EXPECT_TRUE(holds(refusal("step:every=x"), {"every=x", "above 0"}));
  EXPECT_TRUE(holds(refusal("step:every=0"), {"every=0", "above 0"}));
  EXPECT_TRUE(holds(refusal("step:every=nan"), {"every=nan", "above 0"}));
  EXPECT_TRUE(holds(refusal("step:factor=1.5"), {"factor=1.5", "to 1"}));
  EXPECT_TRUE(holds(refusal("constant:every=1"), {"constant", "'every'", "warmup"}));
  EXPECT_TRUE(holds(refusal("cosine:warmup=-1"), {"warmup=-1", "from 0"}));
  EXPECT_TRUE(holds(refusal("one_cycle:start=0.5"), {"start=0.5", "from 1"}));
  EXPECT_TRUE(holds(refusal("plateau:factor=1"), {"factor=1", "to below 1"}));
  EXPECT_TRUE(holds(refusal("plateau:patience=2.5"), {"patience=2.5", "a whole number from 0"}));
}

TEST(Schedule, ParametersSuitTheirSliders) {
  const Schedule defaults;
  for (int i = 0; i < kScheduleKindCount; ++i) {
    const auto kind = static_cast<ScheduleKind>(i);
    EXPECT_EQ(parse_schedule_kind(to_string(kind)), kind);
    for (const ScheduleParameter& parameter : parameters_of(kind)) {
      EXPECT_LT(parameter.slider_low, parameter.slider_high) << parameter.key;
      EXPECT_GE(parameter.slider_low, parameter.least) << parameter.key;
      EXPECT_LE(parameter.slider_high, parameter.most) << parameter.key;
      if (parameter.logarithmic) {
        EXPECT_GT(parameter.slider_low, 0) << parameter.key;
      }
      EXPECT_GE(defaults.*parameter.value, parameter.least) << parameter.key;
      EXPECT_LE(defaults.*parameter.value, parameter.most) << parameter.key;
    }
  }
}

TEST(Schedule, PreviewIsTheCurveFromStartToEnd) {
  const Schedule schedule = parse_schedule("cosine:final=0.1");
  const std::vector<SchedulePoint> curve = preview(schedule, 0.01, 20, 5);
  ASSERT_EQ(curve.size(), 5u);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    EXPECT_DOUBLE_EQ(curve[i].epoch, 5.0 * static_cast<double>(i));
    EXPECT_DOUBLE_EQ(curve[i].rate, rate_at(schedule, 0.01, curve[i].epoch, 20));
  }
  EXPECT_EQ(preview(schedule, 1, 20, 0).size(), 2u);
  for (const SchedulePoint& point : preview(parse_schedule("plateau"), 0.5, 3, 10))
    EXPECT_EQ(point.rate, 0.5);
  EXPECT_TRUE(holds(message_of<BadInput>([] { preview({}, 1, 0, 10); }), {"preview", "above 0"}));
  Schedule bad = schedule;
  bad.final_fraction = 2;
  EXPECT_TRUE(holds(message_of<BadInput>([&] { preview(bad, 1, 20, 10); }), {"final=2"}));
}

}  // namespace
}  // namespace warpscope::training::schedule_test
