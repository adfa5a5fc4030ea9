#include "gpu/runs/run_recorder.h"

#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/runs/run_reader.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/points.h"
#include "tests/support/tiny_engine.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::run_recorder_test {
namespace {

using nlohmann::json;

std::set<std::string> keys(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

const std::set<std::string> kStepKeys{
    "step",    "epoch",         "loss",        "learning_rate", "images_per_second",
    "seconds", "gradient_norm", "update_ratio"};
const std::set<std::string> kTestKeys{"step", "epoch", "test_loss", "psnr", "seconds"};
const std::set<std::string> kMarkerKeys{"step", "seconds", "marker"};
const std::set<std::string> kOptionalKeys{"split", "anew"};
const std::set<std::string> kProbeKeys{"step", "epoch", "seconds", "feature_accuracy"};

/// A run folder and what is in it.
class Run : public testing::Test {
 protected:
  json run() const { return json::parse(tests::read_text(folder / "run/run.json")); }
  /// The lines of metrics.jsonl, each a JSON object of one of the three kinds.
  std::vector<json> metrics() const {
    std::vector<json> lines;
    std::istringstream text(tests::read_text(folder / "run/metrics.jsonl"));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(json::parse(line));
      auto has = keys(lines.back());
      if (lines.back().value("skipped", false)) has.erase("skipped"), has.erase("loss_scale");
      for (const std::string& key : kOptionalKeys) has.erase(key);
      EXPECT_TRUE(has == kStepKeys || has == kTestKeys || has == kMarkerKeys || has == kProbeKeys) << line;
    }
    return lines;
  }
  std::string directory() const { return (folder / "run").string(); }

  const tests::TemporaryFolder folder;
  const std::shared_ptr<Feed> feed = std::make_shared<Feed>();
};

/// Step n, counted from 1: its loss is n, its speed 10 n.
Point point(std::uint64_t n) {
  const auto value = static_cast<double>(n);
  Point made = tests::step_point(n, value / 10, static_cast<float>(n), 0.1f, 10 * value, value / 100);
  made[Metric::gradient_norm] = 0.5f;
  made[Metric::update_ratio] = 0.125f;
  return made;
}

TEST_F(Run, SaysRunningFromTheStart) {
  const RunRecorder recorder(RunFolder::create(directory()), feed, {{"configuration", {{"model", "tiny"}}}});
  EXPECT_EQ(run()["status"], "running");
  EXPECT_EQ(run()["configuration"]["model"], "tiny");
}

TEST_F(Run, WritesPointsTestsAndMarkersAsTheyCome) {
  RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
  feed->push({point(1), Marker{1, 0.01, "conv2d.forward: \"a\" -> b"}, LogLine{LogLevel::info, "hello"},
              point(2), tests::test_point(2, 0.2, 0.02, 0.5f, 3.0f), Restart{1}, point(1)});
  ASSERT_TRUE(tests::eventually([this] { return metrics().size() >= 6; })) << "written before the end";
  const auto lines = metrics();
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], (json{{"step", 1},
                            {"epoch", 0.1},
                            {"loss", 1},
                            {"learning_rate", 0.100000001},
                            {"images_per_second", 10},
                            {"seconds", 0.01},
                            {"gradient_norm", 0.5},
                            {"update_ratio", 0.125}}));
  EXPECT_EQ(lines[1], (json{{"step", 1}, {"seconds", 0.01}, {"marker", "conv2d.forward: \"a\" -> b"}}));
  EXPECT_EQ(lines[3],
            (json{{"step", 2}, {"epoch", 0.2}, {"test_loss", 0.5}, {"psnr", 3}, {"seconds", 0.02}}));
  EXPECT_EQ(lines[4], (json{{"step", 0}, {"seconds", 0}, {"marker", "reset"}}));
}

