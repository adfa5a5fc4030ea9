#include "ui/panels/run_overlay.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/runs/run_maker.h"
#include "tests/support/changes.h"
#include "tests/support/points.h"
#include "tests/support/waiting.h"
#include "ui/panels/loss_lines.h"
#include "ui/panels/run_rows.h"

namespace warpscope::ui {
namespace {

using tests::append_text;
using tests::make_run;
using tests::run_head;
using tests::step_line;
using tests::test_line;
using tests::write_text;

std::string steps(std::uint64_t from, std::uint64_t to, const std::string& more = "") {
  std::string lines;
  for (std::uint64_t i = from; i <= to; ++i) lines += step_line(i, 1.0 / static_cast<double>(i), more);
  return lines;
}

nlohmann::json finished(std::uint64_t steps, double rate = 0.005) {
  nlohmann::json head = run_head("finished");
  head["configuration"]["learning_rate"] = rate;
  head.update({{"steps", steps}, {"final_train_loss", 0.1}, {"test_loss", 0.2}});
  return head;
}

class RunOverlayTest : public testing::Test {
 protected:
  RunOverlayTest() { snapshot_.run_dir = (folder_.path() / "runs" / "present").string(); }

  std::filesystem::path run(const std::string& name) const { return folder_.path() / "runs" / name; }

  void update() { overlay_.update(snapshot_, {&choice_, 1}); }

  // Frame after frame until `done`; a run that is never read fails the test instead of hanging it.
  void wait(const std::function<bool()>& done) {
    ASSERT_TRUE(tests::eventually([&] {
      update();
      return done();
    }));
  }
  std::size_t points(const std::string& name) const {
    const OverlayRun* const found = overlay_.find(run(name));
    return found == nullptr || found->curves.empty() ? 0 : found->curves.front().train.size();
  }

