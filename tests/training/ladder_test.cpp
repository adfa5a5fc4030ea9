#include "gpu/training/ladder.h"

#include <gtest/gtest.h>

#include "gpu/plan/presets.h"

namespace warpscope::training::ladder_test {
namespace {

class LadderTest : public testing::Test {
 protected:
  plan::Selection preset(const char* id) const {
    return plan::preset_selection(id, device, core::Precision::fp32);
  }
  const core::DeviceInfo device = core::open_device("cpu")->info();
  Ladder ladder;
};

TEST_F(LadderTest, HasARungForEachSelectionInOrder) {
  ladder.choose(preset("loops"), 4, 0, device, {});
  for (const double speed : {100.0, 900.0, 110.0}) ladder.add(speed);
  ladder.choose(preset("onednn"), 4, 3, device, {});
  ladder.add(0);  // the first step after a switch has no time of its own
  ladder.add(500);
  const auto entries = *ladder.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "loops");
  EXPECT_DOUBLE_EQ(entries[0].images_per_second, 110);
  EXPECT_EQ(entries[0].steps, 3u);
  EXPECT_EQ(entries[1].name, "oneDNN");
  EXPECT_EQ(entries[1].first_step, 3u);
  EXPECT_EQ(entries[1].steps, 2u);
  EXPECT_DOUBLE_EQ(entries[1].images_per_second, 500);
}

TEST_F(LadderTest, MediansAreOverAllTimedStepsAndSaySpread) {
  ladder.choose(preset("loops"), 4, 0, device, {});
  for (int i = 1; i <= 3001; ++i) ladder.add(i);
  ladder.add(0);
  const LadderEntry entry = ladder.entries()->front();
  EXPECT_EQ(entry.steps, 3002u);
  EXPECT_EQ(entry.timed, 3001u);
  EXPECT_DOUBLE_EQ(entry.images_per_second, 1501) << "of all, not of the newest";
  EXPECT_NEAR(entry.spread, 1500, 20);
}

TEST_F(LadderTest, AnotherBatchIsAnotherRung) {
  ladder.choose(preset("loops"), 4, 0, device, {});
  ladder.add(100);
  ladder.choose(preset("loops"), 8, 1, device, {});
  ladder.add(120);
  ASSERT_EQ(ladder.entries()->size(), 2u);
  EXPECT_EQ(ladder.entries()->back().batch, 8);
}

TEST_F(LadderTest, AnotherVersionOfAKernelIsAnotherRungWithTheSameSelection) {
  plan::Selection selection = preset("loops");
  selection.variants[ops::Op::relu_forward] = "user:mine";
  ladder.choose(selection, 4, 0, device, {});
  ladder.add(100);
  ladder.change_kernel("user:mine, version 2");
  ladder.choose(selection, 4, 1, device, {});
  ladder.add(120);
  const auto entries = *ladder.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].name, "user:mine, version 2");
  EXPECT_DOUBLE_EQ(entries[1].images_per_second, 120);
}

TEST_F(LadderTest, AnotherNetworkIsAnotherRungWithTheSameSelection) {
  ladder.change_network();
  ladder.choose(preset("loops"), 4, 0, device, {});
  ladder.add(100);
  ladder.choose(preset("loops"), 4, 1, device, {});
  EXPECT_EQ(ladder.entries()->size(), 1u);
  ladder.change_network();
  ladder.choose(preset("loops"), 4, 1, device, {});
  ladder.choose(preset("onednn"), 4, 1, device, {});
  ladder.choose(preset("loops"), 4, 1, device,
                {});  // no step came between: it is still the first of its network
  ladder.add(50);
  const auto entries = *ladder.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "loops");
  EXPECT_EQ(entries[0].images_per_second, 100);
  EXPECT_EQ(entries[1].name, "loops; network changed");
  EXPECT_EQ(entries[1].images_per_second, 50);
}

