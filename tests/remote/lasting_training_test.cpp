// A training whose device is lost goes on in another process as if nothing had happened. This program, started again
// with WARPSCOPE_TEST_ROLE, is that process.

#include "gpu/remote/lasting_training.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "gpu/models/model.h"
#include "gpu/remote/server.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_reader.h"
#include "gpu/runs/unsaved.h"
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
    ::setenv("XDG_DATA_HOME", (folder_ / "data").c_str(), 1);
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
  /// Its device is lost in the first call of relu.forward after `fails` is set.
  static TrainerOptions failing(const std::shared_ptr<std::atomic<bool>>& fails) {
    TrainerOptions made = failing(0);
    made.variants = tests::with_failing_relu([fails] { return fails->load(); });
    return made;
  }
  /// It stands still after 10 steps, a moment of which is kept.
  static void make_ten_steps(training::Source& training) { make_steps(training, 10, 10); }
  static void make_steps(training::Source& training, int count, std::uint64_t up_to) {
    for (int i = 0; i < count; ++i) training.send(training::StepOnce{});
    ASSERT_TRUE(
        tests::eventually([&] { return std::ranges::count(*training.snapshot()->moments, up_to) == 1; }));
  }
  /// Paused, and by a rule whose state is more than the weights.
  static TrainerOptions paused_with_adam(TrainerOptions options) {
    options.optimizer = training::defaults_of(ops::UpdateRule::adam);
    options.start_paused = true;
    return options;
  }
  static std::vector<float> weights_with_adam(std::uint64_t steps) {
    TrainerOptions made = paused_with_adam(options());
    made.start_paused = false;
    made.steps = steps;
    const training::Trainer trainer(std::move(made));
    EXPECT_TRUE(trainer.wait(kPatience));
    return *trainer.ending().parameters;
  }
  /// Moments of steps 0, 3 and 10 are kept then.
  static void lose_after_ten_steps(training::Source& training, std::atomic<bool>& fails) {
    make_steps(training, 3, 3);
    make_steps(training, 7, 10);
    fails = true;
    training.send(training::StepOnce{});
  }
  /// Or that is refused.
  static void rewind(training::Source& training, std::uint64_t step) {
    constexpr std::uint64_t kNumber = 20;
    training.send(training::RewindTo{step}, kNumber);
    ASSERT_TRUE(tests::eventually([&] {
      const auto now = training.snapshot();
      return now->answers.last >= kNumber && !now->rewind.running;
    }));
  }
  static bool comes_as_line(FeedLog& log, std::string_view text) {
    return tests::eventually([&] {
      const auto lines = log.all<training::LogLine>();
      return std::ranges::any_of(lines,
                                 [&](const auto& line) { return line.text.find(text) != std::string::npos; });
    });
  }
  static bool wait_for_state(const training::Source& training, TrainerState state) {
    return tests::eventually([&] { return training.snapshot()->state == state; });
  }
  static testing::AssertionResult tells(const training::Source& training,
                                        std::initializer_list<std::string_view> parts) {
    return tests::holds(training.snapshot()->notice, parts);
  }
  /// Folders of moments that nobody asked to record.
  std::size_t moment_folders() const {
    std::size_t folders = 0;
    std::error_code none;  // there are no moments yet
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache/warpscope/moments", none))
      folders += entry.is_directory() ? 1 : 0;
    return folders;
  }
  /// What the next window offers.
  static std::vector<runs::UnsavedTraining> offered() {
    return runs::unsaved_trainings(runs::unsaved_folder());
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
  EXPECT_EQ(log.markers()[0].find("gone"), std::string::npos) << log.markers()[0];
  EXPECT_EQ(end->run_dir, "");
  ASSERT_FALSE(end->moments->empty());
  EXPECT_EQ(end->moments->front(), 0u);
}

TEST_F(Lasting, GoesBackToStepsOfTheProcessBeforeWithTheSameBits) {
  for (const bool recorded : {false, true}) {
    const auto fails = std::make_shared<std::atomic<bool>>(false);
    TrainerOptions paused = paused_with_adam(failing(fails));
    if (recorded) paused.run_dir = (folder_ / "run").string();
    LastingTraining training(std::move(paused));
    FeedLog log(training.subscribe());
    lose_after_ten_steps(training, *fails);
    ASSERT_TRUE(
        tests::eventually([&] { return training.process() != 0 && training.snapshot()->step == 11; }));
    ASSERT_TRUE(tests::eventually([&] { return training.snapshot()->moments->size() > 1; }));
    EXPECT_EQ(training.snapshot()->moments->front(), 0u);
    EXPECT_EQ(std::ranges::count(*training.snapshot()->moments, 3u), 1);
    ASSERT_EQ(log.markers().size(), 1u);
    EXPECT_EQ(log.markers()[0].find("gone"), std::string::npos) << log.markers()[0];
    const std::uint64_t to = recorded ? 3 : 4;
    rewind(training, to);
    EXPECT_EQ(training.snapshot()->step, to) << training.snapshot()->notice;
    EXPECT_FALSE(training.snapshot()->selection.variants.contains(ops::Op::relu_forward));
    if (recorded) {
      EXPECT_TRUE(comes_as_line(log, "the moment of step 3 is read from the disk"));
      training.send(training::Resume{});
    } else {
      training.send(training::Finish{});
    }
    ASSERT_TRUE(training.wait(kPatience));
    ASSERT_TRUE(training.ending().parameters);
    EXPECT_EQ(*training.ending().parameters, weights_with_adam(recorded ? 60 : to));
  }
  EXPECT_EQ(moment_folders(), 0u);
}

