#include "gpu/runs/summary.h"

#include <cmath>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "gpu/core/error.h"
#include "gpu/export/export.h"
#include "gpu/runs/run_folder.h"
#include "gpu/runs/settings.h"
#include "tests/runs/run_maker.h"

namespace warpscope::runs::summary_test {
namespace {

using nlohmann::json;
using tests::make_run;
using tests::run_head;
using tests::step_line;
using tests::test_line;

json finished(double test_loss, double speed) {
  json head = run_head("finished");
  head.update({{"steps", 1234},
               {"epochs", 2.5},
               {"final_train_loss", 0.25},
               {"test_loss", test_loss},
               {"median_images_per_second", speed},
               {"seconds", 7.5}});
  return head;
}

std::vector<std::string> names(const std::vector<RunSummary>& list) {
  std::vector<std::string> result;
  for (const RunSummary& run : list) result.push_back(run.name);
  return result;
}

TEST(SummaryTest, AFinishedRunTellsItsOwnResults) {
  const tests::TemporaryFolder folder;
  json head = finished(0.5, 4000);
  head["accuracy"] = 0.875;
  make_run(folder / "a", head, step_line(1, 9));
  const RunSummary run = summarize(read_run(folder / "a"));
  EXPECT_EQ(run.name, "a");
  EXPECT_EQ(run.model, "autoencoder");
  EXPECT_EQ(run.data, "CIFAR-10");
  EXPECT_EQ(run.device, "AMD EPYC");
  EXPECT_EQ(run.precision, "fp32");
  EXPECT_EQ(run.optimizer, "sgd");
  EXPECT_FLOAT_EQ(static_cast<float>(run.learning_rate), 0.005f);
  EXPECT_EQ(run.batch, 64);
  EXPECT_EQ(run.steps, 1234u);
  EXPECT_EQ(run.epochs, 2.5);
  EXPECT_EQ(run.final_train_loss, 0.25);
  EXPECT_EQ(run.test_loss, 0.5);
  EXPECT_EQ(run.accuracy, 0.875);
  EXPECT_EQ(run.median_images_per_second, 4000);
  EXPECT_EQ(run.seconds, 7.5);
  EXPECT_EQ(run.status, "finished");
}

TEST(SummaryTest, AnUnfinishedRunIsSummedUpFromItsPoints) {
  const tests::TemporaryFolder folder;
  std::string lines;
  for (std::uint64_t n = 1; n <= 80; ++n) lines += step_line(n, static_cast<double>(n));
  lines += test_line(80, 0.3, R"(,"accuracy":0.75)");
  // Results from before it was resumed must not be taken for those of now.
  json head = finished(99, 99);
  head["status"] = "running";
  make_run(folder / "a", head, lines);
  RunSummary run = summarize(read_run(folder / "a"));
  EXPECT_EQ(run.status, "interrupted");
  EXPECT_EQ(run.steps, 80u);
  EXPECT_EQ(run.epochs, 8);
  EXPECT_EQ(run.seconds, 20);
  EXPECT_EQ(run.final_train_loss, (31 + 80) / 2.0) << "mean over the last 50 steps";
  EXPECT_EQ(run.test_loss, 0.300000012) << "nine digits, as run.json has them at the end";
  EXPECT_EQ(run.accuracy, 0.75);
  EXPECT_EQ(run.median_images_per_second, 4050) << "the mean of the 40th and the 41st of 80";

  const auto writer = training::RunFolder::create(folder / "b");
  run = summarize(read_run(folder / "b"));
  EXPECT_EQ(run.status, "running");
  EXPECT_EQ(run.steps, 0u);
  EXPECT_TRUE(std::isnan(run.final_train_loss));
  EXPECT_EQ(run.model, "");
}

TEST(SummaryTest, AFailedRunSaysWhy) {
  const tests::TemporaryFolder folder;
  json head = finished(0.5, 1);
  head["status"] = "failed";
  head["error"] = "the loss is nan";
  head["test_loss"] = nullptr;
  make_run(folder / "a", head, "");
  const RunSummary run = summarize(read_run(folder / "a"));
  EXPECT_EQ(run.status, "failed");
  EXPECT_EQ(run.error, "the loss is nan");
  EXPECT_TRUE(std::isnan(run.test_loss));
}

TEST(SummaryTest, TheStartIsFoundWhereItIsTold) {
  const tests::TemporaryFolder folder;
  json head = run_head("running");
  head["started"] = "2026-01-31T23:59:59Z";
  make_run(folder / "a", head, "");
  EXPECT_EQ(start_of(read_run(folder / "a")), 1769903999);
  head["started"] = 1769903999.5;
  make_run(folder / "a", head, "");
  EXPECT_EQ(start_of(read_run(folder / "a")), 1769903999.5);
  make_run(folder / "20260131T235959Z-2", run_head("running"), "");
  EXPECT_EQ(start_of(read_run(folder / "20260131T235959Z-2")), 1769903999);
  make_run(folder / "b", run_head("running"), "");
  tests::write_text(folder / "b/.lock", "");
  const timespec times[2] = {{1000, 0}, {1769903999, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder / "b/.lock").c_str(), times, 0), 0);
  EXPECT_EQ(start_of(read_run(folder / "b")), 1769903999);
}

TEST(SummaryTest, RunsAreListedAndSorted) {
  const tests::TemporaryFolder folder;
  make_run(folder / "20260101T000000Z-1", finished(0.3, 150), "");
  make_run(folder / "20260101T000000Z-2", finished(0.1, 300), "");
  make_run(folder / "20260102T000000Z-1", finished(0.2, 200), "");
  make_run(folder / "20251231T000000Z-1", run_head("running"), step_line(1, 1));
  tests::write_text(folder / "20260103T000000Z-1/notes.txt", "no run");
  tests::write_text(folder / "file", "no folder");
  std::vector<RunSummary> list = list_runs(folder.path());
  EXPECT_EQ(names(list), (std::vector<std::string>{"20260102T000000Z-1", "20260101T000000Z-2",
                                                   "20260101T000000Z-1", "20251231T000000Z-1"}));
  sort_runs(list, RunOrder::test_loss);
  EXPECT_EQ(names(list), (std::vector<std::string>{"20260101T000000Z-2", "20260102T000000Z-1",
                                                   "20260101T000000Z-1", "20251231T000000Z-1"}));
  sort_runs(list, RunOrder::speed);
  EXPECT_EQ(names(list), (std::vector<std::string>{"20260101T000000Z-2", "20260102T000000Z-1",
                                                   "20260101T000000Z-1", "20251231T000000Z-1"}));
  EXPECT_EQ(names(list_runs(folder / "20260102T000000Z-1")),
            (std::vector<std::string>{"20260102T000000Z-1"}));
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { list_runs(folder / "none"); }),
                           {(folder / "none").string()}));
}

