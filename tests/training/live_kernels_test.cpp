// Kernels of users in a training that runs: swapped between two steps, refused, left, forgotten, gone back to.

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/files/sha256.h"
#include "gpu/files/text.h"
#include "gpu/runs/references.h"
#include "gpu/training/carried_kernels.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/fake_workshop.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::live_kernels_test {
namespace {

using tests::FeedLog;
using tests::relu_kernel;
using tests::save;
using tests::wait_for_commands;
using tests::wait_for_step;
using tests::wait_until;

class LiveKernels : public testing::Test {
 protected:
  LiveKernels() : log_(std::make_shared<tests::WorkshopLog>()), file_((folder_ / "mine.cpp").string()) {}

  TrainerOptions options() const {
    TrainerOptions made = tests::tiny_trainer_options();
    made.live_kernels.workshop = tests::fake_workshop(log_);
    made.start_paused = true;
    return made;
  }
  /// The version that runs; 0: none does.
  static int used(const Snapshot& now) {
    const auto& kernels = now.user_kernels->kernels;
    return kernels.empty() ? 0 : kernels[0].used();
  }
  static bool newest_is(const Snapshot& now, int number, KernelStage stage) {
    const auto& kernels = now.user_kernels->kernels;
    const KernelVersion* const newest = kernels.empty() ? nullptr : kernels[0].newest();
    return newest != nullptr && newest->number == number && newest->stage == stage;
  }
  static bool wait_for_use(const Trainer& trainer, int number) {
    return wait_until(trainer, [=](const Snapshot& now) { return used(now) == number; });
  }
  static bool wait_for_version(const Trainer& trainer, int number, KernelStage stage) {
    return wait_until(trainer, [=](const Snapshot& now) { return newest_is(now, number, stage); });
  }
  static void steps(Trainer& trainer, int count) {
    const std::uint64_t end = trainer.snapshot()->step + static_cast<std::uint64_t>(count);
    for (int i = 0; i < count; ++i) trainer.send(StepOnce{});
    ASSERT_TRUE(wait_for_step(trainer, end));
  }
  /// The losses of so many steps with nothing of a user's.
  std::vector<float> plain(int count) const {
    Trainer trainer(options());
    FeedLog feed(trainer.subscribe());
    steps(trainer, count);
    return feed.curves().at(0);
  }

  tests::TemporaryFolder folder_;
  std::shared_ptr<tests::WorkshopLog> log_;
  std::string file_;
};

TEST_F(LiveKernels, AreSwappedBetweenStepsWithTheSameBitsAndAMarker) {
  save(file_, relu_kernel("one"));
  Trainer trainer(options());
  FeedLog feed(trainer.subscribe());
  steps(trainer, 3);
  trainer.send(LoadKernel{file_, true});
  ASSERT_TRUE(wait_for_use(trainer, 1));
  EXPECT_EQ(log_->launches, 0) << "at the next step";
  steps(trainer, 3);
  EXPECT_GT(log_->launches, 0);
  save(file_, relu_kernel("two"));
  ASSERT_TRUE(wait_for_use(trainer, 2));
  steps(trainer, 3);
  EXPECT_EQ(feed.markers(),
            (std::vector<std::string>{"kernel user:mine, version 1", "kernel user:mine, version 2"}));
  EXPECT_EQ(feed.all<Marker>().at(1).step, 6u);
  EXPECT_EQ(feed.curves().at(0), plain(9));
  EXPECT_EQ(trainer.snapshot()->selection.variants.at(ops::Op::relu_forward), "user:mine");
  EXPECT_EQ(trainer.snapshot()->notice, "");
}

TEST_F(LiveKernels, OfOtherBitsChangeTheStepsBehindThemAndTheWayBackToThoseBefore) {
  save(file_, relu_kernel("one"));
  Trainer trainer(options());
  FeedLog feed(trainer.subscribe());
  trainer.send(LoadKernel{file_, true});
  ASSERT_TRUE(wait_for_use(trainer, 1));
  steps(trainer, 4);
  save(file_, relu_kernel("zeros"));
  ASSERT_TRUE(wait_for_use(trainer, 2));
  steps(trainer, 4);
  const std::vector<float> first = feed.curves().at(0);
  EXPECT_NE(first, plain(8));
  trainer.send(RewindTo{6});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.step == 6 && !now.rewind.running; }));
  EXPECT_EQ(used(*trainer.snapshot()), 2);
  trainer.send(RewindTo{4});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.step == 4 && !now.rewind.running; }));
  ASSERT_TRUE(wait_for_use(trainer, 1)) << "before what was changed there";
  trainer.send(RewindTo{2});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.step == 2 && !now.rewind.running; }));
  ASSERT_TRUE(wait_for_use(trainer, 1)) << "as it was then";
  steps(trainer, 2);
  const std::vector<float> again = feed.curves().back();
  EXPECT_EQ(again, std::vector<float>(first.begin(), first.begin() + 4));
}