TEST_F(Run, ItsLinesTellWhatTheFeedTold) {
  RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
  Point skipped = point(2);
  skipped.skipped = true;
  const std::vector<FeedItem> told{
      point(1),
      Marker{1, 0.01, "x"},
      skipped,
      tests::test_point(2, 0.2, 0.02, 0.5f, 3.0f),
      tests::test_point(2, 0.2, 0.02, 0.5f, 3.0f, tests::kNone, Split::validation),
      tests::probe_point(2, 0.2, 0.02, 0.25f),
      Marker{2, 0.02, "back to earlier weights", true},
      Restart{}};
  feed->push(told);
  recorder.finish("finished", "");
  const auto lines = metrics();
  ASSERT_EQ(lines.size(), told.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    const auto item = item_of(lines[i]);
    ASSERT_TRUE(item) << lines[i];
    ASSERT_EQ(item->index(), told[i].index()) << lines[i];
    if (const auto* marker = std::get_if<Marker>(&told[i])) {
      EXPECT_EQ(std::get<Marker>(*item).text, marker->text);
      EXPECT_EQ(std::get<Marker>(*item).anew, marker->anew);
      runs::MetricsLine line;
      EXPECT_EQ(runs::parse_metrics_line(lines[i].dump(), line), "");
      EXPECT_EQ(line.anew, marker->anew) << "for those that look on";
    }
    const auto* const wanted = std::get_if<Point>(&told[i]);
    if (wanted == nullptr) continue;
    const auto& read = std::get<Point>(*item);
    EXPECT_EQ(read.step, wanted->step);
    EXPECT_EQ(read.split, wanted->split) << lines[i];
    EXPECT_EQ(read.skipped, wanted->skipped);
    EXPECT_EQ(read.is_probe(), wanted->is_probe());
    for (const MetricRow& row : training::metrics()) {
      if (std::isnan((*wanted)[row.metric])) continue;
      EXPECT_EQ(read[row.metric], (*wanted)[row.metric]) << row.key;
    }
  }
  EXPECT_FALSE(item_of({{"step", 0}}));
}

TEST_F(Run, ATrainingThatComesBackIsThereOnceMore) {
  RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
  feed->push({point(1), Marker{1, 0.01, "x"}, point(2), point(3), Restart{1}, point(1), Return{2, 0, 2}});
  feed->push({point(3), Return{3, 1, 1}});
  recorder.finish("finished", "");
  std::vector<int> steps;
  for (const json& line : metrics()) steps.push_back(line["step"]);
  EXPECT_EQ(steps, (std::vector<int>{1, 1, 2, 3, 0, 1, 0, 1, 1, 2, 3, 0, 1}));
  EXPECT_EQ(run()["steps"], 1u);
}

TEST_F(Run, WritesTheFiguresOfAHeadWhereThereIsOne) {
  RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
  Point joint = point(1);
  joint[Metric::head_loss] = 2.5f;
  joint[Metric::head_accuracy] = 0.25f;
  Point test = tests::test_point(1, 0.1, 0.01, 0.5f, 3.0f);
  test[Metric::head_loss] = 2.25f;
  test[Metric::head_accuracy] = 0.5f;
  feed->push({joint, test});
  recorder.finish("finished", "");
  std::istringstream text(tests::read_text(folder / "run/metrics.jsonl"));
  std::vector<json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["head_loss"], 2.5);
  EXPECT_EQ(lines[0]["head_accuracy"], 0.25);
  EXPECT_EQ(lines[1]["head_loss"], 2.25);
  EXPECT_EQ(lines[1]["head_accuracy"], 0.5);
  EXPECT_EQ(run()["head_loss"], 2.25);
  EXPECT_EQ(run()["head_accuracy"], 0.5);
}

