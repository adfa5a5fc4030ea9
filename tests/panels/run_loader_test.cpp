#include "ui/panels/runs/run_loader.h"

#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/runs/run_maker.h"
#include "tests/support/changes.h"
#include "tests/support/waiting.h"
#include "ui/panels/runs/run_rows.h"

namespace warpscope::ui::run_loader_test {
namespace {

using tests::make_run;
using tests::run_head;
using tests::step_line;
using tests::write_text;

std::string steps(std::uint64_t from, std::uint64_t to) {
  std::string lines;
  for (std::uint64_t i = from; i <= to; ++i) lines += step_line(i, 1.0 / static_cast<double>(i));
  return lines;
}

nlohmann::json finished(std::uint64_t steps, double rate = 0.005) {
  nlohmann::json head = run_head("finished");
  head["configuration"]["learning_rate"] = rate;
  head.update({{"steps", steps}, {"final_train_loss", 0.1}, {"test_loss", 0.2}});
  return head;
}

class RunLoaderTest : public testing::Test {
 protected:
  std::filesystem::path run(const std::string& name) const { return folder_.path() / "runs" / name; }

  void look(std::vector<std::filesystem::path> shown = {}) {
    loader_.request(RunRequest{folder_.path() / "runs", run("present"), std::move(shown)});
  }
  void wait_for_list() {
    look();
    ASSERT_TRUE(tests::eventually([this] { return loader_.list() != nullptr; }));
  }

  tests::TemporaryFolder folder_;
  RunLoader loader_;
};

TEST_F(RunLoaderTest, ListsNothingOfAFolderThatDoesNotExistYet) {
  wait_for_list();
  EXPECT_EQ(loader_.list()->error, "");
  EXPECT_TRUE(loader_.list()->runs.empty());
}

TEST_F(RunLoaderTest, ListsTheRunsBesideThePresentOne) {
  make_run(run("present"), run_head("running"), steps(1, 3));
  make_run(run("20260101T000000Z-1"), finished(10), "");
  make_run(run("20260102T000000Z-1"), run_head("running"), steps(1, 4));
  write_text(run("broken") / "run.json", "{\"status\": ");
  std::filesystem::create_directories(run("no-run"));
  wait_for_list();
  const auto list = loader_.list();
  ASSERT_EQ(list->runs.size(), 3u);
  EXPECT_EQ(list->runs[0].name, "broken") << "its files are of today";
  EXPECT_NE(problem_of(list->runs[0]).find("damaged"), std::string::npos);
  EXPECT_EQ(list->runs[1].status, "interrupted");
  EXPECT_EQ(list->runs[1].steps, 4u);
  EXPECT_EQ(list->runs[2].steps, 10u);
  EXPECT_EQ(problem_of(list->runs[2]), "");
  make_run(run("20260103T000000Z-1"), finished(20), "");
  ASSERT_TRUE(tests::eventually([this] { return loader_.list()->runs.size() == 4; }));
}

TEST_F(RunLoaderTest, ListsThoseOfAnotherFolderToo) {
  make_run(run("20260101T000000Z-1"), finished(10), "");
  make_run(folder_.path() / "user" / "20260102T000000Z-1", finished(20), "");
  make_run(folder_.path() / "user" / ".deleted" / "20260103T000000Z-1", finished(30), "");
  loader_.request(RunRequest{folder_.path() / "runs", {}, {}, folder_.path() / "user"});
  ASSERT_TRUE(tests::eventually([this] { return loader_.list() != nullptr; }));
  const auto list = loader_.list();
  ASSERT_EQ(list->runs.size(), 2u);
  EXPECT_EQ(list->runs[0].steps, 20u) << "the newest first";
}

TEST_F(RunLoaderTest, ThePresentRunHasItsStartAndWhatWasChanged) {
  nlohmann::json head = run_head("running");
  head["started"] = "2026-01-31T23:59:59Z";
  head["current"] = head["configuration"];
  head["current"]["batch"] = 32;
  make_run(run("present"), head, "");
  training::Snapshot snapshot;
  snapshot.run_dir = run("present").string();
  snapshot.started = 1800000000;
  tests::settings_of(snapshot).batch = 32;
  EXPECT_EQ(summary_of(snapshot, nullptr).started, 1800000000) << "a training that writes no run";
  EXPECT_TRUE(std::isnan(summary_of(training::Snapshot(), nullptr).started));
  wait_for_list();
  ASSERT_TRUE(loader_.list()->present);
  const runs::RunSummary before = summary_of(snapshot, &*loader_.list()->present);
  EXPECT_EQ(before.started, 1769903999) << "resumed: it began before this process";
  EXPECT_EQ(before.batch, 32);
  EXPECT_EQ(before.at_first.batch, 64);
  EXPECT_TRUE(std::isnan(before.at_first.learning_rate));
  head["current"]["learning_rate"] = 0.25;
  make_run(run("present"), head, "");
  ASSERT_TRUE(tests::eventually([this] {
    const auto list = loader_.list();  // its file may be seen half written
    return list->present && std::isfinite(list->present->at_first.learning_rate);
  }));
}

TEST_F(RunLoaderTest, ComparesTheSettingsOfWhatIsShown) {
  make_run(run("present"), finished(10, 0.005), "");
  make_run(run("a"), finished(10, 0.1), steps(1, 10));
  make_run(run("b"), finished(10, 0.005), steps(1, 10));
  look({run("a"), run("b")});
  ASSERT_TRUE(tests::eventually([this] { return loader_.settings()->runs.size() == 3; }));
  const auto rows = setting_rows(*loader_.settings());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].key, "learning_rate");
  EXPECT_EQ(rows[0].values, (std::vector<std::string>{"0.005", "0.1", "0.005"}));
  EXPECT_EQ(rows[0].differs, (std::vector<bool>{false, true, false}));
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
}  // namespace warpscope::ui::run_loader_test
