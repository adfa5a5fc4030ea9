#include "ui/panels/menu_choices.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace warpscope::ui {
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

profiling::BenchRow timed(Op op, const char* name, double median, Precision precision = Precision::fp32) {
  profiling::BenchRow row;
  row.what.op = op;
  row.variant = name;
  row.precision = precision;
  row.samples = 5;
  row.median = median;
  return row;
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

TEST(FastestHere, MustBeMeasuredAtThisPrecisionAndBatch) {
  profiling::LaboratoryState laboratory;
  EXPECT_EQ(fastest_here_refusal(laboratory, Precision::fp32, 4), "measure first: Laboratory, Bench");
  laboratory.bench = {timed(Op::relu_forward, "loops", 10)};
  laboratory.bench_batch = 4;
  EXPECT_EQ(fastest_here_refusal(laboratory, Precision::fp32, 4), "");
  EXPECT_EQ(fastest_here_refusal(laboratory, Precision::bf16, 4), "measure first: Laboratory, Bench");
  EXPECT_EQ(fastest_here_refusal(laboratory, Precision::fp32, 8),
            "measured at batch 4, this is 8: measure again");
  laboratory.running = profiling::Job::bench;
  EXPECT_EQ(fastest_here_refusal(laboratory, Precision::fp32, 4), "being measured: Laboratory, Bench");
}

TEST(FastestHere, ChoosesTheMeasuredBestWhereItIsNotAutomaticAndKeepsWhatWasNotMeasured) {
  profiling::LaboratoryState laboratory;
  laboratory.bench = {timed(Op::relu_forward, "reference", 10), timed(Op::relu_forward, "loops", 20)};
  plan::Selection selection;
  selection.variants = {{Op::relu_forward, "loops"}, {Op::bias_forward, "loops"}};
  plan::Selection fastest = fastest_here(laboratory, selection, cpu());
  EXPECT_EQ(fastest.variants.at(Op::relu_forward), "reference");
  EXPECT_EQ(fastest.variants.at(Op::bias_forward), "loops");
  const ops::Variant* automatic = plan::automatic_variant(Op::relu_forward, cpu(), Precision::fp32);
  ASSERT_NE(automatic, nullptr);
  laboratory.bench.push_back(timed(Op::relu_forward, automatic->name.c_str(), 5));
  fastest = fastest_here(laboratory, selection, cpu());
  EXPECT_FALSE(fastest.variants.contains(Op::relu_forward)) << "it runs so by itself";
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
}  // namespace warpscope::ui