TEST(SummaryTest, WhatIsDamagedIsStillListed) {
  const tests::TemporaryFolder folder;
  tests::write_text(folder / "a/run.json", "{");
  tests::write_text(
      folder / "b/run.json",
      R"({"format":1,"status":5,"configuration":[1],"device":"x","steps":-1,"test_loss":"low","started":{}})");
  const std::vector<RunSummary> list = list_runs(folder.path());
  ASSERT_EQ(list.size(), 2u);
  for (const RunSummary& run : list) {
    EXPECT_EQ(run.status, "interrupted");
    EXPECT_EQ(run.notes.size(), run.name == "a" ? 1u : 0u);
  }
}

TEST(SummaryTest, RunsOfAnotherFormatAreListedWithTheReason) {
  const tests::TemporaryFolder folder;
  json head = finished(0.3, 150);
  make_run(folder / "a", head, "");
  head[files::kFormat] = files::kRunFormat.number + 1;
  make_run(folder / "b", head, "");
  head.erase(files::kFormat);
  make_run(folder / "c", head, "");
  std::vector<RunSummary> list = list_runs(folder.path());
  sort_runs(list, RunOrder::test_loss);
  EXPECT_EQ(names(list), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(list[0].status, "finished");
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_EQ(list[i].status, "refused");
    EXPECT_EQ(list[i].steps, 0u);
    ASSERT_EQ(list[i].notes.size(), 1u);
    EXPECT_TRUE(tests::holds(list[i].notes[0], {(list[i].folder / "run.json").string(),
                                                i == 1 ? "format 2" : "no format number", "reads only 1"}));
  }
}

TEST(SummaryTest, SettingsAreThoseOfNowAndChangedOnesSaySo) {
  runs::Run run;
  run.head = run_head("finished");
  const RunSummary unchanged = summarize_settings(run);
  EXPECT_EQ(json_of(unchanged)["at_first"], json::object());
  run.head["current"] = run.head["configuration"];
  EXPECT_EQ(json_of(summarize_settings(run))["at_first"], json::object()) << "nothing was changed";

  run.head["current"]["learning_rate"] = 0.25;
  run.head["current"]["optimizer"] = "adam";
  run.head["current"].erase("batch");  // as at first
  const RunSummary changed = summarize_settings(run);
  EXPECT_EQ(changed.learning_rate, 0.25);
  EXPECT_EQ(changed.optimizer, "adam");
  EXPECT_EQ(changed.batch, 64);
  EXPECT_EQ(changed.precision, "fp32");
  const json& first = run.head["configuration"];
  EXPECT_EQ(json_of(changed)["at_first"],
            (json{{"learning_rate", first["learning_rate"]}, {"optimizer", first["optimizer"]}}));

  run.head["configuration"].erase("optimizer");  // of a version that did not tell
  EXPECT_EQ(summarize_settings(run).at_first.optimizer, "");
  run.head["current"] = "damaged";
  EXPECT_EQ(summarize_settings(run).batch, 64);
}