TEST_F(LadderTest, WhatWasNeverTrainedWithLeavesNoRung) {
  ladder.choose(preset("loops"), 4, 0, device, {});
  ladder.add(100);
  ladder.choose(preset("onednn"), 4, 1, device, {});
  ladder.choose(preset("loops"), 4, 1, device, {});
  ladder.add(100);
  ASSERT_EQ(ladder.entries()->size(), 1u);
  EXPECT_EQ(ladder.entries()->front().steps, 2u);
}

TEST_F(LadderTest, TellsTheEnergyOfAnImageOnceASecondOfItIsKnown) {
  ladder.choose(preset("loops"), 4, 0, device, {});
  ladder.add(100);
  ladder.add_energy(30, 60, 0.6);
  EXPECT_EQ(ladder.entries()->back().joules_per_image, 0);
  ladder.add_energy(30, 60, 0.6);
  EXPECT_DOUBLE_EQ(ladder.entries()->back().joules_per_image, 0.5);
  ladder.choose(preset("onednn"), 4, 1, device, {});
  ladder.add(100);
  ladder.add_energy(12, 120, 1.2);
  EXPECT_DOUBLE_EQ(ladder.entries()->front().joules_per_image, 0.5);
  EXPECT_DOUBLE_EQ(ladder.entries()->back().joules_per_image, 0.1);
}

TEST_F(LadderTest, TellsWhatTheOpsThatWereNotSwitchedTook) {
  const auto train = [&](const char* id, const char* variant, double load) {
    ladder.choose(preset(id), 4, ladder.entries()->size(), device, {});
    for (int i = 0; i < 300; ++i) {
      ladder.add(100 / load);
      OpTimes conv{{ops::Op::conv2d_forward, "conv1", variant}, {50}};
      OpTimes update{{ops::Op::optimizer_update, "", "loops"}, {20 * load}};
      ladder.add_times({conv, update});
    }
  };
  train("loops", "loops", 1);
  train("onednn", "onednn", 2);
  train("loops", "loops", 2);
  const auto entries = *ladder.entries();
  EXPECT_EQ(entries[0].over_first, Control{});
  EXPECT_DOUBLE_EQ(entries[1].over_first.before, 20);
  EXPECT_DOUBLE_EQ(entries[1].over_first.now, 40);
  EXPECT_GE(entries[1].over_first.samples, kEnoughSamples);
  EXPECT_DOUBLE_EQ(entries[2].over_first.before, 70) << "conv2d.forward runs as it did at first";
  EXPECT_DOUBLE_EQ(entries[2].over_before.now / entries[2].over_before.before, 1);
}

TEST_F(LadderTest, NamesWhatChangedWhereNoPresetFits) {
  ladder.choose(preset("loops"), 4, 0, device, {});
  ladder.add(100);
  plan::Selection mixed = preset("loops");
  mixed.variants[ops::Op::conv2d_forward] = "reference";
  ladder.choose(mixed, 4, 1, device, {});
  EXPECT_EQ(ladder.entries()->back().name, "conv2d.forward: loops -> reference");
}

TEST_F(LadderTest, SaysWhatTheCallsCover) {
  ladder.choose(preset("loops"), 4, 0, device, {});
  ladder.add(100);
  plan::Selection mixed = preset("loops");
  mixed.variants[ops::Op::conv2d_forward] = "reference";
  OpTiming covering;
  covering.op = ops::Op::conv2d_forward;
  covering.covers = {{ops::Op::bias_forward, "conv1"}, {ops::Op::relu_forward, "relu1"}};
  ladder.choose(mixed, 4, 1, device, {covering});
  EXPECT_EQ(ladder.entries()->back().name, "conv2d.forward: loops -> reference, with bias, relu");
}

TEST_F(LadderTest, KeepsTheFirstAndTheLatestOfVeryMany) {
  for (int batch = 1; batch <= 1000; ++batch) {
    ladder.choose(preset("loops"), batch, 0, device, {});
    ladder.add(batch);
  }
  const auto entries = *ladder.entries();
  EXPECT_LE(entries.size(), 200u);
  EXPECT_EQ(entries.front().batch, 1);
  EXPECT_EQ(entries.back().batch, 1000);
}

}  // namespace
}  // namespace warpscope::training::ladder_test
