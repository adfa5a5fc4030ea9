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
  const plan::Selection selection{Precision::fp16, {}};
  EXPECT_EQ(variant_refusal(variant(Op::relu_forward, "loops"), cpu(), selection, {}),
            "not in fp16; in fp32");
}

TEST(VariantRefusal, AsksEachLayersShape) {
  ops::Variant made = variant(Op::relu_forward, "picky");
  made.refuses = [](const ops::OpShape& shape) {
    return shape.in_channels == 3 ? std::string("not for 3 channels") : std::string();
  };
  training::OpTiming wide, narrow;
  wide.shape.in_channels = 256;
  narrow.shape.in_channels = 3;
  const plan::Selection selection;
  const training::OpTiming* const both[] = {&wide, &narrow};
  EXPECT_EQ(variant_refusal(made, cpu(), selection, both), "not for 3 channels");
  EXPECT_EQ(variant_refusal(made, cpu(), selection, std::span(both).first(1)), "");
}

TEST(VariantRefusal, APlaceholderNeedsWhatAbsorbsIt) {
  ops::Variant placeholder = variant(Op::conv2d_backward_bias, "fused");
  placeholder.launch = nullptr;
  EXPECT_EQ(variant_refusal(placeholder, cpu(), {}, {}), "nothing here covers it in fp32");
}

// The variants of GPUs are in the tables wherever CUDA is built in, with or without a device.
TEST(VariantRefusal, OnAGpuAPlaceholderNamesTheVariantThatItNeeds) {
  core::DeviceInfo gpu;
  gpu.kind = core::DeviceKind::cuda;
  gpu.compute_capability = 90;
  for (const ops::Variant& placeholder : ops::variants()) {
    if (placeholder.launch != nullptr || placeholder.precisions.empty()) continue;
    if (ops::is_block(placeholder.op)) continue;  // stands for the single layers and needs nothing
    plan::Selection selection;
    selection.precision = placeholder.precisions.front();
    const std::string reason = variant_refusal(placeholder, gpu, selection, {});
    EXPECT_TRUE(reason.starts_with("needs ")) << placeholder.name << ": " << reason;
    for (const ops::Variant& other : ops::variants()) {
      if (std::find(other.fuses.begin(), other.fuses.end(), placeholder.op) == other.fuses.end()) continue;
      if (!ops::unavailable_reason(other, gpu, selection.precision).empty()) continue;
      const plan::Selection with = with_variant(selection, other.op, other.name, gpu, false);
      EXPECT_EQ(variant_refusal(placeholder, gpu, with, {}), "") << "with " << other.name;
    }
  }
}

TEST(VariantRefusal, SingleLayersInPlaceOfBlocksAreNeverRefused) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  core::DeviceInfo gpu;
  gpu.kind = core::DeviceKind::cuda;
  gpu.compute_capability = 90;
  plan::Selection selection;
  selection.precision = Precision::fp32;
  for (const core::DeviceInfo& device : {cpu, gpu}) {
    for (const Op op : {Op::block_forward, Op::block_backward_weights, Op::block_backward_input}) {
      const ops::Variant* parts = ops::find_variant(op, device.kind, "parts");
      ASSERT_NE(parts, nullptr);
      EXPECT_EQ(variant_refusal(*parts, device, selection, {}), "");
    }
  }
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

TEST(FastestHere, TakesTheMeasuredBestAndKeepsWhatWasNotMeasured) {
  profiling::LaboratoryState laboratory;
  laboratory.bench = {timed(Op::relu_forward, "loops", 10), timed(Op::relu_forward, "onednn", 20)};
  plan::Selection selection;
  selection.variants = {{Op::relu_forward, "onednn"}, {Op::bias_forward, "onednn"}};
  const plan::Selection fastest = fastest_here(laboratory, selection, cpu());
  EXPECT_EQ(fastest.variants.at(Op::relu_forward), "loops");
  EXPECT_EQ(fastest.variants.at(Op::bias_forward), "onednn");
}

TEST(VariantTip, MarksLibrariesAndWhatIsNotDeterministic) {
  ops::Variant made = variant(Op::relu_forward, "x");
  EXPECT_EQ(variant_tip(made), "Adds something.");
  made.library = true;
  made.deterministic = false;
  EXPECT_EQ(variant_tip(made),
            "library: Adds something. Not deterministic: two runs differ in the last bits.");
}

TEST(WithVariant, ChangesOneOpAlone) {
  const core::DeviceInfo device = cpu();
  const plan::Selection before = plan::default_selection(device, Precision::fp32);
  const plan::Selection after = with_variant(before, Op::relu_forward, "loops", device, true);
  EXPECT_EQ(after.variants.at(Op::relu_forward), "loops");
  EXPECT_EQ(after.variants.at(Op::conv2d_forward), before.variants.at(Op::conv2d_forward));
}

TEST(WithVariant, EndsTheBlocksThatContainTheLayer) {
  const core::DeviceInfo device = cpu();
  plan::Selection blocks = plan::default_selection(device, Precision::fp32);
  plan::choose(blocks, Op::block_forward, "loops", device);
  std::vector<training::OpTiming> timings(2);
  timings[0].op = Op::linear_forward;
  timings[1].op = Op::relu_forward;
  EXPECT_FALSE(blocks_run(timings)) << "a network without convolutions";
  EXPECT_FALSE(ends_blocks(blocks, Op::relu_forward, device.kind, false));
  EXPECT_EQ(plan::describe_change(blocks, with_variant(blocks, Op::relu_forward, "reference", device, false)),
            "relu.forward: onednn -> reference");

  timings.emplace_back().op = Op::block_forward;
  ASSERT_TRUE(blocks_run(timings));
  EXPECT_TRUE(ends_blocks(blocks, Op::relu_forward, device.kind, true));
  EXPECT_FALSE(ends_blocks(blocks, Op::linear_forward, device.kind, true));
  const plan::Selection ended = with_variant(blocks, Op::relu_forward, "reference", device, true);
  EXPECT_EQ(plan::describe_change(blocks, ended),
            "relu.forward: onednn -> reference; block.*: loops -> parts, layers run one by one");
  EXPECT_FALSE(ends_blocks(ended, Op::relu_forward, device.kind, true));
  EXPECT_TRUE(variant_tip(variant(Op::relu_forward, "x"), true).ends_with("every layer runs by itself."));
}

}  // namespace
}  // namespace warpscope::ui
