// The rows of the ladder, of verify and of determinism.

#include <gtest/gtest.h>

#include "ui/panels/kernels/ladder_rows.h"
#include "ui/panels/laboratory/determinism_rows.h"
#include "ui/panels/laboratory/verify_panel.h"

namespace warpscope::ui::laboratory_rows_test {
namespace {

training::LadderEntry entry(const char* name, double speed, double spread = 1) {
  training::LadderEntry made;
  made.name = name;
  made.images_per_second = speed;
  made.spread = spread;
  made.timed = speed > 0 ? 100 : 0;
  made.over_first = {50, 50, 100};
  return made;
}

TEST(LadderRows, CompareWithTheFirstAndWithLoops) {
  const std::vector<training::LadderEntry> ladder{entry("naive", 100), entry("tiled", 250),
                                                  entry("atomic", 50)};
  const auto rows = ladder_rows(ladder, 10);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_DOUBLE_EQ(rows[0].over_first, 1);
  EXPECT_DOUBLE_EQ(rows[1].over_first, 2.5);
  EXPECT_DOUBLE_EQ(rows[2].over_loops, 5);
  EXPECT_TRUE(rows[1].best);
  EXPECT_FALSE(rows[2].best);
  EXPECT_TRUE(rows[2].now);
  EXPECT_FALSE(rows[0].now);
}

TEST(LadderRows, SpeedsThatAreNotKnownHaveNoRatio) {
  const std::vector<training::LadderEntry> ladder{entry("naive", 0), entry("tiled", 250)};
  const auto rows = ladder_rows(ladder, 0);
  EXPECT_EQ(rows[1].over_first, 0);
  EXPECT_EQ(rows[1].over_loops, 0);
  EXPECT_FALSE(rows[0].best);
  EXPECT_TRUE(ladder_rows({}, 10).empty());
}

TEST(LadderRows, WhatWasNotMeasuredAlikeIsNotCompared) {
  std::vector<training::LadderEntry> ladder{entry("naive", 100), entry("tiled", 250), entry("atomic", 50)};
  ladder[1].timed = 3;
  ladder[2].other_network = true;
  const auto rows = ladder_rows(ladder, 10);
  EXPECT_DOUBLE_EQ(rows[0].over_first, 1);
  EXPECT_EQ(rows[1].over_first, 0) << "three steps tell no median";
  EXPECT_EQ(rows[1].over_loops, 0);
  EXPECT_EQ(rows[2].over_first, 0) << "another network";
  EXPECT_EQ(rows[2].first_tip, "Not compared: another network.");
}

TEST(LadderRows, WhatRanUnderAnotherLoadIsNotCompared) {
  std::vector<training::LadderEntry> ladder{entry("naive", 100), entry("tiled", 250), entry("onednn", 600)};
  ladder[1].over_first.now = 90;
  const auto rows = ladder_rows(ladder, 10);
  EXPECT_EQ(rows[1].over_first, 0);
  EXPECT_NE(rows[1].first_tip.find("take 1.80 times as long"), std::string::npos) << rows[1].first_tip;
  EXPECT_DOUBLE_EQ(rows[2].over_first, 6);
  EXPECT_FALSE(rows[2].best) << "on an idle machine the second may be the fastest";
}

TEST(LadderRows, NoneIsTheFastestOfThoseThatCannotBeToldApart) {
  const auto rows = ladder_rows({entry("a", 100, 20), entry("b", 101, 20), entry("c", 50)}, 0);
  for (const LadderRow& row : rows) EXPECT_FALSE(row.best) << row.entry->name;
  EXPECT_TRUE(rows[1].noise);
  EXPECT_FALSE(rows[2].noise);
  EXPECT_FALSE(ladder_rows({entry("a", 100)}, 0).front().best) << "there is nothing else";
}

TEST(LoopsSpeed, IsToldByARungOfCpuLoops) {
  core::DeviceInfo device;
  device.kind = core::DeviceKind::cpu;
  std::vector<training::LadderEntry> ladder{entry("oneDNN", 100), entry("loops", 12)};
  ladder[0].selection.variants = {{ops::Op::relu_forward, "onednn"}};
  plan::apply(ladder[1].selection, "all=loops", device);
  EXPECT_EQ(loops_speed(ladder, device), 12);
  ladder.pop_back();
  EXPECT_EQ(loops_speed(ladder, device), 0);
  device.kind = core::DeviceKind::cuda;
  EXPECT_EQ(loops_speed({entry("loops", 12)}, device), 0);
}

TEST(RatioText, HasThreeDigitsOrADash) {
  EXPECT_EQ(ratio_text(1), "1.00\u00d7");
  EXPECT_EQ(ratio_text(9.996), "10.0\u00d7");
  EXPECT_EQ(ratio_text(2613.4), "2,613\u00d7");
  EXPECT_EQ(ratio_text(0.5), "0.50\u00d7");
  EXPECT_EQ(ratio_text(703.0 / 478755), "1/681\u00d7") << "not 0.00";
  EXPECT_EQ(ratio_text(0), "\u2014");
}

TEST(VerifyRows, HaveAVerdict) {
  verify::VerifyRow right, wrong, skipped;
  right.checked = 14;
  right.worst_error = 1e-7;
  right.tolerance = 4e-7;
  wrong.failure = "error 1 over tolerance 0.1";
  skipped.skipped = "needs compute capability 8.0, this GPU has 7.5";
  EXPECT_EQ(verdict(right), Verdict::right);
  EXPECT_EQ(verdict(wrong), Verdict::wrong);
  EXPECT_EQ(verdict(skipped), Verdict::skipped);
  EXPECT_EQ(verify_summary({right, right, wrong, skipped}), "2 right, 1 wrong, 1 skipped");
  EXPECT_EQ(verify_summary({right}), "1 right");
  EXPECT_DOUBLE_EQ(part_of_tolerance(right), 0.25);
  EXPECT_EQ(part_of_tolerance(skipped), 0);
  EXPECT_NE(verify_tip(wrong).find("over tolerance"), std::string::npos);
}

TEST(VerifyRows, SayWhetherTwoRunsGaveTheSameBits) {
  verify::VerifyRow row;
  row.checked = 1;
  EXPECT_EQ(determinism_text(row), "same bits");
  row.same_bits = false;
  EXPECT_EQ(determinism_text(row), "differs");
  row.declared_deterministic = false;
  EXPECT_EQ(determinism_text(row), "differs, as declared");
  row.skipped = "why not";
  EXPECT_EQ(determinism_text(row), "");
}

TEST(DeterminismRows, SayWhereBitsDifferFirst) {
  training::DeterminismReport report;
  training::TensorDifference same, other;
  same.elements = other.elements = 294912;
  other.op = ops::Op::conv2d_backward_weights;
  other.variant = "atomic";
  other.tensor = "conv2.weight.gradient";
  other.different = 1234;
  report.tensors = {same, same};
  EXPECT_EQ(determinism_summary(report), "all bits equal in 2 tensors");
  EXPECT_EQ(part_text(same), "0");
  report.tensors.push_back(other);
  EXPECT_EQ(tensors_that_differ(report), 1);
  EXPECT_EQ(determinism_summary(report),
            "1 of 3 tensors differs, first conv2.weight.gradient of conv2d.backward_weights atomic");
  EXPECT_EQ(part_text(other), "0.42 %");
  other.different = 1;
  EXPECT_EQ(part_text(other), "<0.01 %");
}

}  // namespace
}  // namespace warpscope::ui::laboratory_rows_test
