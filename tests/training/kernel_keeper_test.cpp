// The keeper by itself: stages, what is overtaken, files that go and come.

#include "gpu/training/kernel_keeper.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/support/fake_workshop.h"

namespace warpscope::training::kernel_keeper_test {
namespace {

using tests::relu_kernel;
using tests::save;

class Keeper : public testing::Test {
 protected:
  Keeper() : log_(std::make_shared<tests::WorkshopLog>()), file_((folder_ / "mine.cpp").string()) {
    KernelKeeper::Options options;
    options.workshop = tests::fake_workshop(log_);
    options.includes = {folder_ / "headers"};
    keeper_ = std::make_unique<KernelKeeper>(options);
    keeper_->use_calls({{ops::Op::relu_forward, "relu1", {}}, {ops::Op::relu_forward, "relu2", {}}});
  }

  UserKernel now() const { return keeper_->told_of(file_); }
  /// Waits until the newest version of the file is `number`, in `stage`.
  testing::AssertionResult reaches(int number, KernelStage stage) const {
    const bool came = tests::eventually([&] {
      const KernelVersion* const newest = now().newest();
      const UserKernel told = now();
      return newest != nullptr && !told.versions.empty() && told.versions.back()->number == number &&
             told.versions.back()->stage == stage;
    });
    return came ? testing::AssertionSuccess() : testing::AssertionFailure() << "never came";
  }
  std::vector<std::string> news() {
    for (KernelKeeper::News& each : keeper_->take_news()) news_.push_back(each.text);
    return news_;
  }

