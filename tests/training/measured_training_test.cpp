// A training takes the variants that were measured before, and a run that goes on keeps them.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/plan/program.h"
#include "gpu/profiling/measured_store.h"
#include "gpu/runs/references.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::measured_training_test {
namespace {

using core::Precision;
using ops::Op;
using tests::FeedLog;

constexpr std::uint64_t kSteps = 6;

/// Without an end, so that measuring is worth it.
TrainerOptions options_in(const tests::TemporaryFolder& folder, const char* store) {
  TrainerOptions options = tests::tiny_trainer_options();
  options.select = "";
  options.measure = true;
  options.measured_dir = (folder / store).string();
  return options;
}

/// The masks of gradients, which are the same by any variant.
plan::MeasuredChoices masks_by_loops(const models::Model& model, int batch) {
  const plan::Program program = plan::lower(model, plan::Purpose::training, batch, 40, 16, Precision::fp32);
  plan::MeasuredChoices choices;
  for (const plan::Node& node : program.nodes) {
    if (node.op != Op::relu_backward) continue;
    choices[plan::call_key(node.op, Precision::fp32, node.shape)] = {"loops", 1, "onednn", 5};
  }
  return choices;
}

void keep_in_store(const TrainerOptions& options) {
  const ops::Context context(core::open_device("cpu"));
  profiling::Measurement measurement;
  measurement.choices = masks_by_loops(options.model, options.batch);
  profiling::MeasuredStore(options.measured_dir)
      .keep(profiling::measurement_key(context, options.model,
                                       {options.batch, options.optimizer, options.augment}, {}),
            measurement);
}

struct Seen {
  std::vector<float> losses;
  std::vector<std::string> masks;  ///< the variants that make them
  bool told = false;               ///< that they were measured
};

Seen train(const TrainerOptions& options, std::uint64_t until = kSteps) {
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  Seen seen;
  if (!tests::wait_for_step(trainer, until)) return seen;
  trainer.send(Finish{});
  EXPECT_TRUE(trainer.wait(tests::kPatience));
  const auto last = trainer.snapshot();
  for (const OpTiming& timing : last->timings) {
    if (timing.op != Op::relu_backward) continue;
    seen.masks.push_back(timing.variant);
    seen.told = timing.reason == "measured: 1.0 \u00b5s, onednn 5.0 \u00b5s";
  }
  for (const Point& point : feed.steps()) seen.losses.push_back(point[Metric::loss]);
  seen.losses.resize(until);
  return seen;
}

const std::vector<std::string> kByLoops{"loops", "loops"};
const std::vector<std::string> kByRules{"onednn", "onednn"};

TEST(MeasuredTraining, RunsByWhatWasMeasuredWithTheSameLosses) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = options_in(folder, "store");
  keep_in_store(options);
  const Seen measured = train(options);
  EXPECT_EQ(measured.masks, kByLoops);
  EXPECT_TRUE(measured.told);
  options.measure = false;
  const Seen by_rules = train(options);
  EXPECT_EQ(by_rules.masks, kByRules);
  EXPECT_FALSE(by_rules.told);
  EXPECT_EQ(by_rules.losses, measured.losses);
}

TEST(MeasuredTraining, RunsByTheRulesWhereItIsShort) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = options_in(folder, "store");
  keep_in_store(options);
  options.steps = 100;
  EXPECT_EQ(train(options).masks, kByRules);
}

TEST(MeasuredTraining, GoesByShapesWhenTheBatchChanges) {
  const tests::TemporaryFolder folder;
  const TrainerOptions options = options_in(folder, "store");
  keep_in_store(options);
  Trainer trainer(options);
  const auto masks_at = [&](std::int64_t batch) {
    trainer.send(tests::change("batch", batch));
    std::vector<std::string> masks;
    tests::wait_until(trainer, [&](const Snapshot& now) { return now.settings->batch == batch; });
    tests::wait_for_commands(trainer);
    const auto now = trainer.snapshot();
    for (const OpTiming& timing : now->timings) {
      if (timing.op == Op::relu_backward) masks.push_back(timing.variant);
    }
    return masks;
  };
  ASSERT_TRUE(tests::wait_for_step(trainer, 1));
  EXPECT_EQ(masks_at(4), kByRules);
  EXPECT_EQ(masks_at(8), kByLoops);
}

TEST(MeasuredTraining, GoesOnWithTheVariantsOfTheRun) {
  const tests::TemporaryFolder folder;
  TrainerOptions options = options_in(folder, "store");
  options.run_dir = (folder / "run").string();
  keep_in_store(options);
  train(options);
  const nlohmann::json written = runs::read_head(options.run_dir)[runs::kMeasured];
  EXPECT_EQ(profiling::choices_from_json(written), masks_by_loops(options.model, options.batch));

  TrainerOptions again = options_in(folder, "empty");
  again.resume_dir = options.run_dir;
  EXPECT_EQ(train(again, 2 * kSteps).masks, kByLoops);
  EXPECT_FALSE(std::filesystem::exists(again.measured_dir)) << "nothing was measured anew";
  EXPECT_EQ(runs::read_head(options.run_dir)[runs::kMeasured], written);
}

}  // namespace
}  // namespace warpscope::training::measured_training_test