TEST_F(Lasting, LeavesNoMomentsWhereItsOtherProcessIsKilled) {
  {
    const auto fails = std::make_shared<std::atomic<bool>>(false);
    LastingTraining training(paused_with_adam(failing(fails)));
    lose_after_ten_steps(training, *fails);
    ASSERT_TRUE(
        tests::eventually([&] { return training.process() != 0 && training.snapshot()->step == 11; }));
    EXPECT_EQ(moment_folders(), 1u) << "one for both processes";
    ::kill(training.process(), SIGKILL);
    ASSERT_TRUE(training.wait(kPatience));
  }
  EXPECT_EQ(moment_folders(), 0u);
}

TEST_F(Lasting, LosesOnlyItsMomentsWhereTheDiskTakesNone) {
  tests::write_text(folder_ / "cache/warpscope/moments", "a file");
  for (const bool allowed : {true, false}) {
    const auto fails = std::make_shared<std::atomic<bool>>(false);
    TrainerOptions paused = paused_with_adam(failing(fails));
    if (!allowed) paused.moments_disk_mib = 0;
    LastingTraining training(std::move(paused));
    FeedLog log(training.subscribe());
    lose_after_ten_steps(training, *fails);
    ASSERT_TRUE(
        tests::eventually([&] { return training.process() != 0 && training.snapshot()->step == 11; }));
    ASSERT_EQ(log.markers().size(), 1u);
    EXPECT_TRUE(tests::holds(log.markers()[0], {"the way back to steps before 10 is gone"}));
    EXPECT_EQ(log.markers()[0].find("cannot ") != std::string::npos, allowed) << log.markers()[0];
    ASSERT_TRUE(tests::eventually([&] { return !training.snapshot()->moments->empty(); }));
    EXPECT_EQ(training.snapshot()->moments->front(), 10u) << "nothing is offered that is gone";
    training.send(training::Resume{});
    ASSERT_TRUE(training.wait(kPatience));
    EXPECT_EQ(*training.ending().parameters, weights_with_adam(60));
  }
}

TEST_F(Lasting, LosesOnlyMomentsThatAreDamagedOrGone) {
  for (const bool gone : {false, true}) {
    const auto fails = std::make_shared<std::atomic<bool>>(false);
    TrainerOptions first = paused_with_adam(failing(fails));
    first.goes_on_elsewhere = true;
    training::Trainer before(std::move(first));
    lose_after_ten_steps(before, *fails);
    ASSERT_TRUE(tests::eventually([&] { return before.ending().hand_over != nullptr; }));
    const auto over = before.ending().hand_over;
    ASSERT_TRUE(over->moments);
    const std::filesystem::path folder = over->moments->folder;
    for (const training::Moment& moment : over->moments->kept) {
      const std::filesystem::path file = folder / over->moments->files.at(moment.number).name;
      if (moment.step > 0) std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    }
    if (gone) std::filesystem::remove_all(folder);
    training::Trainer training(training::options_of(over));
    FeedLog log(training.subscribe());
    ASSERT_TRUE(wait_for_state(training, TrainerState::paused));
    if (gone) {
      EXPECT_TRUE(tells(training, {"of the process before are not in ", " any more"}));
      ASSERT_TRUE(tests::eventually([&] { return !training.snapshot()->moments->empty(); }));
      EXPECT_EQ(training.snapshot()->moments->front(), 10u);
      rewind(training, 4);
      EXPECT_TRUE(training.snapshot()->answers.is_refused(20));
      EXPECT_EQ(training.snapshot()->step, 10u);
    } else {
      rewind(training, 4);
      EXPECT_TRUE(comes_as_line(log, "the moment of step 3 is lost: "));
      EXPECT_EQ(training.snapshot()->step, 4u) << training.snapshot()->notice;
    }
    training.send(training::Finish{});
    ASSERT_TRUE(training.wait(kPatience));
    EXPECT_EQ(*training.ending().parameters, weights_with_adam(gone ? 10 : 4));
  }
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
  ASSERT_TRUE(tests::eventually([&] { return training.snapshot()->answers.last == 5; }));
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
  EXPECT_TRUE(tells(training, {"the process that the training went on in has ended by signal 9 (Killed)",
                               "its state of step ", " is kept in "}));
  training.send(training::Pause{}, 9);
  EXPECT_TRUE(training.snapshot()->answers.is_refused(9)) << "nobody is left to carry it out";
}

