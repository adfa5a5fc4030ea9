// The laboratory's jobs: published as they grow, cancelled when asked, with the training out of their way.

#include "gpu/jobs/laboratory.h"

#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/tiny.h"
#include "tests/support/waiting.h"

namespace warpscope::jobs::laboratory_test {
namespace {

using core::Precision;
using profiling::BenchOptions;
using profiling::Outcome;

bool wait_for_end(const Laboratory& laboratory) {
  return tests::eventually([&] { return laboratory.state()->running == Job::none; });
}

BenchOptions quick() {
  BenchOptions options;
  options.samples = 3;
  options.seconds = 0.01;
  options.precisions = {Precision::fp32};
  options.only = "loops";
  return options;
}

plan::Selection loops() {
  plan::Selection selection;
  plan::apply(selection, "all=loops", core::open_device("cpu")->info());
  return selection;
}

/// A bench that ends only when it is cancelled.
BenchOptions endless() {
  BenchOptions options = quick();
  options.samples = 1 << 30;
  options.seconds = 1000;
  return options;
}

verify::VerifyOptions short_verify() {
  verify::VerifyOptions options;
  options.shapes = 1;
  options.ops = {ops::Op::relu_forward};
  return options;
}

StepScene scene() {
  return {tests::tiny_model(), {.batch = 2}, loops()};
}

TEST(Laboratory, BeginsEmpty) {
  const Laboratory laboratory;
  ASSERT_NE(laboratory.state(), nullptr);
  EXPECT_EQ(laboratory.state()->running, Job::none);
  EXPECT_TRUE(laboratory.state()->bench.empty());
}

TEST(Laboratory, VerifiesAndKeepsTheBench) {
  Laboratory laboratory;
  laboratory.start_bench("cpu", scene(), quick());
  ASSERT_TRUE(wait_for_end(laboratory));
  const auto rows = laboratory.state()->bench.size();
  laboratory.start_verify("cpu", short_verify());
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_FALSE(laboratory.state()->verify.empty());
  EXPECT_EQ(laboratory.state()->bench.size(), rows);
}

TEST(Laboratory, MeasuresTheBaseline) {
  Laboratory laboratory;
  laboratory.start_baseline(scene());
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_EQ(laboratory.state()->failure, "");
  EXPECT_GT(laboratory.state()->baseline_images_per_second, 0);
}

TEST(Laboratory, OfTwoTrainingsMeasuresThePeaksOfTheirDeviceOnce) {
  const auto shared = std::make_shared<training::SharedDevices>();
  Laboratory first(nullptr, shared), second(nullptr, shared);
  for (Laboratory* laboratory : {&first, &second}) {
    laboratory->start_bench("cpu", scene(), quick());
    ASSERT_TRUE(wait_for_end(*laboratory));
  }
  EXPECT_GT(first.state()->peaks.fp32, 0);
  EXPECT_EQ(first.state()->peaks.fp32, second.state()->peaks.fp32);
  EXPECT_EQ(first.state()->peaks.bytes, second.state()->peaks.bytes);
}

TEST(Laboratory, CancelsAndReplaces) {
  Laboratory laboratory;
  laboratory.start_bench("cpu", scene(), endless());
  EXPECT_EQ(laboratory.state()->running, Job::bench);
  ASSERT_TRUE(tests::eventually([&] { return laboratory.state()->total > 0; }));
  laboratory.cancel();
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_TRUE(laboratory.state()->cancelled);
  EXPECT_EQ(laboratory.state()->last, Job::bench);
  laboratory.start_bench("cpu", scene(), endless());
  laboratory.start_verify("cpu", short_verify());
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_FALSE(laboratory.state()->cancelled);
  EXPECT_EQ(laboratory.state()->last, Job::verify);
}

// A bench that its owner did not end would go on for ever, and this test with it.
TEST(Laboratory, EndsWithItsOwnerWhileAJobRuns) {
  Laboratory laboratory;
  laboratory.start_bench("cpu", scene(), endless());
  ASSERT_TRUE(tests::eventually([&] { return laboratory.state()->total > 0; })) << "it measures";
}

TEST(Laboratory, TellsWhyAJobFailed) {
  Laboratory laboratory;
  laboratory.start_verify("cuda:99", short_verify());
  ASSERT_TRUE(wait_for_end(laboratory));
  EXPECT_NE(laboratory.state()->failure.find("cuda:99"), std::string::npos) << laboratory.state()->failure;
}

enum class Paused { stays, goes_on };  ///< until it is told to resume; once it was seen to stand still

/// A training that does what it is told at once, and writes down what that was.
class Training : public training::Source {
 public:
  explicit Training(Paused paused = Paused::stays) : paused_(paused) {
    now_.state = training::TrainerState::running;
  }