TEST_F(Run, EveryMetricComesBackUnderItsOwnName) {
  RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
  const auto with = [](Point point, auto belongs) {
    for (const MetricRow& row : training::metrics()) {
      if (belongs(row)) point[row.metric] = 0.5f + static_cast<float>(row.metric);
    }
    return point;
  };
  const Point step = with(tests::step_point(1), [](const auto& row) { return !row.steps.empty(); });
  const Point test = with(tests::test_point(1, 0, 0, 0, tests::kNone, tests::kNone, Split::validation),
                          [](const auto& row) { return !row.validation.empty(); });
  feed->push({step, test, tests::probe_point(1, 0, 0, 0.25f)});
  recorder.finish("finished", "");
  const runs::RunPoints points = runs::read_run(folder / "run").points;
  const Point step_again = runs::MetricColumns(points.steps, Split::train).at(0);
  const std::vector<Point> tests_again = runs::tests_of(points.tests);
  ASSERT_EQ(tests_again.size(), 2u);
  for (const MetricRow& row : training::metrics()) {
    const auto same = [&](const Point& a, const Point& b) {
      return std::isnan(a[row.metric]) ? std::isnan(b[row.metric]) : a[row.metric] == b[row.metric];
    };
    EXPECT_TRUE(same(step_again, step)) << row.key;
    EXPECT_TRUE(same(tests_again[0], test)) << row.key;
  }
  EXPECT_EQ(tests_again[1][Metric::feature_accuracy], 0.25f);
}

TEST_F(Run, KeepsAllDigitsOfALoss) {
  RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
  const float loss = 0.012345678f;
  feed->push({tests::step_point(1, 0.1, loss, 0.1f, 0, 0)});
  recorder.finish("finished", "");
  EXPECT_EQ(metrics()[0]["loss"].get<float>(), loss);
}

TEST_F(Run, WritesNullForWhatJsonCannotHold) {
  RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  feed->push({tests::step_point(1, 0.1, nan, 0.1f, 0, 0), tests::test_point(1, 0.1, 0, infinity, infinity)});
  recorder.finish("failed", "the loss is nan");
  EXPECT_TRUE(metrics()[0]["loss"].is_null());
  EXPECT_TRUE(metrics()[1]["test_loss"].is_null());
  EXPECT_TRUE(run()["final_train_loss"].is_null());
  EXPECT_TRUE(run()["psnr"].is_null());
}

TEST_F(Run, FinalLossIsTheMeanOfTheLastFiftySteps) {
  for (const std::uint64_t steps : {1, 7, 50, 51, 75, 100, 333}) {
    const tests::TemporaryFolder own;
    const auto points = std::make_shared<Feed>();
    RunRecorder recorder(RunFolder::create(own / "run"), points, json::object());
    for (std::uint64_t n = 1; n <= steps; ++n) points->push({point(n)});
    recorder.finish("finished", "");
    const std::uint64_t first = steps > 50 ? steps - 49 : 1;
    const RunFigures figures = recorder.figures();
    EXPECT_DOUBLE_EQ(figures.final_train_loss, static_cast<double>(first + steps) / 2) << steps;
    EXPECT_EQ(figures.steps, steps);
    EXPECT_DOUBLE_EQ(figures.epochs, static_cast<double>(steps) / 10);
    EXPECT_DOUBLE_EQ(figures.seconds, static_cast<double>(steps) / 100);
    EXPECT_FLOAT_EQ(static_cast<float>(figures.median_images_per_second),
                    static_cast<float>(5 * (steps + 1)));
  }
}

TEST_F(Run, WhatWasWrittenIsThere) {
  RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
  for (std::uint64_t n = 1; n <= 30; ++n) {
    feed->push({point(n)});
    recorder.write();
    ASSERT_EQ(metrics().size(), n);
  }
}

