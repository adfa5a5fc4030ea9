#include "ui/panels/trainings.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/runs/run_source.h"
#include "tests/runs/run_maker.h"
#include "tests/support/waiting.h"
#include "ui/panels/curves/loss_lines.h"

namespace warpscope::ui::trainings_test {
namespace {

using tests::append_text;
using tests::make_run;
using tests::marker_line;
using tests::run_head;
using tests::step_line;
using tests::test_line;

std::string steps(std::uint64_t from, std::uint64_t to, const std::string& more = "") {
  std::string lines;
  for (std::uint64_t i = from; i <= to; ++i) lines += step_line(i, 1.0 / static_cast<double>(i), more);
  return lines;
}

class TrainingsTest : public testing::Test {
 protected:
  std::filesystem::path run(const std::string& name) const { return folder_.path() / "runs" / name; }

  void SetUp() override {
    make_run(run("present"), run_head("running"), steps(1, 3) + test_line(3, 0.5));
    trainings_.open(std::make_shared<runs::RunSource>(run("present")));
  }

  // A frame.
  void update() {
    trainings_.look();
    trainings_.update(choices_, std::chrono::steady_clock::now());
  }
  // Frame after frame until `done`; a run that is never read fails the test instead of hanging it.
  void wait(const std::function<bool()>& done) {
    ASSERT_TRUE(tests::eventually([&] {
      update();
      return done();
    }));
  }
  // How many points the curve of the steps has in a plot.
  std::size_t points(const std::string& name, std::size_t plot = 0) const {
    const ShownTraining* const found = trainings_.find(run(name));
    if (found == nullptr || plot >= found->history.plots()) return 0;
    const plot::Series* const curve = curve_of_steps(found->history, plot);
    return curve == nullptr ? 0 : curve->size();
  }
  const MetricCurves& curves(const std::string& name, std::size_t plot = 0) const {
    return trainings_.find(run(name))->history.curves(plot);
  }
  std::vector<std::string> names_of_curves(const PlotSettings& settings) const {
    std::vector<std::string> names;
    for (const ShownCurve& curve : shown_curves(trainings_, 0, settings)) names.push_back(curve.name);
    return names;
  }