  std::shared_ptr<const training::Snapshot> snapshot() const override {
    const std::lock_guard lock(mutex_);
    auto seen = std::make_shared<const training::Snapshot>(now_);
    if (paused_ == Paused::goes_on) now_.state = training::TrainerState::running;
    return seen;
  }
  std::shared_ptr<training::Feed> subscribe() override { return nullptr; }
  std::shared_ptr<training::ImageExchange> images() const override { return nullptr; }
  std::size_t told() const {
    const std::lock_guard lock(mutex_);
    return told_.size();
  }
  template <class Command>
  bool was_told(std::size_t place) const {
    const std::lock_guard lock(mutex_);
    return place < told_.size() && std::holds_alternative<Command>(told_[place]);
  }

 private:
  void queue(training::Command command, std::uint64_t /*number*/) override {
    const std::lock_guard lock(mutex_);
    if (std::holds_alternative<training::Pause>(command)) now_.state = training::TrainerState::paused;
    if (std::holds_alternative<training::Resume>(command)) now_.state = training::TrainerState::running;
    told_.push_back(std::move(command));
  }

  const Paused paused_;
  mutable std::mutex mutex_;
  mutable training::Snapshot now_;
  std::vector<training::Command> told_;
};

TEST(Laboratory, BenchesAndPublishesRowsAndPeaksWhileTheTrainingPauses) {
  Training training;
  Laboratory laboratory(&training);
  laboratory.start_bench("cpu", scene(), quick());
  ASSERT_TRUE(wait_for_end(laboratory));
  const auto state = laboratory.state();
  EXPECT_EQ(state->failure, "");
  EXPECT_FALSE(state->cancelled);
  EXPECT_EQ(state->bench_batch, 2);
  EXPECT_FALSE(state->bench_disturbed);
  EXPECT_EQ(state->done, state->total);
  EXPECT_GT(state->peaks.fp32, 0);
  EXPECT_FALSE(state->bench.empty());
  ASSERT_EQ(state->advice.size(), 1u);
  EXPECT_EQ(state->advice.front().present, loops());
  EXPECT_EQ(state->advice.front().failure, "");
  EXPECT_GT(state->advice.front().contest.present.samples, 0);
  ASSERT_EQ(training.told(), 4u);
  EXPECT_TRUE(training.was_told<training::SetDisturbed>(0));
  EXPECT_TRUE(training.was_told<training::Pause>(1));
  EXPECT_TRUE(training.was_told<training::SetDisturbed>(2));
  EXPECT_TRUE(training.was_told<training::Resume>(3));
}

TEST(Laboratory, ATrainingThatGoesOnDisturbsTheComparison) {
  Training training(Paused::goes_on);
  Laboratory laboratory(&training);
  laboratory.start_bench("cpu", scene(), quick());
  ASSERT_TRUE(wait_for_end(laboratory));
  ASSERT_EQ(laboratory.state()->advice.size(), 1u);
  EXPECT_EQ(laboratory.state()->advice.front().contest.outcome, Outcome::disturbed);
  EXPECT_FALSE(laboratory.state()->advice.front().faster());
  EXPECT_TRUE(laboratory.state()->bench_disturbed) << "the window says so";
}

TEST(Laboratory, LeavesTheTrainingAloneWhileItVerifies) {
  Training training;
  Laboratory laboratory(&training);
  laboratory.start_verify("cpu", short_verify());
  ASSERT_TRUE(wait_for_end(laboratory));
  ASSERT_EQ(training.told(), 2u);
  EXPECT_TRUE(training.was_told<training::SetDisturbed>(1));
}

}  // namespace
}  // namespace warpscope::jobs::laboratory_test