  tests::TemporaryFolder folder_;
  std::shared_ptr<tests::WorkshopLog> log_;
  std::string file_;
  std::vector<std::string> news_;
  std::unique_ptr<KernelKeeper> keeper_;
};

TEST_F(Keeper, TakesAFileThroughItsStagesAndTimesItBesideTheVersionBefore) {
  log_->closed = true;
  save(file_, relu_kernel("one"));
  keeper_->load(file_, false);
  ASSERT_TRUE(reaches(1, KernelStage::compiling));
  EXPECT_FALSE(keeper_->version(file_, 1));
  log_->closed = false;
  ASSERT_TRUE(reaches(1, KernelStage::ready));
  save(file_, relu_kernel("two"));
  ASSERT_TRUE(reaches(2, KernelStage::ready));
  const UserKernel told = now();
  EXPECT_EQ(told.variant, "user:mine");
  EXPECT_EQ(told.op, ops::Op::relu_forward);
  ASSERT_EQ(told.versions.size(), 2u);
  const KernelVersion& second = *told.versions[1];
  EXPECT_EQ(second.sentence, "user:mine is right in 3 calls");
  EXPECT_EQ(second.sha256.size(), 64u);
  ASSERT_EQ(second.times.size(), 1u) << "of each shape once";
  EXPECT_EQ(second.times[0].layers, (std::vector<std::string>{"relu1", "relu2"}));
  ASSERT_EQ(second.times[0].times.size(), 3u);
  EXPECT_EQ(second.times[0].times[0].version, 2);
  EXPECT_EQ(second.times[0].times[1].version, 1) << "the one before, between the two";
  EXPECT_EQ(second.times[0].times[2].variant, "loops");
  EXPECT_EQ(keeper_->version(file_, 1)->variant.version, 1) << "it can be gone back to";
  EXPECT_EQ(news().size(), 2u);
}

TEST_F(Keeper, CompilesOnlyTheNewestOfManySavesAndNumbersNoOther) {
  log_->closed = true;
  save(file_, relu_kernel("0"));
  keeper_->load(file_, false);
  ASSERT_TRUE(reaches(1, KernelStage::compiling));
  for (int i = 1; i <= 10; ++i) {
    save(file_, relu_kernel(std::to_string(i)));
    ASSERT_TRUE(tests::eventually([&] { return log_->cancelled >= 1; }));
  }
  log_->closed = false;
  ASSERT_TRUE(tests::eventually([&] {
    const auto ready = keeper_->version(file_, now().versions.empty() ? 0 : now().versions.back()->number);
    return ready && ready->kernel.source.text == relu_kernel("10");
  }));
  EXPECT_EQ(log_->proved, now().versions.back()->number) << "what was overtaken was not proved";
  EXPECT_LE(log_->proved, 10);
}

TEST_F(Keeper, KeepsTheLastGoodVersionWhileTheNewestIsRefused) {
  save(file_, relu_kernel("one"));
  keeper_->load(file_, false);
  ASSERT_TRUE(reaches(1, KernelStage::ready));
  keeper_->note_use(file_, 1, true);
  save(file_, relu_kernel("bad"));
  ASSERT_TRUE(reaches(2, KernelStage::refused));
  EXPECT_EQ(now().versions.back()->errors.at(0).line, 2);
  EXPECT_EQ(news().back(),
            "kernel user:mine, version 2 is refused: mine.cpp, line 2 does not compile: 'bad' was not "
            "declared; version 1 stays");
  save(file_, relu_kernel("wrong"));
  ASSERT_TRUE(reaches(3, KernelStage::refused));
  EXPECT_EQ(now().versions.size(), 2u) << "a refused one is told as long as it is the newest";
  EXPECT_EQ(now().versions.back()->sentence, "user:mine gives 7 for output(0)");
  EXPECT_EQ(now().used(), 1);
  EXPECT_TRUE(keeper_->version(file_, 1));
  save(file_, relu_kernel("no compiler"));
  ASSERT_TRUE(reaches(4, KernelStage::refused));
  EXPECT_EQ(now().versions.back()->sentence, "there is no C++ compiler");
}

TEST_F(Keeper, ASaveWithoutAChangeIsNoVersion) {
  save(file_, relu_kernel("one"));
  keeper_->load(file_, false);
  ASSERT_TRUE(reaches(1, KernelStage::ready));
  save(file_, relu_kernel("one"));
  save((folder_ / "other.cpp").string(), relu_kernel("other"));
  keeper_->load((folder_ / "other.cpp").string(), false);  // which comes behind it
  ASSERT_TRUE(
      tests::eventually([&] { return keeper_->version((folder_ / "other.cpp").string(), 1).has_value(); }));
  ASSERT_TRUE(reaches(1, KernelStage::ready));
  EXPECT_EQ(log_->compiled, 2);
}

TEST_F(Keeper, AHeaderThatChangesMakesANewVersionAndSoDoesOneThatComes) {
  std::filesystem::create_directory(folder_ / "headers");
  save(folder_ / "near.h", "#include <far.h>\n");
  save(file_, "#include \"near.h\"\n" + relu_kernel());
  keeper_->load(file_, false);
  ASSERT_TRUE(reaches(1, KernelStage::ready));
  save(folder_ / "headers" / "far.h", "// one\n");
  ASSERT_TRUE(reaches(2, KernelStage::ready));
  save(folder_ / "headers" / "far.h", "// two\n");
  ASSERT_TRUE(reaches(3, KernelStage::ready));
}

TEST_F(Keeper, AFileThatGoesLosesNothingAndIsWatchedUntilItComesBack) {
  save(file_, relu_kernel("one"));
  keeper_->load(file_, false);
  ASSERT_TRUE(reaches(1, KernelStage::ready));
  keeper_->note_use(file_, 1, true);
  std::filesystem::remove(file_);
  ASSERT_TRUE(tests::eventually([&] { return now().gone; }));
  EXPECT_EQ(now().problem, "mine.cpp is not there; version 1 stays");
  EXPECT_TRUE(keeper_->version(file_, 1));
  save(file_, relu_kernel("one"));
  ASSERT_TRUE(tests::eventually([&] { return !now().gone; }));
  EXPECT_EQ(now().problem, "");
  save(file_, relu_kernel("two"));
  ASSERT_TRUE(reaches(2, KernelStage::ready));
}

TEST_F(Keeper, TwoFilesOfOneNameAreToldAndTheFirstStays) {
  std::filesystem::create_directory(folder_ / "other");
  const std::string second = (folder_ / "other" / "mine.cpp").string();
  save(file_, relu_kernel("one"));
  save(second, relu_kernel("two"));
  keeper_->load(file_, false);
  EXPECT_THROW(keeper_->load(second, false), core::BadInput);
  keeper_->watch((folder_ / "other").string(), true, false);
  ASSERT_TRUE(tests::eventually([&] {
    const auto state = keeper_->take_state();
    return state && !state->folders.empty() &&
           state->folders[0].problem.find("user:mine is the kernel of ") == 0;
  }));
  ASSERT_TRUE(reaches(1, KernelStage::ready));
  EXPECT_THROW(keeper_->told_of(second), core::BadInput);
}

TEST_F(Keeper, TakesTheKernelsOfAFolderAndTellsOfOneThatCannotBeRead) {
  std::filesystem::create_directory(folder_ / "kernels");
  const std::string first = (folder_ / "kernels" / "first.cpp").string();
  save(first, relu_kernel());
  save(folder_ / "kernels" / "program.cpp", "int main() {}\n");
  keeper_->watch((folder_ / "kernels").string(), true, true);
  keeper_->watch((folder_ / "nowhere").string(), true, true);
  std::shared_ptr<const UserKernels> state;
  ASSERT_TRUE(tests::eventually([&] {
    if (auto newer = keeper_->take_state()) state = newer;
    return state && state->kernels.size() == 1 && !state->folders.at(1).problem.empty();
  }));
  EXPECT_EQ(state->kernels[0].file, first);
  EXPECT_TRUE(state->kernels[0].apply_when_proved);
  EXPECT_EQ(state->kernels[0].folder, (folder_ / "kernels").string());
  EXPECT_EQ(state->folders[1].problem.find("the folder "), 0u);
  keeper_->watch((folder_ / "kernels").string(), false, false);
  EXPECT_NO_THROW(keeper_->told_of(first)) << "it stays";
  keeper_->forget(first);
  keeper_->watch((folder_ / "kernels").string(), true, false);
  save(folder_ / "kernels" / "second.cpp", relu_kernel());
  ASSERT_TRUE(tests::eventually([&] {
    if (auto newer = keeper_->take_state()) state = newer;
    return state->kernels.size() == 1 && state->kernels[0].file != first;
  })) << "what was forgotten stays away";
}

TEST_F(Keeper, FilesThatWereForgottenInATrainingBeforeAreLeftOutOfTheirFolder) {
  const std::string folder = (folder_ / "kernels").string();
  std::filesystem::create_directory(folder);
  save(folder + "/first.cpp", relu_kernel());
  save(folder + "/second.cpp", relu_kernel());
  KernelKeeper::Options options;
  options.workshop = tests::fake_workshop(log_);
  options.forgotten = {folder + "/first.cpp", folder};
  KernelKeeper keeper(options);
  keeper.watch(folder, true, false);
  std::shared_ptr<const UserKernels> state;
  ASSERT_TRUE(tests::eventually([&] {
    if (auto newer = keeper.take_state()) state = newer;
    return state && !state->kernels.empty();
  }));
  ASSERT_EQ(state->kernels.size(), 1u);
  EXPECT_EQ(state->kernels[0].file, folder + "/second.cpp");
  EXPECT_EQ(state->forgotten, std::vector<std::string>{folder + "/first.cpp"});
}

TEST_F(Keeper, OneThatIsForgottenIsCompiledNoMore) {
  log_->closed = true;
  save(file_, relu_kernel("one"));
  keeper_->load(file_, false);
  ASSERT_TRUE(reaches(1, KernelStage::compiling));
  keeper_->forget(file_);
  ASSERT_TRUE(tests::eventually([&] { return log_->cancelled == 1; }));
  EXPECT_THROW(keeper_->forget(file_), core::BadInput);
  EXPECT_THROW(keeper_->apply_when_proved(file_, true), core::BadInput);
  EXPECT_TRUE(keeper_->take_state()->kernels.empty());
}

TEST_F(Keeper, AKernelForAnotherDeviceIsRefusedAtOnce) {
  EXPECT_THROW(keeper_->load((folder_ / "mine.cu").string(), false), core::BadInput);
  EXPECT_THROW(keeper_->load((folder_ / "mine.txt").string(), false), core::BadInput);
}

}  // namespace
}  // namespace warpscope::training::kernel_keeper_test
