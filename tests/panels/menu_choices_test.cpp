#include "ui/panels/menu_choices.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "gpu/plan/presets.h"
#include "tests/support/changes.h"
#include "ui/panels/selection_text.h"

namespace warpscope::ui::menu_choices_test {
namespace {

using core::Precision;
using ops::Op;

core::DeviceInfo cpu() {
  core::DeviceInfo device;
  device.kind = core::DeviceKind::cpu;
  return device;
}

ops::Variant variant(Op op, const char* name) {
  ops::Variant made;
  made.op = op;
  made.name = name;
  made.precisions = {Precision::fp32};
  made.summary = "Adds something.";
  made.launch = [](const ops::OpCall&) {};
  return made;
}

TEST(VariantRefusal, NamesThePrecisionThatIsMissing) {
  EXPECT_EQ(variant_refusal(variant(Op::relu_forward, "loops"), cpu(), Precision::fp16, {}),
            "not in fp16; in fp32");
}

TEST(PrecisionRefusal, SaysOfEachPrecisionThatTheTrainerRefusesWhy) {
  const core::DeviceInfo device = core::open_device("cpu")->info();
  const auto possible = plan::training_precisions(device);
  EXPECT_NE(precision_refusal(device, Precision::fp16), "") << "no CPU variant runs in it";
  for (const Precision precision : core::selectable_precisions()) {
    const std::string refusal = precision_refusal(device, precision);
    const bool can = std::find(possible.begin(), possible.end(), precision) != possible.end();
    EXPECT_EQ(refusal.empty(), can) << core::to_string(precision);
    if (can) continue;
    EXPECT_NE(refusal.find(core::to_string(precision)), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("valid: fp32"), std::string::npos) << refusal;
  }
}

TEST(VariantRefusal, AsksEachLayersShape) {
  ops::Variant made = variant(Op::relu_forward, "picky");
  made.refuses = [](const ops::OpShape& shape) {
    return shape.in_channels == 3 ? std::string("not for 3 channels") : std::string();
  };
  training::OpTiming wide, narrow;
  wide.shape.in_channels = 256;
  narrow.shape.in_channels = 3;
  const training::OpTiming* const both[] = {&wide, &narrow};
  EXPECT_EQ(variant_refusal(made, cpu(), Precision::fp32, both), "not for 3 channels");
  EXPECT_EQ(variant_refusal(made, cpu(), Precision::fp32, std::span(both).first(1)), "");
}

TEST(VariantRefusal, DoesNotDependOnWhatTheRunningVariantCovers) {
  ops::Variant made = variant(Op::conv2d_forward, "single");
  made.refuses = [](const ops::OpShape& shape) {
    return shape.covered.empty() ? std::string() : std::string("covers nothing");
  };
  training::OpTiming covering;
  covering.shape.covered = {Op::bias_forward};
  const training::OpTiming* const layers[] = {&covering};
  EXPECT_EQ(variant_refusal(made, cpu(), Precision::fp32, layers), "");
}

TEST(VariantRefusal, LeavesLayersToOthersThatLackTheOpBefore) {
  ops::Variant made = variant(Op::conv2d_forward, "rows");
  made.chain = {{.op = Op::one_hot_forward, .renames = {{ops::Name::output, ops::Name::encoded}}},
                {.op = Op::conv2d_forward, .renames = {{ops::Name::input, ops::Name::encoded}}}};
  made.refuses = [](const ops::OpShape& shape) {
    return shape.in_channels > 255 ? std::string("a byte tells at most 255 characters apart") : std::string();
  };
  training::OpTiming first;
  training::OpTiming second;
  first.shape.in_channels = 70;
  second.shape.in_channels = 256;
  const training::OpTiming* const layers[] = {&first, &second};
  EXPECT_EQ(variant_refusal(made, cpu(), Precision::fp32, layers), "");
  made.chain.clear();
  EXPECT_NE(variant_refusal(made, cpu(), Precision::fp32, layers), "");
}

/// A measurement that found oneDNN to be faster than what was chosen.
jobs::LaboratoryState measured(const training::Snapshot& snapshot) {
  profiling::Advice advice;
  advice.present = snapshot.selection;
  advice.best = plan::preset_selection("onednn", cpu(), Precision::fp32);
  advice.name = "oneDNN";
  advice.contest.outcome = profiling::Outcome::faster;
  advice.setup = step_setup(snapshot);
  jobs::LaboratoryState laboratory;
  laboratory.advice = {advice};
  return laboratory;
}

training::Snapshot snapshot_of_loops() {
  training::Snapshot snapshot;
  snapshot.device = cpu();
  tests::settings_of(snapshot).batch = 4;
  snapshot.selection = plan::preset_selection("loops", cpu(), Precision::fp32);
  return snapshot;
}

TEST(FastestHere, MustBeMeasuredAsThisTrainingSteps) {
  const training::Snapshot snapshot = snapshot_of_loops();
  EXPECT_EQ(fastest_here_refusal({}, snapshot), "measure first, in the tab Bench");
  jobs::LaboratoryState laboratory = measured(snapshot);
  EXPECT_EQ(fastest_here_refusal(laboratory, snapshot), "");
  training::Snapshot other = snapshot;
  other.selection.precision = Precision::bf16;
  EXPECT_EQ(fastest_here_refusal(laboratory, other), "measure first, in the tab Bench");
  other = snapshot;
  tests::settings_of(other).batch = 8;
  EXPECT_EQ(fastest_here_refusal(laboratory, other), "measured at batch 4, this is 8: measure again");
  other = snapshot;
  tests::settings_of(other).optimizer = training::defaults_of(ops::UpdateRule::lion);
  EXPECT_EQ(fastest_here_refusal(laboratory, other), "measured with adam, this is lion: measure again");
  other = snapshot;
  tests::settings_of(other).optimizer.clip_norm = 1;
  EXPECT_EQ(fastest_here_refusal(laboratory, other), "measured with other parts of a step: measure again");
  other = snapshot;
  tests::settings_of(other).optimizer.learning_rate = 1;
  EXPECT_EQ(fastest_here_refusal(laboratory, other), "") << "a step takes as long at any rate";
  other.network = std::make_shared<models::Model>(models::find_model("mlp"));
  EXPECT_EQ(fastest_here_refusal(laboratory, other), "measured with another network: measure again");
  laboratory.running = jobs::Job::bench;
  EXPECT_EQ(fastest_here_refusal(laboratory, snapshot), "being measured: Laboratory, Bench");
}

TEST(FastestHere, IsOfferedOnlyWhereWholeStepsSaidSo) {
  const training::Snapshot snapshot = snapshot_of_loops();
  jobs::LaboratoryState laboratory = measured(snapshot);
  profiling::Advice& advice = laboratory.advice.front();
  advice.contest.outcome = profiling::Outcome::no_faster;
  EXPECT_EQ(fastest_here_refusal(laboratory, snapshot),
            "nothing is faster than loops, " + time_of_day(advice));
  advice.contest.outcome = profiling::Outcome::disturbed;
  EXPECT_EQ(fastest_here_refusal(laboratory, snapshot), "the measurement was disturbed: measure again");
  advice.failure = "batch 4 does not fit";
  EXPECT_EQ(fastest_here_refusal(laboratory, snapshot), "not compared: batch 4 does not fit");
}

TEST(VariantTip, MarksLibrariesAndWhatIsNotDeterministic) {
  ops::Variant made = variant(Op::relu_forward, "x");
  EXPECT_EQ(variant_tip(made), "Adds something.");
  made.library = true;
  made.deterministic = false;
  EXPECT_EQ(variant_tip(made),
            "library: Adds something. Not deterministic: two runs differ in the last bits.");
}

TEST(VariantTip, SaysWhatTheVariantCanCover) {
  ops::Variant made = variant(Op::conv2d_forward, "x");
  made.chain = {{.op = Op::conv2d_forward}, {.op = Op::bias_forward, .optional = true}};
  EXPECT_NE(variant_tip(made).find("Covers bias, where"), std::string::npos) << variant_tip(made);
}

TEST(WithVariant, ChangesOneChoiceAloneAndTakesItBack) {
  const plan::Selection before{Precision::fp32, {{Op::bias_forward, "loops"}}};
  const plan::Selection after = with_variant(before, Op::relu_forward, "loops");
  EXPECT_EQ(after.variants.at(Op::relu_forward), "loops");
  EXPECT_EQ(after.variants.size(), 2u);
  EXPECT_EQ(with_variant(after, Op::relu_forward, "automatic"), before);
}

TEST(AutomaticText, IsWhatRunsWithoutAChoiceAndWhatWouldRunBesideOne) {
  training::OpTiming timing;
  timing.op = Op::relu_forward;
  timing.covered_by = training::OpPlace{Op::conv2d_forward, "conv1"};
  KernelRow row;
  row.op = Op::relu_forward;
  row.covered_by = Op::conv2d_forward;
  row.layers = {&timing};
  EXPECT_EQ(automatic_text(row, {}, cpu()), "in conv2d.forward");
  const plan::Selection chosen{Precision::fp32, {{Op::relu_forward, "reference"}}};
  EXPECT_EQ(automatic_text(row, chosen, cpu()),
            plan::automatic_variant(Op::relu_forward, cpu(), Precision::fp32)->name);
}

}  // namespace
}  // namespace warpscope::ui::menu_choices_test