TEST_F(Lasting, WhatNobodyRecordsIsOfferedAfterACrashAndGoneAfterTheEnd) {
  for (const bool crashes : {true, false}) {
    {
      TrainerOptions endless = failing(70);
      endless.steps = 0;
      LastingTraining training(std::move(endless));
      ASSERT_TRUE(tests::eventually([&] { return training.process() != 0; }));
      ASSERT_TRUE(wait_for_state(training, TrainerState::running));
      ASSERT_EQ(offered().size(), 1u) << "should the window crash now";
      EXPECT_TRUE(runs::is_being_written(offered()[0].folder)) << "nobody else goes on with it meanwhile";
      if (crashes) {
        ::kill(training.process(), SIGKILL);
      } else {
        training.send(training::Finish{});
      }
      ASSERT_TRUE(training.wait(kPatience));
    }
    EXPECT_EQ(offered().size(), crashes ? 1u : 0u);
    if (!crashes) continue;
    TrainerOptions again = options();
    again.resume_dir = offered()[0].folder.string();
    again.start_paused = true;
    {
      training::Trainer trainer(again);
      ASSERT_TRUE(tests::wait_for_state(trainer, TrainerState::paused));
      EXPECT_EQ(trainer.snapshot()->step, offered()[0].step);
    }
    std::filesystem::remove_all(runs::unsaved_folder());  // which nobody writes any more
  }
}

TEST_F(Lasting, ThatIsLeftKeepsItselfAndNotWhatWasHandedOver) {
  TrainerOptions endless = failing(70);
  endless.steps = 0;
  endless.unsaved_dir = runs::unsaved_folder().string();
  endless.unsaved_seconds = 0;
  std::string kept_in;
  std::uint64_t handed_over = 0;
  {
    LastingTraining training(std::move(endless));
    ASSERT_TRUE(tests::eventually([&] { return training.process() != 0; }));
    handed_over = offered().at(0).step;
    ASSERT_TRUE(tests::eventually([&] { return training.snapshot()->step > handed_over + 10; }));
    training.send(training::Leave{});
    ASSERT_TRUE(tests::eventually([&] { return training.snapshot()->may_close; }));
    kept_in = training.snapshot()->kept_in;
  }
  ASSERT_EQ(offered().size(), 1u);
  EXPECT_EQ(offered()[0].folder.string(), kept_in);
  EXPECT_GT(offered()[0].step, handed_over + 10);
}

TEST_F(Lasting, WhoseStateCannotBeWrittenSaysThatNothingIsKeptAndTellsNobodyThatItGoesOn) {
  tests::write_text(runs::unsaved_folder(), "a file");
  LastingTraining training(failing(70));
  FeedLog log(training.subscribe());
  ASSERT_TRUE(training.wait(kPatience));
  EXPECT_EQ(training.snapshot()->state, TrainerState::failed);
  EXPECT_TRUE(tells(training, {tests::kFailure, "its state cannot be written for another process",
                               "no checkpoint of it is kept"}));
  EXPECT_TRUE(log.markers().empty());
  EXPECT_TRUE(log.all<training::Return>().empty());
  EXPECT_EQ(log.curves().back().size(), training.snapshot()->step);
}

TEST_F(Lasting, WhoseDiskIsFullKeepsItsLastCheckpoint) {
  const auto fails = std::make_shared<std::atomic<bool>>(false);
  TrainerOptions recorded = failing(fails);
  recorded.start_paused = true;
  recorded.run_dir = (folder_ / "run").string();
  LastingTraining training(std::move(recorded));
  FeedLog log(training.subscribe());
  make_ten_steps(training);
  training.send(training::SaveCheckpoint{});
  ASSERT_TRUE(tests::eventually([&] { return training.snapshot()->checkpoint_step == 10; }));
  const tests::FileSizeLimit limit(100'000);
  *fails = true;
  training.send(training::StepOnce{});
  ASSERT_TRUE(training.wait(kPatience));
  EXPECT_EQ(training.snapshot()->state, TrainerState::failed);
  EXPECT_TRUE(
      tells(training, {tests::kFailure, "File too large", "its last checkpoint is that of step 10, in"}));
  EXPECT_TRUE(log.markers().empty());
  const auto kept = training::newest_valid(folder_ / "run", options().model).checkpoint;
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->step, 10u);
}