TEST_F(Run, PointsFromBeforeItWasGoneOnWithCount) {
  {
    RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
    feed->push({point(1), Restart{1}});
    for (std::uint64_t n = 1; n <= 60; ++n) feed->push({point(n)});
    feed->push({tests::test_point(60, 6, 0.6, 0.5f, 3.0f),
                tests::test_point(60, 6, 0.6, 0.25f, tests::kNone, tests::kNone, Split::validation)});
  }
  FigureTally tally;
  RunFolder again = RunFolder::reopen(directory());
  again.resume_at(60, {}, [&](const json& line) { tally.note(line); });
  RunRecorder recorder(std::move(again), feed, json::object(), tally);
  EXPECT_EQ(recorder.figures().steps, 60u);
  EXPECT_DOUBLE_EQ(recorder.figures().test_loss, 0.5);
  EXPECT_DOUBLE_EQ(recorder.figures().psnr, 3.0);
  EXPECT_DOUBLE_EQ(recorder.figures().validation_loss, 0.25);
  for (std::uint64_t n = 61; n <= 75; ++n) feed->push({point(n)});
  recorder.finish("finished", "");
  EXPECT_EQ(run()["steps"], 75);
  EXPECT_DOUBLE_EQ(run()["final_train_loss"].get<double>(), (26 + 75) / 2.0);
  EXPECT_DOUBLE_EQ(run()["median_images_per_second"].get<double>(), 5 * (75 + 1));
}

TEST_F(Run, ResultsAreThoseSinceTheLastReset) {
  RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
  feed->push({point(1), point(2), tests::test_point(2, 0.2, 0.02, 0.5f, 3.0f), Restart{1}, point(1)});
  recorder.finish("finished", "");
  EXPECT_EQ(run()["steps"], 1);
  EXPECT_EQ(run()["final_train_loss"], 1.0);
  EXPECT_TRUE(run()["test_loss"].is_null()) << "no test since the reset";
  EXPECT_EQ(metrics().size(), 5u);
}

TEST_F(Run, WithoutPointsItHasNoResults) {
  RunRecorder recorder(RunFolder::create(directory()), feed, json::object());
  recorder.finish("failed", "no memory");
  EXPECT_EQ(run()["status"], "failed");
  EXPECT_EQ(run()["error"], "no memory");
  EXPECT_EQ(run()["steps"], 0);
  for (const char* result : {"final_train_loss", "test_loss", "psnr", "median_images_per_second"})
    EXPECT_TRUE(run()[result].is_null()) << result;
}

TEST_F(Run, AFinishedTrainingLeavesAllResults) {
  TrainerOptions options = tests::tiny_trainer_options();
  options.steps = 120;
  options.run_dir = directory();
  options.start_paused = true;
  Trainer trainer(options);
  tests::FeedLog log(trainer.subscribe());
  ASSERT_TRUE(tests::wait_for_state(trainer, TrainerState::paused));
  EXPECT_EQ(run()["status"], "running");
  trainer.send(tests::change("learning_rate", 0.05));
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto end = trainer.snapshot();
  ASSERT_EQ(end->state, TrainerState::finished) << end->notice;

  const json result = run();
  EXPECT_EQ(result["status"], "finished");
  EXPECT_FALSE(result.contains("error"));
  EXPECT_EQ(result["steps"], 120);
  EXPECT_EQ(result["epochs"], 24.0);
  const auto points = log.steps();
  double last_fifty = 0;
  for (std::size_t i = points.size() - 50; i < points.size(); ++i)
    last_fifty += static_cast<double>(points[i][Metric::loss]) / 50;
  EXPECT_NEAR(result["final_train_loss"].get<double>(), last_fifty, 1e-8);
  EXPECT_EQ(result["test_loss"].get<float>(), end->last_test[Metric::loss]);
  EXPECT_EQ(result["psnr"].get<float>(), log.tests().back()[Metric::psnr]);
  EXPECT_GT(result["median_images_per_second"].get<double>(), 0);
  EXPECT_NEAR(result["seconds"].get<double>(), end->seconds, 1e-8) << "the digits of metrics.jsonl";
  EXPECT_EQ(end->figures.steps, 120u);
  EXPECT_NEAR(end->figures.final_train_loss, last_fifty, 1e-12);
  const json& configuration = result["configuration"];
  EXPECT_EQ(configuration["model"], "tiny");
  EXPECT_EQ(configuration["batch"], 8);
  EXPECT_EQ(configuration["learning_rate"].get<float>(), options.optimizer.learning_rate);
  EXPECT_EQ(configuration["seed"], 5);
  EXPECT_EQ(configuration["precision"], "fp32");
  EXPECT_EQ(configuration["chosen"]["conv2d.forward"], "loops");
  EXPECT_EQ(configuration["data"], "tiny waves");
  EXPECT_EQ(configuration["device"], "cpu");
  EXPECT_EQ(result["device"]["kind"], "cpu");
  EXPECT_TRUE(result["versions"].contains("warpscope"));

  std::size_t steps = 0;
  std::size_t tests = 0;
  std::vector<std::string> markers;
  for (const json& line : metrics()) {
    if (keys(line) == kStepKeys) {
      ASSERT_EQ(line["step"], points[steps].step);
      ASSERT_EQ(line["loss"].get<float>(), points[steps][Metric::loss]);
      ++steps;
    }
    tests += keys(line) == kTestKeys;
    if (keys(line) == kMarkerKeys) markers.push_back(line["marker"]);
  }
  EXPECT_EQ(steps, 120u);
  EXPECT_EQ(tests, log.tests().size());
  EXPECT_EQ(markers, (std::vector<std::string>{"learning rate: 0.1 -> 0.05"}));
}