  tests::TemporaryFolder folder_;
  training::Snapshot snapshot_;
  CurveChoice choice_;
  RunOverlay overlay_;
};

TEST_F(RunOverlayTest, ListsNothingOfAFolderThatDoesNotExistYet) {
  overlay_.want_list(true);
  wait([this] { return overlay_.list() != nullptr; });
  EXPECT_EQ(overlay_.list()->error, "");
  EXPECT_TRUE(overlay_.list()->runs.empty());
}

TEST_F(RunOverlayTest, ListsTheRunsBesideThePresentOne) {
  make_run(run("present"), run_head("running"), steps(1, 3));
  make_run(run("20260101T000000Z-1"), finished(10), "");
  make_run(run("20260102T000000Z-1"), run_head("running"), steps(1, 4));
  write_text(run("broken") / "run.json", "{\"status\": ");
  std::filesystem::create_directories(run("no-run"));
  overlay_.want_list(true);
  wait([this] { return overlay_.list() != nullptr; });
  const auto list = overlay_.list();
  ASSERT_EQ(list->runs.size(), 3u);
  EXPECT_EQ(list->runs[0].name, "broken") << "its files are of today";
  EXPECT_NE(problem_of(list->runs[0]).find("damaged"), std::string::npos);
  EXPECT_EQ(list->runs[1].status, "interrupted");
  EXPECT_EQ(list->runs[1].steps, 4u);
  EXPECT_EQ(list->runs[2].steps, 10u);
  EXPECT_EQ(problem_of(list->runs[2]), "");
  make_run(run("20260103T000000Z-1"), finished(20), "");
  wait([this] { return overlay_.list()->runs.size() == 4; });
}

TEST_F(RunOverlayTest, ThePresentRunHasItsStartAndWhatWasChanged) {
  nlohmann::json head = run_head("running");
  head["started"] = "2026-01-31T23:59:59Z";
  head["current"] = head["configuration"];
  head["current"]["batch"] = 32;
  make_run(run("present"), head, "");
  snapshot_.started = 1800000000;
  tests::settings_of(snapshot_).batch = 32;
  EXPECT_EQ(summary_of(snapshot_, nullptr).started, 1800000000) << "a training that writes no run";
  EXPECT_TRUE(std::isnan(summary_of(training::Snapshot(), nullptr).started));
  overlay_.want_list(true);
  wait([this] { return overlay_.list() != nullptr; });
  ASSERT_TRUE(overlay_.list()->present);
  const runs::RunSummary before = summary_of(snapshot_, &*overlay_.list()->present);
  EXPECT_EQ(before.started, 1769903999) << "resumed: it began before this process";
  EXPECT_EQ(before.batch, 32);
  EXPECT_EQ(before.at_first.batch, 64);
  EXPECT_TRUE(std::isnan(before.at_first.learning_rate));
  head["current"]["learning_rate"] = 0.25;
  make_run(run("present"), head, "");
  wait([this] { return std::isfinite(overlay_.list()->present->at_first.learning_rate); });
}

TEST_F(RunOverlayTest, ShowsFollowsHidesAndRemovesARun) {
  make_run(run("a"), run_head("running"), steps(1, 100) + test_line(100, 0.5));
  overlay_.show(run("a"), "a");
  wait([this] { return points("a") == 100; });
  EXPECT_EQ(overlay_.find(run("a"))->curves.front().test.size(), 1u);
  EXPECT_EQ(overlay_.find(run("a"))->curves.front().end, 100);
  append_text(run("a") / "metrics.jsonl", steps(101, 150));
  wait([this] { return points("a") == 150; });
  overlay_.hide(run("a"));
  EXPECT_FALSE(overlay_.find(run("a"))->visible);
  append_text(run("a") / "metrics.jsonl", steps(151, 160));
  wait([this] { return points("a") == 160; });
  overlay_.show(run("a"), "a");
  EXPECT_TRUE(overlay_.find(run("a"))->visible);
  const RunCurves& drawn = overlay_.find(run("a"))->curves.front();
  overlay_.remove(run("a"));
  EXPECT_EQ(overlay_.find(run("a")), nullptr);
  EXPECT_EQ(drawn.test.size(), 1u) << "a plot of this frame may still show it";
  overlay_.show(run("a"), "a");  // at once: what the loader knew of the one before must not be missing
  wait([this] { return points("a") == 160; });
}

TEST_F(RunOverlayTest, AnotherMetricOrAxisMakesTheCurvesAnew) {
  make_run(run("a"), finished(50), steps(1, 50, R"(,"gradient_norm":3)"));
  overlay_.show(run("a"), "a");
  wait([this] { return points("a") == 50; });
  choice_ = {.metric = Metric::gradient_norm, .over = runs::Over::seconds, .smoothing = 1};
  update();
  EXPECT_LE(points("a"), 50u);
  wait([this] { return points("a") == 50; });
  const RunCurves& curves = overlay_.find(run("a"))->curves.front();
  EXPECT_FLOAT_EQ(curves.train.y(49), 3);
  EXPECT_EQ(curves.train.x(49), 12.5);
  choice_ = {.metric = Metric::loss_scale};
  wait([this] { return overlay_.find(run("a"))->loaded; });
  EXPECT_EQ(points("a"), 0u) << "it has no loss scale";
  // There and back before the loader has looked.
  choice_ = {.metric = Metric::loss};
  update();
  choice_ = {.metric = Metric::loss_scale};
  update();
  choice_ = {.metric = Metric::loss};
  wait([this] { return points("a") == 50; });
}

TEST_F(RunOverlayTest, EachPlotHasItsCurves) {
  make_run(run("a"), finished(50), steps(1, 50, R"(,"gradient_norm":3)") + test_line(50, 0.5));
  const std::vector<CurveChoice> choices{{}, {.metric = Metric::gradient_norm}};
  overlay_.show(run("a"), "a");
  const auto both = [&] {
    overlay_.update(snapshot_, choices);
    const auto& curves = overlay_.find(run("a"))->curves;
    return curves.size() == 2 && curves[0].train.size() == 50 && curves[1].train.size() == 50;
  };
  ASSERT_TRUE(tests::eventually(both));
  const auto& curves = overlay_.find(run("a"))->curves;
  EXPECT_EQ(curves[0].test.size(), 1u);
  EXPECT_TRUE(curves[1].test.empty());
  EXPECT_FLOAT_EQ(curves[1].train.y(49), 3);
  append_text(run("a") / "metrics.jsonl", steps(51, 60, R"(,"gradient_norm":4)"));
  ASSERT_TRUE(tests::eventually([&] {
    overlay_.update(snapshot_, choices);
    return overlay_.find(run("a"))->curves[1].train.size() == 60;
  }));
  EXPECT_EQ(overlay_.find(run("a"))->curves[0].train.size(), 60u);
  update();  // one plot less
  EXPECT_EQ(overlay_.find(run("a"))->curves.size(), 1u);
}

TEST_F(RunOverlayTest, AStartAgainReplacesTheCurves) {
  make_run(run("a"), run_head("running"), steps(1, 40));
  overlay_.show(run("a"), "a");
  wait([this] { return points("a") == 40; });
  append_text(run("a") / "metrics.jsonl", steps(21, 25));
  wait([this] { return points("a") == 25; });
}

TEST_F(RunOverlayTest, ARunThatIsGoneSaysSo) {
  overlay_.show(run("nowhere"), "nowhere");
  wait([this] { return overlay_.find(run("nowhere"))->loaded; });
  EXPECT_NE(overlay_.find(run("nowhere"))->error, "");
}

TEST_F(RunOverlayTest, ComparesTheSettingsOfWhatIsShown) {
  make_run(run("present"), finished(10, 0.005), "");
  make_run(run("a"), finished(10, 0.1), steps(1, 10));
  make_run(run("b"), finished(10, 0.005), steps(1, 10));
  overlay_.show(run("a"), "a");
  overlay_.show(run("b"), "b");
  wait([this] { return overlay_.settings()->runs.size() == 3; });
  const auto rows = setting_rows(*overlay_.settings());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].key, "learning_rate");
  EXPECT_EQ(rows[0].values, (std::vector<std::string>{"0.005", "0.1", "0.005"}));
  EXPECT_EQ(rows[0].differs, (std::vector<bool>{false, true, false}));
}