TEST(SettingsTest, OnlySettingsThatDifferAreListed) {
  runs::Run a;
  a.head = run_head("finished");
  runs::Run b = a;
  b.head["configuration"]["batch"] = 64.0;  // the same number
  b.head["configuration"]["learning_rate"] = 0.01f;
  b.head["configuration"]["chosen"]["conv2d.forward"] = "loops";
  b.head["configuration"]["schedule"] = {{"name", "cosine"}, {"warmup", 100}};
  b.head["configuration"]["shuffle"] = true;
  b.head["status"] = "failed";  // no setting
  const auto differences = settings_that_differ({a, b, a});
  using Values = std::vector<std::optional<std::string>>;
  std::vector<std::pair<std::string, Values>> found;
  for (const SettingDifference& one : differences) found.emplace_back(one.key, one.values);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, Values>>{
                       {"chosen.conv2d.forward", {"onednn", "loops", "onednn"}},
                       {"learning_rate", {"0.005", "0.01", "0.005"}},
                       {"schedule.name", {std::nullopt, "cosine", std::nullopt}},
                       {"schedule.warmup", {std::nullopt, "100", std::nullopt}},
                       {"shuffle", {std::nullopt, "yes", std::nullopt}}}));
  EXPECT_TRUE(settings_that_differ({a, a}).empty());
  runs::Run changed = a;
  changed.head["current"] = a.head["configuration"];
  EXPECT_TRUE(settings_that_differ({a, changed}).empty());
  changed.head["current"]["optimizer"] = "lion";
  const auto later = settings_that_differ({a, changed});
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].key, "optimizer");
  EXPECT_EQ(shown_value(later[0], 1),
            "lion (at first " + setting_text(a.head["configuration"]["optimizer"]) + ")");
  EXPECT_TRUE(settings_that_differ({a}).empty());
  EXPECT_TRUE(settings_that_differ({}).empty());
  EXPECT_TRUE(settings_that_differ({runs::Run{}, runs::Run{}}).empty());
}

TEST(SettingsTest, RunsAreComparedAsTheyAreNowAndChangesOnTheWayAreMarked) {
  runs::Run start;
  start.head = run_head("finished");
  runs::Run changed = start;
  changed.head["current"] = changed.head["configuration"];
  EXPECT_TRUE(settings_that_differ({start, changed}).empty()) << "nothing was changed";
  changed.head["current"]["learning_rate"] = 0.01f;
  changed.head["current"]["chosen"]["conv2d.forward"] = "loops";
  changed.head["current"].erase("batch");  // as at first
  changed.head["current"]["zscore"] = 8;   // of a later version, which went on with the run
  start.head["configuration"]["zscore"] = 8;
  runs::Run other = start;
  other.head["configuration"]["learning_rate"] = 0.01f;  // the same last, another at first

  const auto differences = settings_that_differ({start, changed, other});
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].key, "chosen.conv2d.forward");
  EXPECT_EQ(shown_value(differences[0], 1), "loops (at first onednn)");
  EXPECT_EQ(differences[1].key, "learning_rate");
  EXPECT_EQ(shown_value(differences[1], 0), "0.005");
  EXPECT_EQ(shown_value(differences[1], 1), "0.01 (at first 0.005)");
  EXPECT_EQ(shown_value(differences[1], 2), "0.01");

  const auto same_now = settings_that_differ({changed, other});
  EXPECT_EQ(same_now.back().key, "learning_rate") << "both end with 0.01, but one began with 0.005";
  EXPECT_EQ(same_now.back().values, (std::vector<std::optional<std::string>>{"0.01", "0.01"}));
  EXPECT_EQ(same_now.back().at_first, (std::vector<std::optional<std::string>>{"0.005", std::nullopt}));
}

TEST(SettingsTest, AllSettingsAreListedAsTheyAreNow) {
  runs::Run run;
  run.head = run_head("finished");
  run.head["current"] = run.head["configuration"];
  run.head["current"]["batch"] = 32;
  run.head["current"]["chosen"]["relu.forward"] = "onednn";
  std::vector<std::string> texts;
  for (const Setting& setting : settings_of(run.head))
    texts.push_back(setting.key + ": " + shown_value(setting));
  EXPECT_EQ(texts, (std::vector<std::string>{"batch: 32 (at first 64)", "chosen.conv2d.forward: onednn",
                                             "chosen.relu.forward: onednn (at first loops)", "data: CIFAR-10",
                                             "device: cpu", "learning_rate: 0.005", "model: autoencoder",
                                             "optimizer: sgd", "precision: fp32"}));
  EXPECT_TRUE(settings_of(json()).empty());
}

TEST(SettingsTest, ValuesAreShort) {
  EXPECT_EQ(setting_text(0.004999999888241291), "0.005");
  EXPECT_EQ(setting_text(0.1), "0.1");
  EXPECT_EQ(setting_text(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(setting_text(64), "64");
  EXPECT_EQ(setting_text(false), "no");
  EXPECT_EQ(setting_text("a\nb"), "a\\nb");
  EXPECT_EQ(setting_text(json::array({1, 2})), "[1,2]");
  EXPECT_EQ(setting_text(nullptr), "null");
}

}  // namespace
}  // namespace warpscope::runs::summary_test
