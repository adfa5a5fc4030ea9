// Random live switches of variant, precision and batch size: whatever a person clicks, the training goes on.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/data/dataset.h"
#include "gpu/ops/variant.h"
#include "tests/support/changes.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::switches_test {
namespace {

using core::Precision;
using tests::FeedLog;

/// Clicks at random, as a window would: only on what is offered.
class Clicker {
 public:
  Clicker(std::uint32_t seed, core::DeviceInfo device, std::vector<int> batches)
      : random_(seed), device_(std::move(device)), batches_(std::move(batches)) {}

  Command next(const Snapshot& now) {
    plan::Selection selection = now.selection;
    switch (random_() % 5) {
      case 0:
        return tests::change("batch", batches_[random_() % batches_.size()]);
      case 1: {
        const auto precisions = core::selectable_precisions();
        const Precision precision = precisions[random_() % precisions.size()];
        selection = plan::with_precision(selection, precision, device_);
        return Select{runs_everything(selection) ? selection : now.selection};
      }
      default: {
        const auto op = static_cast<ops::Op>(random_() % ops::kOpCount);
        const auto offered = offers(op, selection.precision);
        const std::size_t drawn = random_() % (offered.size() + 1);
        if (drawn == offered.size()) {
          selection.variants.erase(op);  // automatic again
        } else {
          selection.variants[op] = offered[drawn];
        }
        return Select{selection};
      }
    }
  }

 private:
  std::vector<std::string> offers(ops::Op op, Precision precision) const {
    std::vector<std::string> names;
    for (const ops::Variant* variant : ops::variants_of(*ops::built_in_variants(), op, device_.kind)) {
      if (ops::unavailable_reason(*variant, device_, precision).empty()) names.push_back(variant->name);
    }
    return names;
  }
  bool runs_everything(const plan::Selection& selection) const {
    return std::all_of(ops::contracts().begin(), ops::contracts().end(), [&](const auto& contract) {
      return plan::automatic_variant(contract.op, device_, selection.precision) != nullptr;
    });
  }

  std::mt19937 random_;
  core::DeviceInfo device_;
  std::vector<int> batches_;
};

struct Plan {
  TrainerOptions options;
  int switches = 0;
  std::vector<int> batches;
};

double mean(const std::vector<float>& values, std::size_t first, std::size_t count) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(first),
                         values.begin() + static_cast<std::ptrdiff_t>(first + count), 0.0) /
         static_cast<double>(count);
}

void switch_at_random(Plan what) {
  Trainer trainer(what.options);
  FeedLog feed(trainer.subscribe());
  ASSERT_TRUE(tests::wait_for_step(trainer, 3));
  const plan::Selection first = trainer.snapshot()->selection;
  trainer.send(Pause{});
  ASSERT_TRUE(tests::wait_for_state(trainer, TrainerState::paused));
  const core::MemoryUse before = trainer.snapshot()->memory;
  trainer.send(Resume{});
  ASSERT_TRUE(tests::wait_for_state(trainer, TrainerState::running));
  Clicker clicker(20240917, trainer.snapshot()->device, what.batches);
  int refused = 0;
  for (int i = 0; i < what.switches; ++i) {
    const auto now = trainer.snapshot();
    ASSERT_EQ(now->state, TrainerState::running) << now->notice;
    trainer.send(clicker.next(*now));
    ASSERT_TRUE(tests::wait_for_step(trainer, now->step + 3)) << "after switch " << i;
    const auto then = trainer.snapshot();
    if (then->notice_id == now->notice_id) continue;
    ++refused;
    testing::Test::RecordProperty("refusal_" + std::to_string(refused), then->notice);
  }
  trainer.send(Select{first});
  trainer.send(tests::change("batch", what.options.batch));
  const std::uint64_t last = trainer.snapshot()->step;
  ASSERT_TRUE(tests::wait_for_step(trainer, last + 50));
  trainer.send(Pause{});
  ASSERT_TRUE(tests::wait_for_state(trainer, TrainerState::paused));
  const auto end = trainer.snapshot();
  EXPECT_EQ(end->selection, first);
  EXPECT_EQ(end->memory.allocated_bytes, before.allocated_bytes) << "memory of old plans is still held";
  // What libraries load lazily (their modules, their handles) stays; plans of a few hundred MiB would show.
  if (before.free_bytes > 0) {
    const double lost = static_cast<double>(before.free_bytes) - static_cast<double>(end->memory.free_bytes);
    EXPECT_LT(lost, 1.5 * (1 << 30));
    testing::Test::RecordProperty("memory_lost_mib", std::to_string(lost / (1 << 20)));
  }
  testing::Test::RecordProperty("refused", refused);
  EXPECT_LT(refused, what.switches / 4 + 1) << "last: " << end->notice;
  const std::vector<float> losses = feed.curves().back();
  for (const float loss : losses) ASSERT_TRUE(std::isfinite(loss));
  const std::size_t tenth = losses.size() / 10;
  EXPECT_LT(mean(losses, losses.size() - tenth, tenth), mean(losses, 0, tenth));
}

TEST(RandomSwitches, OfTheCpuNeitherStopNorLeakNorSpoilTheTraining) {
  Plan plan{tests::tiny_trainer_options(), 300, {4, 8, 12}};
  plan.options.shown_images = 4;
  switch_at_random(plan);
}

TEST(RandomSwitches, OfTheGpuNeitherStopNorLeakNorSpoilTheTraining) {
  if (const std::string reason = core::cuda_unavailable_reason(); !reason.empty()) GTEST_SKIP() << reason;
  TrainerOptions options;
  options.model = models::find_model("autoencoder");
  options.data = "builtin";
  options.device = "cuda:0";
  options.precision = core::Precision::fp32;
  options.optimizer = defaults_of(ops::UpdateRule::sgd);
  options.schedule = {};
  options.batch = 32;
  options.test_images = 256;
  switch_at_random({options, 1000, {16, 32, 64}});
}

}  // namespace
}  // namespace warpscope::training::switches_test