TEST_F(RunOverlayTest, RunsGetColoursThatTellThemApart) {
  for (const char* name : {"a", "b", "c"}) overlay_.show(run(name), name);
  EXPECT_EQ(overlay_.find(run("a"))->color, 2);
  EXPECT_EQ(overlay_.find(run("b"))->color, 4);
  EXPECT_EQ(overlay_.find(run("c"))->color, 5);
  overlay_.recolor(run("b"), 6);
  overlay_.show(run("d"), "d");
  EXPECT_EQ(overlay_.find(run("d"))->color, 4);
}

TEST_F(RunOverlayTest, ChoosesWhatIsDrawn) {
  make_run(run("a"), finished(5), steps(1, 5) + test_line(5, 0.5));
  overlay_.show(run("a"), "a");
  wait([this] { return points("a") == 5; });
  LossHistory history;
  for (std::uint64_t i = 1; i <= 3; ++i) history.consume(tests::step_point(i, 0, 1));
  history.consume(tests::test_point(3, 0, 0, 1));
  PlotSettings settings;
  const auto names = [&] {
    std::vector<std::string> result;
    for (const ShownCurve& curve : shown_curves(history, 0, overlay_.runs(), settings))
      result.push_back(curve.name);
    return result;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"a train", "a test", "train", "test"}));
  settings.show_test = false;
  EXPECT_EQ(names(), (std::vector<std::string>{"a train", "train"}));
  settings.show_train = false;
  EXPECT_TRUE(names().empty());
  settings = {};
  overlay_.hide(run("a"));
  EXPECT_EQ(names(), (std::vector<std::string>{"train", "test"}));
}

TEST(FolderOfRuns, IsThatOfThePresentRun) {
  EXPECT_EQ(folder_of_runs(""), "runs");
  EXPECT_EQ(folder_of_runs("runs/x"), "runs");
  EXPECT_EQ(folder_of_runs("runs/x/"), "runs");
  EXPECT_EQ(folder_of_runs("/a/b/../c/run"), "/a/c");
  EXPECT_EQ(folder_of_runs("run"), ".");
}

TEST(StartedText, IsAsShortAsCanBe) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  constexpr std::time_t kNow = 1790000000;  // 2026-09-21 14:13:20
  EXPECT_EQ(started_text(kNow - 3600, kNow), "13:13");
  EXPECT_EQ(started_text(kNow - 86400, kNow), "Sun 14:13");
  EXPECT_EQ(started_text(kNow - 30 * 86400, kNow), "08-22 14:13");
  EXPECT_EQ(started_text(kNow - 500.0 * 86400, kNow), "2025-05-09");
  EXPECT_EQ(started_text(runs::RunSummary::kNone, kNow), "-");
  EXPECT_EQ(started_text(1e300, kNow), "-");
}

}  // namespace
}  // namespace warpscope::ui
