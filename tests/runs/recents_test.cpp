#include "gpu/runs/recents.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "gpu/runs/run_images.h"
#include "tests/core/temporary_folder.h"
#include "tests/runs/run_maker.h"

namespace warpscope::runs::recents_test {
namespace {

namespace fs = std::filesystem;
using tests::make_run;
using tests::run_head;
using tests::step_line;

nlohmann::json started(const std::string& status, const std::string& when) {
  nlohmann::json head = run_head(status);
  head["started"] = when;
  return head;
}

TEST(Recents, TellHowEachEndedTheNewestFirst) {
  const tests::TemporaryFolder folder;
  nlohmann::json done = started("finished", "2026-01-03T00:00:00Z");
  done.update({{"steps", 7}, {"final_train_loss", 0.25}, {"test_loss", 0.5}});
  make_run(folder / "done", done, step_line(7, 0.25));
  nlohmann::json diverged = started("finished", "2026-01-02T00:00:00Z");
  diverged.update({{"steps", 3}, {"final_train_loss", nullptr}});
  make_run(folder / "diverged", diverged, "");
  make_run(folder / "killed", started("running", "2026-01-01T00:00:00Z"),
           step_line(1, 1) + step_line(2, 0.5));
  fs::create_directories(folder / "killed" / "checkpoints");
  std::ofstream(folder / "killed" / "checkpoints" / "step-000000002.safetensors");
  const auto recents = recent_trainings(folder.path(), 10);
  ASSERT_EQ(recents.size(), 3u);
  EXPECT_EQ(recents[0].end, "finished");
  EXPECT_EQ(recents[0].run.test_loss, 0.5);
  EXPECT_FALSE(recents[0].can_go_on) << "it has no checkpoint";
  EXPECT_EQ(recents[1].end, "diverged");
  EXPECT_EQ(recents[2].end, "interrupted");
  EXPECT_EQ(recents[2].run.steps, 2u);
  EXPECT_TRUE(recents[2].can_go_on);
  EXPECT_EQ(recent_trainings(folder.path(), 1).size(), 1u);
  EXPECT_TRUE(recent_trainings(folder / "nowhere", 1).empty());
}

TEST(Recents, DamagedOnesAreListedWithTheirSentence) {
  const tests::TemporaryFolder folder;
  make_run(folder / "other", {{"format", 99}}, "");
  tests::write_text(folder / "torn" / "run.json", "{\"status\": ");
  tests::write_text(folder / "types" / "run.json",
                    R"({"format": 1, "status": 7, "configuration": [1], "steps": 2})");
  tests::write_text(folder / "types" / "images" / "index.json", R"([{"pictures": 3}])");
  tests::write_text(folder / "types" / "metrics.jsonl", "{\"step\": \"x\"}\n[]\nnothing\n");
  const auto recents = recent_trainings(folder.path(), 10);
  ASSERT_EQ(recents.size(), 3u);
  for (const RecentTraining& each : recents) {
    EXPECT_TRUE(each.run.name == "types" || !each.problem.empty()) << each.run.name;
    EXPECT_TRUE(each.curve.empty());
    EXPECT_TRUE(each.picture.empty());
    EXPECT_FALSE(each.can_go_on);
  }
}

TEST(Recents, ThePictureIsTheNewest) {
  const tests::TemporaryFolder folder;
  make_run(folder / "a", run_head("finished"), "");
  EXPECT_TRUE(recent_trainings(folder.path(), 1).at(0).picture.empty());
  training::ShownImages images;
  images.shape = {1, 2, 2, 3};
  images.original.resize(images.shape.elements());
  images.reconstruction = images.original;
  images.errors = {0};
  training::RunImages pictures(folder / "a");
  for (images.step = 5; images.step <= 7; ++images.step) pictures.write(images);
  EXPECT_EQ(recent_trainings(folder.path(), 1).at(0).picture.filename(), training::picture_name(7));
}

TEST(Recents, TheCurveIsThatOfThePresentGenerationThinned) {
  const tests::TemporaryFolder folder;
  std::string lines;
  for (std::uint64_t step = 1; step <= 3000; ++step) lines += step_line(step, 100);
  lines += R"({"step":0,"seconds":0,"marker":"reset"})"
           "\n";
  for (std::uint64_t step = 1; step <= 9000; ++step) {
    lines += step_line(step, 1.0 / static_cast<double>(step));
    if (step % 100 == 0) lines += tests::test_line(step, 2);
  }
  make_run(folder / "a", run_head("finished"), lines);
  const auto curve = thinned_losses(folder / "a");
  ASSERT_GT(curve.size(), kCurvePoints / 2);
  ASSERT_LE(curve.size(), kCurvePoints);
  EXPECT_LT(curve.front().step, 300u);
  EXPECT_GT(curve.back().step, 8800u);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    EXPECT_LT(curve[i].loss, 2) << "of the generation before";
    EXPECT_TRUE(i == 0 || curve[i].step > curve[i - 1].step);
  }
  make_run(folder / "b", run_head("finished"), step_line(1, 3) + step_line(2, 2));
  EXPECT_EQ(thinned_losses(folder / "b").size(), 2u);
}

}  // namespace
}  // namespace warpscope::runs::recents_test
