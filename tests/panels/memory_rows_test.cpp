#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/device.h"
#include "tests/support/changes.h"
#include "tests/support/tiny.h"
#include "ui/panels/kernels/memory_panel.h"

namespace warpscope::ui::memory_rows_test {
namespace {

class MemoryRows : public testing::Test {
 protected:
  const MemoryChoice& choice(const std::string& name) const {
    const auto found = std::find_if(choices.begin(), choices.end(),
                                    [&](const MemoryChoice& each) { return each.name == name; });
    if (found == choices.end()) throw std::logic_error("no choice " + name);
    return *found;
  }

  const core::DeviceInfo device = core::open_device("cpu")->info();
  const models::Model model = tests::tiny_model();
  MemoryScene scene{{}, 8};
  std::vector<MemoryChoice> choices = memory_choices(model, device, scene);
};

TEST_F(MemoryRows, OneChoiceOfPrecisionAndOneOfBatchIsInUse) {
  const auto map = step_memory(model, device, scene);
  ASSERT_TRUE(map.has_value());
  for (const char* name : {"fp32", "8"}) {
    EXPECT_TRUE(choice(name).now) << name;
    EXPECT_EQ(choice(name).bytes, map->bytes) << name;
  }
  EXPECT_FALSE(choice("16").now);
}

TEST_F(MemoryRows, BatchesGoFromAQuarterToFourTimesTheOneInUse) {
  std::vector<std::string> names;
  for (const MemoryChoice& each : choices) {
    if (each.group == "batch") names.push_back(each.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"2", "4", "8", "16", "32"}));
  EXPECT_LT(choice("2").bytes, choice("8").bytes);
  EXPECT_LT(choice("8").bytes, choice("32").bytes);
}

TEST_F(MemoryRows, BatchesThatAreNoWholeNumbersAreLeftOut) {
  scene.batch = 6;
  for (const MemoryChoice& each : memory_choices(model, device, scene)) {
    if (each.group != "batch") continue;
    EXPECT_NE(each.name, "1") << "a quarter of 6";
  }
}

TEST_F(MemoryRows, AChoiceIsWhatItsPlanTakes) {
  MemoryScene other = scene;
  other.batch = 16;
  EXPECT_EQ(choice("16").bytes, step_memory(model, device, other)->bytes);
  EXPECT_TRUE(choice("16").refusal.empty());
}

TEST_F(MemoryRows, WhatCannotBePlannedIsNothing) {
  scene.selection.variants[ops::Op::conv2d_forward] = "hopper";
  EXPECT_FALSE(step_memory(model, device, scene).has_value());
}

TEST_F(MemoryRows, ThePartUnderThePointerIsTheOneThatHoldsThatByteDuringThatCall) {
  const auto map = step_memory(model, device, scene);
  ASSERT_TRUE(map.has_value());
  for (const plan::MemoryPart& part : map->parts) {
    EXPECT_EQ(part_at(*map, part.first, part.offset), &part);
    EXPECT_EQ(part_at(*map, part.last, part.offset + part.bytes - 1), &part);
  }
  EXPECT_EQ(part_at(*map, 0, map->bytes), nullptr);
}

TEST_F(MemoryRows, ATipTellsNameSizeAndHowLong) {
  const auto map = step_memory(model, device, scene);
  ASSERT_TRUE(map.has_value());
  for (const plan::MemoryPart& part : map->parts) {
    const std::string tip = tip_of(*map, part);
    EXPECT_NE(tip.find("held"), std::string::npos);
    if (part.kind == plan::MemoryKind::workspace) continue;
    EXPECT_EQ(tip.find(part.name), 0u) << tip;
  }
}

TEST(MemorySceneOfASnapshot, ChangesWithWhatMemoryDependsOnAlone) {
  training::Snapshot snapshot;
  tests::settings_of(snapshot).batch = 4;
  const MemoryScene scene = MemoryScene::of(snapshot);
  tests::settings_of(snapshot).optimizer.learning_rate = 0.5f;
  snapshot.step = 100;
  EXPECT_EQ(MemoryScene::of(snapshot), scene);
  tests::settings_of(snapshot).optimizer.rule = ops::UpdateRule::sgd;
  EXPECT_FALSE(MemoryScene::of(snapshot) == scene);
}

TEST(MemoryUnit, IsTheLargestOfWhichTheMapHasOne) {
  plan::MemoryMap map;
  const auto name = [&map](std::size_t bytes) {
    map.bytes = bytes;
    return std::string(unit_of(map).name);
  };
  EXPECT_EQ(name(1023), "B");
  EXPECT_EQ(name(63'000), "KiB");
  EXPECT_EQ(name(1048575), "KiB");
  EXPECT_EQ(name(1048576), "MiB");
  EXPECT_EQ(name(std::size_t{3} << 30), "GiB");
  EXPECT_EQ(unit_of(map).bytes, 0x1p30);
}

}  // namespace
}  // namespace warpscope::ui::memory_rows_test