TEST_F(Lasting, CommandsBehindTheHandOverAreLeftForWhoGoesOn) {
  TrainerOptions made = failing(70);
  made.goes_on_elsewhere = true;
  const auto trainer = std::make_shared<training::Trainer>(std::move(made));
  ASSERT_TRUE(tests::eventually([&] { return trainer->ending().hand_over != nullptr; }));
  auto [near, far] = make_connection();
  std::jthread server([&trainer, &channel = far] {
    Server(trainer, channel, leaving(trainer)).serve();
    channel.end();
  });
  RemoteSource source(near);
  for (const std::uint64_t number : {7, 8}) source.send(training::StepOnce{}, number);
  source.end();
  source.follow();
  ASSERT_TRUE(source.left().hand_over);
  ASSERT_TRUE(source.left().late);
  ASSERT_EQ(source.left().late->size(), 2u);
  EXPECT_EQ(source.left().late->at(0).number, 7u);
  EXPECT_EQ(source.left().late->at(1).number, 8u);
  EXPECT_TRUE(trainer->take_unread().empty()) << "each once";
}

TEST_F(Lasting, CommandsBehindTheHandOverOfThisProcessAreCarriedOutInTheNext) {
  TrainerOptions paused = failing(0);
  paused.start_paused = true;
  paused.steps = 0;
  LastingTraining training(std::move(paused));
  for (std::uint64_t number = 1; number <= 20; ++number) training.send(training::StepOnce{}, number);
  EXPECT_TRUE(tests::eventually([&] { return training.snapshot()->step == 20; }));
  EXPECT_NE(training.process(), 0) << "the first of these steps lost the device";
  EXPECT_EQ(training.snapshot()->answers.last, 20u);
  EXPECT_TRUE(training.snapshot()->answers.refused.empty());
}

TEST_F(Lasting, WhichHasMadeAllStepsMakesNoneAgainToBeEvaluated) {
  TrainerOptions made = options();
  made.test_every = 1000;
  const auto calls_of = [&](std::uint64_t steps) {
    const auto calls = std::make_shared<std::atomic<int>>(0);
    TrainerOptions counted = failing(0);
    counted.variants = tests::with_failing_relu([calls] {
      ++*calls;
      return false;
    });
    counted.steps = steps;
    counted.test_every = 1000;
    const training::Trainer trainer(counted);
    EXPECT_TRUE(trainer.wait(kPatience));
    return calls->load();
  };
  const std::vector<float> expected = weights_without_failure();
  TrainerOptions fails = failing(2 * (calls_of(60) - calls_of(30)));
  fails.test_every = 1000;
  LastingTraining training(std::move(fails));
  FeedLog log(training.subscribe());
  ASSERT_TRUE(training.wait(kPatience));
  EXPECT_EQ(training.snapshot()->state, TrainerState::finished) << training.snapshot()->notice;
  ASSERT_EQ(log.markers().size(), 1u);
  EXPECT_TRUE(tests::holds(log.markers()[0], {"goes on in a process of its own from step 60"}));
  EXPECT_EQ(log.tests().size(), 1u);
  EXPECT_EQ(*training.ending().parameters, expected);
}

TEST_F(Lasting, ThatHasFinishedStaysAsItIs) {
  const auto fails = std::make_shared<std::atomic<bool>>(false);
  TrainerOptions unrecorded = failing(fails);
  unrecorded.unsaved_dir = runs::unsaved_folder().string();
  unrecorded.unsaved_seconds = 0;
  LastingTraining training(std::move(unrecorded));
  FeedLog log(training.subscribe());
  ASSERT_TRUE(training.wait(kPatience));
  *fails = true;
  training::Observe observe;
  observe.request.inspected_image = 3;
  training.send(observe);
  ASSERT_TRUE(tests::eventually([&] { return training.snapshot()->notice_id == 1; }));
  EXPECT_TRUE(tells(training, {tests::kFailure, "the training had finished before"}));
  EXPECT_EQ(training.snapshot()->state, TrainerState::finished);
  EXPECT_TRUE(log.markers().empty());
  training.send(training::Reset{}, 1);
  training.send(training::Save{(folder_ / "weights.safetensors").string()}, 2);
  training.send(training::Leave{}, 3);
  ASSERT_TRUE(tests::eventually([&] { return training.snapshot()->answers.last == 3; }));
  const auto end = training.snapshot();
  EXPECT_EQ(end->answers.refused, std::vector<std::uint64_t>{1});
  EXPECT_TRUE(std::filesystem::exists(folder_ / "weights.safetensors"));
  EXPECT_TRUE(end->may_close);
  EXPECT_EQ(training.process(), 0);
  ASSERT_EQ(offered().size(), 1u);
  EXPECT_EQ(offered()[0].step, 60u);
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
