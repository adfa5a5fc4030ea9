// A training whose device is lost goes on in another process as if nothing had happened. This program, started again
// with WARPSCOPE_TEST_ROLE, is that process.

#include "gpu/remote/lasting_training.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "gpu/models/model.h"
#include "gpu/runs/references.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/failing_variant.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::remote::lasting_training_test {
namespace {

using tests::FeedLog;
using tests::kPatience;
using training::TrainerOptions;
using training::TrainerState;

constexpr char kRole[] = "WARPSCOPE_TEST_ROLE";

/// What main() of the tests would not do: before it begins.
const bool kPlaysNoRole = [] {
  if (std::getenv(kRole) != nullptr) std::_Exit(go_on_training());
  return true;
}();

class Lasting : public testing::Test {
 protected:
  Lasting() {
    ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    ::setenv(kRole, "go on", 1);
  }
  ~Lasting() override { ::unsetenv(kRole); }

  /// With a data set that another process finds too.
  static TrainerOptions options() {
    TrainerOptions made = tests::tiny_trainer_options();
    made.model = models::find_model("mlp");
    made.data_set = nullptr;
    made.data = "builtin";
    made.steps = 60;
    made.test_every = 20;
    return made;
  }
  /// Its device is lost in a call of relu.forward, of which a step makes some.
  static TrainerOptions failing(int calls) {
    TrainerOptions made = options();
    made.variants = tests::with_failing_relu(calls);
    made.select += std::string(",relu.forward=") + tests::kFailing;
    return made;
  }
  static std::vector<float> weights_without_failure() {
    training::Trainer trainer(options());
    EXPECT_TRUE(trainer.wait(kPatience));
    return *trainer.ending().parameters;
  }

  tests::TemporaryFolder folder_;
};

TEST_F(Lasting, GoesOnInAnotherProcessWithTheSameBitsAndWithoutTheKernel) {
  const std::vector<float> expected = weights_without_failure();
  TrainerOptions paused = failing(70);
  paused.start_paused = true;
  LastingTraining training(std::move(paused));
  FeedLog log(training.subscribe());
  for (int i = 0; i < 10; ++i) training.send(training::StepOnce{});
  ASSERT_TRUE(tests::eventually([&] { return std::ranges::count(*training.snapshot()->moments, 10u) == 1; }));
  training.send(training::Resume{});
  ASSERT_TRUE(training.wait(kPatience));
  ASSERT_EQ(log.all<training::Return>().size(), 1u);
  EXPECT_GE(log.all<training::Return>()[0].step, 10u) << "the last state in host memory";
  const auto end = training.snapshot();
  ASSERT_EQ(end->state, TrainerState::finished) << end->notice;
  EXPECT_EQ(end->step, 60u);
  EXPECT_FALSE(end->selection.variants.contains(ops::Op::relu_forward));
  EXPECT_EQ(log.curves().back().size(), 60u);
  ASSERT_TRUE(training.ending().parameters);
  EXPECT_EQ(*training.ending().parameters, expected);
  ASSERT_EQ(log.markers().size(), 1u);
  for (const char* part :
       {tests::kFailure, "goes on in a process of its own from step", "without user:failing"})
    EXPECT_NE(log.markers()[0].find(part), std::string::npos) << log.markers()[0];
  EXPECT_EQ(end->run_dir, "");
}

TEST_F(Lasting, RecordsOnInItsRunFolder) {
  const std::vector<float> expected = weights_without_failure();
  TrainerOptions recorded = failing(70);
  recorded.run_dir = (folder_ / "run").string();
  {
    LastingTraining training(std::move(recorded));
    ASSERT_TRUE(training.wait(kPatience));
    const auto end = training.snapshot();
    ASSERT_EQ(end->state, TrainerState::finished) << end->notice;
    EXPECT_EQ(end->run_dir, (folder_ / "run").string());
    EXPECT_EQ(end->checkpoint_step, 60u);
    EXPECT_EQ(*training.ending().parameters, expected);
  }
  const nlohmann::json head = runs::read_head(folder_ / "run");
  EXPECT_EQ(head.at("status"), "finished");
  EXPECT_EQ(head.at("steps"), 60);
}

TEST_F(Lasting, TakesCommandsInTheOtherProcessAndNumbersGoOn) {
  TrainerOptions endless = failing(70);
  endless.steps = 0;
  LastingTraining training(std::move(endless));
  training.send(training::Change{}, 5);
  ASSERT_TRUE(tests::eventually([&] { return training.snapshot()->generation == 1; }));
  ASSERT_TRUE(tests::eventually([&] { return training.snapshot()->state == TrainerState::running; }));
  EXPECT_GE(training.snapshot()->answers.last, 5u);
  EXPECT_EQ(training.snapshot()->notice_id, 1u);
  training.send(training::Pause{}, 6);
  ASSERT_TRUE(tests::eventually([&] { return training.snapshot()->answers.last == 6; }));
  EXPECT_EQ(training.snapshot()->state, TrainerState::paused);
  const std::uint64_t step = training.snapshot()->step;
  training.send(training::StepOnce{}, 7);
  EXPECT_TRUE(tests::eventually([&] { return training.snapshot()->step == step + 1; }));
}

TEST_F(Lasting, WhoseFirstStepFailsGoesOnFromTheBeginning) {
  LastingTraining training(failing(0));
  FeedLog log(training.subscribe());
  ASSERT_TRUE(training.wait(kPatience));
  EXPECT_EQ(training.snapshot()->state, TrainerState::finished) << training.snapshot()->notice;
  ASSERT_EQ(log.all<training::Return>().size(), 1u);
  EXPECT_EQ(log.all<training::Return>()[0].step, 0u);
  EXPECT_EQ(log.curves().back().size(), 60u);
}

TEST_F(Lasting, IsNoTrainerByItselfWhichFails) {
  const training::Trainer trainer(failing(70));
  ASSERT_TRUE(trainer.wait(kPatience));
  EXPECT_EQ(trainer.snapshot()->state, TrainerState::failed);
  EXPECT_EQ(trainer.snapshot()->notice, tests::kFailure);
  EXPECT_EQ(trainer.ending().hand_over, nullptr);
}

TEST_F(Lasting, WhoseOtherProcessIsKilledFailsInASentence) {
  TrainerOptions endless = failing(70);
  endless.steps = 0;
  LastingTraining training(std::move(endless));
  FeedLog log(training.subscribe());
  ASSERT_TRUE(tests::eventually([&] { return training.process() != 0; }));
  const pid_t process = training.process();
  ASSERT_GT(process, 0);
  ::kill(process, SIGKILL);
  ASSERT_TRUE(training.wait(kPatience));
  EXPECT_EQ(training.snapshot()->state, TrainerState::failed);
  EXPECT_EQ(training.snapshot()->notice,
            "the process that the training went on in has ended by signal 9 (Killed)");
}

TEST_F(Lasting, ThatIsLeftEndsItsProcess) {
  pid_t process = 0;
  {
    TrainerOptions endless = failing(70);
    endless.steps = 0;
    LastingTraining training(std::move(endless));
    ASSERT_TRUE(tests::eventually([&] { return training.process() != 0; }));
    process = training.process();
    ASSERT_GT(process, 0);
  }
  EXPECT_NE(::kill(process, 0), 0);
}

}  // namespace
}  // namespace warpscope::remote::lasting_training_test
