// Whole training steps of every network, and of everything that a training adds to them, on the CPU.

#include "gpu/profiling/step_bench.h"

#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/models/model_file.h"
#include "gpu/plan/presets.h"
#include "tests/support/plan_memory.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_text.h"

namespace warpscope::profiling::step_bench_test {
namespace {

using core::Precision;

StepOptions one_step() {
  StepOptions options;
  options.samples = 1;
  return options;
}

StepRow step_of(const models::Model& model, const StepSetup& setup, const std::string& select,
                Precision precision = Precision::fp32) {
  const auto cpu = core::open_device("cpu");
  StepCase what{"chosen", plan::Selection{precision, {}}, ""};
  plan::apply(what.selection, select, cpu->info());
  return time_steps(cpu, model, setup, what, one_step());
}

/// Those that are built in and those that come along as files.
std::map<std::string, models::Model> all_networks() {
  std::map<std::string, models::Model> networks;
  for (const std::string& name : models::model_names()) networks.emplace(name, models::find_model(name));
  for (const auto& file : std::filesystem::directory_iterator(WARPSCOPE_NETWORKS)) {
    if (file.path().extension() == ".toml") {
      networks.emplace(file.path().stem().string(), models::read_model(file.path()));
    }
  }
  return networks;
}

TEST(StepBench, TimesTheStepsOfEveryNetwork) {
  for (const auto& [name, model] : all_networks()) {
    const StepRow row = step_of(model, {.batch = 1}, "preset=onednn");
    EXPECT_EQ(row.skipped, "") << name;
    EXPECT_GT(row.images_per_second, 0) << name;
  }
}

TEST(StepBench, TimesStepsInEveryPrecisionOfTheCpu) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  const ops::Variants variants = ops::built_in_variants();
  const ops::Variant* const onednn =
      ops::find_variant(*variants, ops::Op::conv2d_forward, core::DeviceKind::cpu, "onednn");
  ASSERT_NE(onednn, nullptr);
  for (const Precision precision : plan::training_precisions(cpu)) {
    // oneDNN has no BF16 where the processor has none of AVX-512.
    const bool takes = ops::unavailable_reason(*onednn, cpu, precision).empty();
    const StepRow row =
        step_of(tests::tiny_classifier(), {.batch = 2}, takes ? "preset=onednn" : "preset=loops", precision);
    EXPECT_EQ(row.skipped, "");
    EXPECT_GT(row.images_per_second, 0);
  }
}

TEST(StepBench, TimesTheStepsOfEveryOptimizer) {
  for (const ops::RuleRow& rule : ops::kUpdateRules) {
    const StepRow row = step_of(tests::tiny_classifier(),
                                {.batch = 2, .optimizer = training::defaults_of(rule.rule)}, "all=loops");
    EXPECT_EQ(row.skipped, "") << rule.name;
    EXPECT_GT(row.images_per_second, 0) << rule.name;
  }
}

TEST(StepBench, TimesWhatATrainingAddsToAStep) {
  StepSetup setup{.batch = 4};
  setup.optimizer.clip_norm = 1;
  setup.optimizer.accumulate = 3;
  setup.augment.crop = 2;
  setup.augment.mixup = 0.2f;
  const StepRow accumulated = step_of(tests::tiny_classifier(), setup, "all=loops");
  EXPECT_EQ(accumulated.skipped, "");
  EXPECT_EQ(accumulated.batch, 12);
  EXPECT_NEAR(accumulated.images_per_second, 12e6 / accumulated.median, 1e-6 * accumulated.images_per_second);

  setup = {.batch = 4};
  setup.optimizer.per_sample = true;
  const StepRow by_sample = step_of(tests::tiny_classifier(), setup, "all=loops");
  EXPECT_EQ(by_sample.skipped, "");
  EXPECT_EQ(by_sample.batch, 4);

  const StepRow with_head =
      step_of(models::with_head(models::find_model("autoencoder"), 10), {.batch = 1}, "");
  EXPECT_EQ(with_head.skipped, "");
  const StepRow text = step_of(tests::tiny_text_model(), {.batch = 2}, "all=loops");
  EXPECT_EQ(text.skipped, "");
}

TEST(StepBench, LabelsAreClassesOfTheNetwork) {
  const auto cpu = core::open_device("cpu");
  const auto stream = cpu->make_stream();
  const models::Model model = tests::tiny_classifier();
  const StepMemory memory(cpu, *stream, model, {.batch = 16}, Precision::fp32);
  const plan::Bindings bindings = memory.bindings();
  for (std::int64_t i = 0; i < bindings.image_count; ++i) EXPECT_LT(bindings.labels[i], model.classes);
  EXPECT_EQ(bindings.first_state != nullptr, ops::states_of(StepSetup{}.optimizer.rule) > 0);
  EXPECT_EQ(bindings.latents, nullptr);
}

}  // namespace
}  // namespace warpscope::profiling::step_bench_test