TEST_F(LiveKernels, ThatAreRefusedLeaveTheTrainingAsItIs) {
  save(file_, relu_kernel("one"));
  Trainer trainer(options());
  FeedLog feed(trainer.subscribe());
  trainer.send(LoadKernel{file_, true});
  ASSERT_TRUE(wait_for_use(trainer, 1));
  steps(trainer, 2);
  int version = 1;
  for (const char* words : {"bad", "wrong", "no compiler"}) {
    save(file_, relu_kernel(words));
    ASSERT_TRUE(wait_for_version(trainer, ++version, KernelStage::refused));
    steps(trainer, 1);
  }
  std::filesystem::remove(file_);
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.user_kernels->kernels[0].gone; }));
  steps(trainer, 1);
  EXPECT_EQ(used(*trainer.snapshot()), 1);
  EXPECT_EQ(feed.curves().at(0), plain(6));
  EXPECT_EQ(feed.markers().size(), 1u);
}

TEST_F(LiveKernels, WaitForAClickWhereNobodyAskedForMore) {
  save(file_, relu_kernel("one"));
  Trainer trainer(options());
  FeedLog feed(trainer.subscribe());
  trainer.send(LoadKernel{file_, false});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) {
    return !now.user_kernels->kernels.empty() && now.user_kernels->kernels[0].in_table == 1;
  })) << "it can be chosen as any variant";
  EXPECT_EQ(used(*trainer.snapshot()), 0);
  plan::Selection selection = trainer.snapshot()->selection;
  const plan::Selection before = selection;
  selection.variants[ops::Op::relu_forward] = "user:mine";
  trainer.send(Select{selection});
  ASSERT_TRUE(wait_for_use(trainer, 1));
  save(file_, relu_kernel("two"));
  ASSERT_TRUE(wait_for_version(trainer, 2, KernelStage::ready));
  ASSERT_TRUE(wait_for_commands(trainer));
  EXPECT_EQ(used(*trainer.snapshot()), 1);
  trainer.send(UseKernel{file_, 2});
  ASSERT_TRUE(wait_for_use(trainer, 2));
  trainer.send(UseKernel{file_, 1});
  ASSERT_TRUE(wait_for_use(trainer, 1)) << "what undoes it";
  trainer.send(Select{before});
  ASSERT_TRUE(wait_for_use(trainer, 0)) << "a selection is undone by the one before";
  trainer.send(UseKernel{file_, 7}, 1);
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.answers.is_refused(1); }));
  trainer.send(ApplyWhenProved{file_, true});
  save(file_, relu_kernel("three"));
  ASSERT_TRUE(wait_for_use(trainer, 3));
}

TEST_F(LiveKernels, AreLeftForWhatWasChosenBeforeAndForgotten) {
  save(file_, relu_kernel("one"));
  Trainer trainer(options());
  FeedLog feed(trainer.subscribe());
  const plan::Selection before = [&] {
    steps(trainer, 1);
    return trainer.snapshot()->selection;
  }();
  trainer.send(LoadKernel{file_, true});
  ASSERT_TRUE(wait_for_use(trainer, 1));
  trainer.send(UseKernel{file_, 0});
  ASSERT_TRUE(wait_for_use(trainer, 0));
  EXPECT_EQ(trainer.snapshot()->selection, before);
  trainer.send(UseKernel{file_, 1});
  ASSERT_TRUE(wait_for_use(trainer, 1));
  trainer.send(ForgetKernel{file_});
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.user_kernels->kernels.empty(); }));
  const auto now = trainer.snapshot();
  EXPECT_EQ(now->selection, before);
  EXPECT_EQ(ops::find_variant(*now->variants, ops::Op::relu_forward, core::DeviceKind::cpu, "user:mine"),
            nullptr);
  steps(trainer, 2);
  EXPECT_EQ(feed.curves().at(0), plain(3));
}