  tests::TemporaryFolder folder_;
  std::vector<CurveChoice> choices_{{}};
  Trainings trainings_;
};

TEST_F(TrainingsTest, ShowsFollowsHidesAndRemovesARun) {
  make_run(run("a"), run_head("running"), steps(1, 100) + test_line(100, 0.5));
  trainings_.show(run("a"), "a");
  wait([this] { return points("a") == 100 && trainings_.find(run("a"))->loaded(); });
  EXPECT_EQ(curves("a").test.size(), 1u);
  EXPECT_EQ(trainings_.find(run("a"))->history.end(), 100);
  append_text(run("a") / "metrics.jsonl", steps(101, 150));
  wait([this] { return points("a") == 150; });
  trainings_.find(run("a"))->visible = false;
  append_text(run("a") / "metrics.jsonl", steps(151, 160));
  wait([this] { return points("a") == 160; });
  trainings_.show(run("a"), "a");
  EXPECT_TRUE(trainings_.find(run("a"))->visible);
  const MetricCurves& drawn = curves("a");
  trainings_.remove(run("a"));
  EXPECT_EQ(trainings_.find(run("a")), nullptr);
  EXPECT_EQ(drawn.test.size(), 1u) << "a plot of this frame may still show it";
  trainings_.show(run("a"), "a");  // at once: what was read before must not be missing
  wait([this] { return points("a") == 160; });
}

TEST_F(TrainingsTest, SaysWhatItsOwnTrainingTells) {
  std::size_t points = 0;
  ASSERT_TRUE(tests::eventually([&] {
    for (const training::FeedItem& item : trainings_.look())
      points += std::holds_alternative<training::Point>(item) ? 1 : 0;
    return points == 4;
  }));
  EXPECT_EQ(trainings_.own().history.steps(), 3u);
}

TEST_F(TrainingsTest, TellsThatAnOverlayHasSomethingNew) {
  make_run(run("a"), run_head("finished"), steps(1, 10));
  trainings_.show(run("a"), "a");
  ASSERT_TRUE(tests::eventually([this] {
    trainings_.look();
    return trainings_.has_update();
  }));
  update();
  wait([this] { return points("a") == 10; });
  for (const std::uint64_t step : {4, 5}) {  // each is seen by another look at the folders
    append_text(run("present") / "metrics.jsonl", steps(step, step));
    ASSERT_TRUE(tests::eventually([&] {
      trainings_.look();
      return trainings_.own().history.steps() == step;
    }));
  }
  EXPECT_FALSE(trainings_.has_update()) << "only the window's own training has gone on";
}

TEST_F(TrainingsTest, LongRunsAreTakenInSlices) {
  constexpr std::size_t kSteps = 20'000;
  make_run(run("a"), run_head("finished"), steps(1, kSteps));
  trainings_.show(run("a"), "a");
  bool partly = false;
  wait([&] {
    partly = partly || (points("a") > 0 && points("a") < kSteps && !trainings_.find(run("a"))->loaded());
    return points("a") == kSteps;
  });
  EXPECT_TRUE(partly) << "no frame waits for all of it";
}

TEST_F(TrainingsTest, AnotherMetricOrAxisMakesTheCurvesAnew) {
  make_run(run("a"), run_head("finished"), steps(1, 50, R"(,"gradient_norm":3)"));
  trainings_.show(run("a"), "a");
  wait([this] { return points("a") == 50; });
  choices_ = {{.metric = Metric::gradient_norm, .over = runs::Over::seconds, .smoothing = 1}};
  update();
  wait([this] { return points("a") == 50; });
  EXPECT_FLOAT_EQ(curves("a").train.y(49), 3);
  EXPECT_EQ(curves("a").train.x(49), 12.5);
  choices_ = {{.metric = Metric::loss_scale}};
  wait([this] { return trainings_.find(run("a"))->loaded(); });
  EXPECT_EQ(points("a"), 0u) << "it has no loss scale";
  choices_ = {{}};
  wait([this] { return points("a") == 50; });
}

TEST_F(TrainingsTest, EachPlotHasItsCurves) {
  make_run(run("a"), run_head("finished"), steps(1, 50, R"(,"gradient_norm":3)") + test_line(50, 0.5));
  choices_ = {{}, {.metric = Metric::gradient_norm}};
  trainings_.show(run("a"), "a");
  wait([this] { return points("a") == 50 && points("a", 1) == 50 && trainings_.find(run("a"))->loaded(); });
  EXPECT_EQ(curves("a", 0).test.size(), 1u);
  EXPECT_TRUE(curves("a", 1).test.empty());
  EXPECT_FLOAT_EQ(curves("a", 1).train.y(49), 3);
  append_text(run("a") / "metrics.jsonl", steps(51, 60, R"(,"gradient_norm":4)"));
  wait([this] { return points("a", 1) == 60; });
  EXPECT_EQ(points("a"), 60u);
  choices_.pop_back();
  update();
  EXPECT_EQ(trainings_.find(run("a"))->history.plots(), 1u);
}

TEST_F(TrainingsTest, AStartAgainReplacesTheCurves) {
  make_run(run("a"), run_head("running"), steps(1, 40));
  trainings_.show(run("a"), "a");
  wait([this] { return points("a") == 40; });
  append_text(run("a") / "metrics.jsonl", steps(21, 25));
  wait([this] { return points("a") == 25; });
}

TEST_F(TrainingsTest, AResetDropsWhatAnOverlayHadBefore) {
  make_run(run("a"), run_head("running"), steps(1, 40) + marker_line(0, "reset") + steps(1, 10));
  trainings_.show(run("a"), "a");
  wait([this] { return points("a") == 10; });
  append_text(run("a") / "metrics.jsonl", marker_line(0, "reset") + steps(1, 5));
  wait([this] { return points("a") == 5; });
  EXPECT_TRUE(curves("a").before.empty());
}

TEST_F(TrainingsTest, WhatOfAnOverlayCannotBeReadIsTold) {
  make_run(run("a"), run_head("finished"), steps(1, 5) + "nonsense\n" + steps(6, 10));
  trainings_.show(run("a"), "a");
  wait([this] { return points("a") == 10; });
  EXPECT_NE(trainings_.find(run("a"))->error.find("line 6"), std::string::npos);
}

TEST_F(TrainingsTest, AnOverlayWithoutStepsIsLoaded) {
  make_run(run("a"), run_head("running"), "");
  trainings_.show(run("a"), "a");
  wait([this] { return trainings_.find(run("a"))->loaded(); });
  EXPECT_EQ(points("a"), 0u);
}

TEST_F(TrainingsTest, ClosesWhileARunIsBeingOpened) {
  make_run(run("a"), run_head("finished"), steps(1, 10));
  trainings_.show(run("a"), "a");
  trainings_.close();
  EXPECT_FALSE(trainings_.find(run("a"))->opening.valid());
  EXPECT_EQ(trainings_.own().source, nullptr);
}

TEST_F(TrainingsTest, ARunThatIsGoneSaysSo) {
  trainings_.show(run("nowhere"), "nowhere");
  wait([this] { return !trainings_.find(run("nowhere"))->error.empty(); });
  EXPECT_EQ(trainings_.find(run("nowhere"))->source, nullptr);
}

TEST_F(TrainingsTest, RunsGetColoursThatTellThemApart) {
  for (const char* name : {"a", "b", "c"}) trainings_.show(run(name), name);
  EXPECT_EQ(trainings_.find(run("a"))->color, 2);
  EXPECT_EQ(trainings_.find(run("b"))->color, 4);
  EXPECT_EQ(trainings_.find(run("c"))->color, 5);
  trainings_.find(run("b"))->color = 6;
  trainings_.show(run("d"), "d");
  EXPECT_EQ(trainings_.find(run("d"))->color, 4);
}

TEST_F(TrainingsTest, ChoosesWhatIsDrawn) {
  make_run(run("a"), run_head("finished"), steps(1, 5) + test_line(5, 0.5));
  trainings_.show(run("a"), "a");
  wait([this] {
    return trainings_.find(run("a"))->loaded() && points("a") == 5 && trainings_.own().history.steps() == 3;
  });
  PlotSettings settings;
  EXPECT_EQ(names_of_curves(settings), (std::vector<std::string>{"a train", "a test", "train", "test"}));
  settings.show_test = false;
  EXPECT_EQ(names_of_curves(settings), (std::vector<std::string>{"a train", "train"}));
  settings.show_train = false;
  EXPECT_TRUE(names_of_curves(settings).empty());
  settings = {};
  trainings_.find(run("a"))->visible = false;
  EXPECT_EQ(names_of_curves(settings), (std::vector<std::string>{"train", "test"}));
}

}  // namespace
}  // namespace warpscope::ui::trainings_test