TEST_F(Run, AFailedTrainingSaysSoAndKeepsEveryPoint) {
  TrainerOptions options = tests::tiny_trainer_options();
  options.start_paused = true;
  options.run_dir = directory();
  Trainer trainer(options);
  tests::FeedLog log(trainer.subscribe());
  for (int i = 0; i < 10; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(tests::wait_for_step(trainer, 10));
  trainer.send(tests::change("learning_rate", 1e6));
  trainer.send(Resume{});
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto end = trainer.snapshot();
  ASSERT_EQ(end->state, TrainerState::failed);
  const json result = run();
  EXPECT_EQ(result["status"], "failed");
  EXPECT_EQ(result["error"], end->notice);
  const auto points = log.steps();
  EXPECT_FALSE(std::isfinite(points.back()[Metric::loss]));
  EXPECT_EQ(result["steps"], points.back().step);
  const auto lines = metrics();
  EXPECT_EQ(lines.back()["step"], points.back().step);
  EXPECT_TRUE(lines.back()["loss"].is_null());
}

TEST_F(Run, ADestroyedTrainerLeavesEveryPoint) {
  TrainerOptions options = tests::tiny_trainer_options();
  options.run_dir = directory();
  auto trainer = std::make_unique<Trainer>(options);
  tests::FeedLog log(trainer->subscribe());
  ASSERT_TRUE(tests::wait_for_step(*trainer, 20));
  trainer.reset();
  const auto points = log.steps();
  std::size_t steps = 0;
  for (const json& line : metrics()) steps += keys(line) == kStepKeys;
  EXPECT_EQ(steps, points.back().step);
}

TEST_F(Run, BadInputLeavesNoFolder) {
  TrainerOptions options = tests::tiny_trainer_options();
  options.run_dir = directory();
  options.batch = 41;
  Trainer trainer(options);
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  EXPECT_TRUE(trainer.snapshot()->failed_by_input);
  EXPECT_EQ(tests::count_entries(folder.path()), 0);
}

TEST_F(Run, AFullDiskFailsTheTraining) {
  const tests::SmallDisk disk(64 * 1024);
  if (!disk.mounted()) GTEST_SKIP() << "may not mount";
  TrainerOptions options = tests::tiny_trainer_options();
  options.run_dir = (disk / "run").string();
  Trainer trainer(options);
  ASSERT_TRUE(trainer.wait(tests::kPatience));
  const auto end = trainer.snapshot();
  EXPECT_EQ(end->state, TrainerState::failed);
  EXPECT_FALSE(end->failed_by_input);
  EXPECT_TRUE(tests::holds(end->notice, {"cannot write", "metrics.jsonl", "No space left"}));
}

}  // namespace
}  // namespace warpscope::training::run_recorder_test