TEST_F(LiveKernels, SavedTenTimesASecondWhileItTrainsEndWithTheLast) {
  save(file_, relu_kernel("0"));
  TrainerOptions training = options();
  training.start_paused = false;
  Trainer trainer(training);
  FeedLog feed(trainer.subscribe());
  trainer.send(LoadKernel{file_, true});
  for (int i = 1; i <= 20; ++i) {
    save(file_, relu_kernel(std::to_string(i)));
    ASSERT_TRUE(wait_for_step(trainer, trainer.snapshot()->step + 2));
  }
  save(file_, relu_kernel("last"));
  const std::string sum = [&] {
    files::Sha256 digest;
    const std::string text = relu_kernel("last");
    digest.update(text.data(), text.size());
    return digest.finish();
  }();
  ASSERT_TRUE(wait_until(trainer, [&](const Snapshot& now) {
    const auto& kernel = now.user_kernels->kernels;
    return !kernel.empty() && kernel[0].newest() != nullptr && kernel[0].newest()->sha256 == sum &&
           kernel[0].used() == kernel[0].newest()->number;
  }));
  trainer.send(Pause{});
  ASSERT_TRUE(tests::wait_for_state(trainer, TrainerState::paused));
  const auto curve = feed.curves().at(0);
  EXPECT_EQ(curve, plain(static_cast<int>(curve.size())));
}

TEST_F(LiveKernels, ThatRanAreKeptByTheRun) {
  TrainerOptions training = options();
  training.run_dir = (folder_ / "run").string();
  training.steps = 6;
  save(file_, relu_kernel("one"));
  Trainer trainer(training);
  trainer.send(LoadKernel{file_, true});
  ASSERT_TRUE(wait_for_use(trainer, 1));
  steps(trainer, 2);
  save(file_, relu_kernel("bad"));
  ASSERT_TRUE(wait_for_version(trainer, 2, KernelStage::refused));
  save(file_, relu_kernel("three"));
  ASSERT_TRUE(wait_for_use(trainer, 3));
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  EXPECT_EQ(files::read_text(folder_ / "run" / "kernels" / "mine.cpp"), relu_kernel("one"));
  EXPECT_EQ(files::read_text(folder_ / "run" / "kernels" / "mine.2.cpp"), relu_kernel("three"));
  const nlohmann::json kept = runs::read_head(folder_ / "run").at("kernels");
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[1].at("variant"), "user:mine");
  EXPECT_EQ(kept[1].at("sha256"), trainer.snapshot()->user_kernels->kernels[0].newest()->sha256);
}

TEST_F(LiveKernels, RefusedBeforeTheFirstStepRunOnceTheyAreRight) {
  save(file_, relu_kernel("wrong"));
  TrainerOptions training = options();
  user_kernels::TriedKernel tried{{user_kernels::read_source(file_), {}, {}}, ""};
  tried.kernel.verdict.sentence = "relu.forward user:mine gives 7 for output(0)";
  training.live_kernels.tried = {tried};
  training.select = "all=loops,relu.forward=user:mine";
  Trainer trainer(training);
  FeedLog feed(trainer.subscribe());
  steps(trainer, 2);
  EXPECT_NE(trainer.snapshot()->notice.find("user:mine is refused"), std::string::npos);
  EXPECT_TRUE(newest_is(*trainer.snapshot(), 1, KernelStage::refused));
  save(file_, relu_kernel("right now"));
  ASSERT_TRUE(wait_for_use(trainer, 2));
  steps(trainer, 2);
  EXPECT_EQ(feed.curves().at(0), plain(4));
}

TEST_F(LiveKernels, AreCarriedIntoTheNextTrainingOfTheSameWindow) {
  save(file_, relu_kernel("one"));
  const std::string folder = (folder_ / "watched").string();
  std::filesystem::create_directory(folder);
  save(folder + "/other.cpp", relu_kernel("other"));
  TrainerOptions next = options();
  {
    Trainer trainer(options());
    trainer.send(LoadKernel{file_, true});
    trainer.send(WatchKernels{folder, true, false});
    ASSERT_TRUE(
        wait_until(trainer, [](const Snapshot& now) { return now.user_kernels->kernels.size() == 2; }));
    carry_on(next, trainer.snapshot()->user_kernels.get());
  }
  EXPECT_EQ(next.live_kernels.files, (std::vector<user_kernels::NamedPlace>{{file_, true}}));
  EXPECT_EQ(next.live_kernels.folders, (std::vector<user_kernels::NamedPlace>{{folder, false}}));
  UserKernels none;
  none.why_not = "kernels of your own run in one process";
  carry_on(next, &none);
  carry_on(next, nullptr);
  EXPECT_EQ(next.live_kernels.files.size(), 1u) << "what could not be loaded there is not forgotten";
  Trainer trainer(next);
  ASSERT_TRUE(wait_for_use(trainer, 1));
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) {
    const auto& kernels = now.user_kernels->kernels;
    return kernels.size() == 2 && kernels[1].in_table == 1;
  }));
  EXPECT_EQ(trainer.snapshot()->notice, "");
}

/// What --kernel brings into a training.
void bring(TrainerOptions& options, const std::string& file) {
  const user_kernels::Source source = user_kernels::read_source(file);
  user_kernels::TriedKernel tried{{source, {}, {}}, ""};
  tried.kernel.verdict.proved = true;
  ops::Variant variant = options.live_kernels.workshop.load(tried.kernel);
  variant.version = 1;
  options.variants = ops::with_variant(*options.variants, std::move(variant));
  options.kernels.push_back({source.op, source.variant, source.file.filename().string(), source.text});
  options.live_kernels.tried.push_back(std::move(tried));
}

TEST_F(LiveKernels, OfTheCommandLineThatAreForgottenStayForgottenInTheNextTraining) {
  save(file_, relu_kernel("one"));
  const std::string kept = (folder_ / "kept.cpp").string();
  save(kept, "#include <warpscope/bias.forward.h>\n");
  TrainerOptions next = options();
  bring(next, file_);
  bring(next, kept);
  const auto forgotten = [&] {
    Trainer trainer(next);
    EXPECT_TRUE(
        wait_until(trainer, [](const Snapshot& now) { return now.user_kernels->kernels.size() == 2; }));
    trainer.send(ForgetKernel{file_});
    EXPECT_TRUE(
        wait_until(trainer, [](const Snapshot& now) { return now.user_kernels->kernels.size() == 1; }));
    return trainer.snapshot()->user_kernels;
  }();
  EXPECT_EQ(forgotten->forgotten, std::vector<std::string>{file_});
  carry_on(next, forgotten.get());
  ASSERT_EQ(next.live_kernels.tried.size(), 1u);
  EXPECT_EQ(next.live_kernels.tried[0].kernel.source.file, kept);
  ASSERT_EQ(next.kernels.size(), 1u) << "a run keeps no file of it";
  EXPECT_EQ(next.kernels[0].name, "kept.cpp");
  Trainer trainer(next);
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.user_kernels->kernels.size() == 1; }));
  EXPECT_EQ(trainer.snapshot()->user_kernels->kernels[0].file, kept);
  const ops::Variants& variants = trainer.snapshot()->variants;
  EXPECT_EQ(ops::find_variant(*variants, ops::Op::relu_forward, core::DeviceKind::cpu, "user:mine"), nullptr);
  EXPECT_EQ(trainer.snapshot()->notice, "");
}

TEST_F(LiveKernels, ThatAreForgottenStaySoUntilTheyAreLoadedAgain) {
  TrainerOptions next = options();
  next.live_kernels.files = {{"a.cpp", false}, {"b.cpp", false}};
  next.live_kernels.folders = {{"kernels", false}, {"left", false}};
  carry_on(next, std::make_unique<UserKernels>().get());
  EXPECT_EQ(next.live_kernels.files.size(), 2u) << "that training ended before it had loaded them";
  EXPECT_EQ(next.live_kernels.folders.size(), 2u);
  UserKernels first;
  first.kernels.emplace_back().file = "b.cpp";
  first.kernels.back().apply_when_proved = true;
  first.folders = {{"kernels", true, ""}};
  first.forgotten = {"a.cpp", "kernels/c.cpp", "left"};
  carry_on(next, &first);
  EXPECT_EQ(next.live_kernels.files, (std::vector<user_kernels::NamedPlace>{{"b.cpp", true}}));
  EXPECT_EQ(next.live_kernels.folders, (std::vector<user_kernels::NamedPlace>{{"kernels", true}}));
  EXPECT_EQ(next.live_kernels.forgotten, first.forgotten);
  UserKernels second;
  second.kernels.emplace_back().file = "kernels/c.cpp";
  second.kernels.emplace_back().file = "a.cpp";
  second.forgotten = {"b.cpp"};
  carry_on(next, &second);
  EXPECT_EQ(next.live_kernels.files,
            (std::vector<user_kernels::NamedPlace>{{"kernels/c.cpp", false}, {"a.cpp", false}}));
  EXPECT_EQ(next.live_kernels.forgotten, (std::vector<std::string>{"left", "b.cpp"}));
}

}  // namespace
}  // namespace warpscope::training::live_kernels_test
