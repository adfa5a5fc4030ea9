#include "gpu/runs/run_reader.h"

#include <atomic>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/runs/run_folder.h"
#include "gpu/runs/trained_network.h"
#include "tests/runs/run_maker.h"

namespace warpscope::runs::run_reader_test {
namespace {

using tests::append_text;
using tests::marker_line;
using tests::run_head;
using tests::step_line;
using tests::test_line;

class RunReaderTest : public testing::Test {
 protected:
  void make(const std::string& lines) { tests::make_run(folder / "run", run_head("running"), lines); }
  std::filesystem::path path() const { return folder / "run"; }
  std::filesystem::path metrics() const { return folder / "run/metrics.jsonl"; }

  const tests::TemporaryFolder folder;
};

std::vector<double> losses(const Run& run) {
  const Series* series = run.points.steps.find("train_loss");
  return series == nullptr ? std::vector<double>{} : series->values;
}

TEST_F(RunReaderTest, ReadsStepsTestsAndMarkers) {
  make(step_line(1, 0.5) + marker_line(1, "rate") + step_line(2, 0.25, R"(,"loss_scale":8)") +
       test_line(2, 0.75) + step_line(3, 0.125));
  const runs::Run run = read_run(path());
  EXPECT_EQ(run.head["status"], "running");
  EXPECT_EQ(run.points.steps.step, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(run.points.steps.epoch, (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_EQ(run.points.steps.seconds, (std::vector<double>{0.25, 0.5, 0.75}));
  EXPECT_EQ(losses(run), (std::vector<double>{0.5, 0.25, 0.125}));
  const Series* scale = run.points.steps.find("loss_scale");
  ASSERT_NE(scale, nullptr);
  ASSERT_EQ(scale->values.size(), 3u) << "a series that comes later is as long as the table";
  EXPECT_TRUE(std::isnan(scale->values[0]));
  EXPECT_EQ(scale->values[1], 8);
  EXPECT_TRUE(std::isnan(scale->values[2]));
  EXPECT_EQ(run.points.tests.step, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(run.points.tests.find("test_loss")->values, (std::vector<double>{0.75}));
  EXPECT_EQ(run.points.tests.find("test_psnr")->values, (std::vector<double>{12.5}));
  ASSERT_EQ(run.points.markers.size(), 1u);
  EXPECT_EQ(run.points.markers[0].text, "rate");
  EXPECT_EQ(run.damaged_lines, 0u);
  EXPECT_TRUE(run.notes.empty());
}

TEST_F(RunReaderTest, AFolderThatHoldsNoRunIsRefusedInOneSentence) {
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { read_run(folder.path()); }),
                           {folder.path().string(), "holds no run", "run.json"}));
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { read_run(folder / "none"); }),
                           {(folder / "none").string(), "there is no folder"}));
  tests::write_text(folder / "file", "text");
  tests::message_of<core::BadInput>([&] { read_run(folder / "file"); });
  std::filesystem::create_directories(folder / "strange/run.json");
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { read_run(folder / "strange"); }),
                           {"holds no run: its run.json is not a file"}));
}

TEST_F(RunReaderTest, AFolderThatMayNotBeReadIsNotSaidToHoldNoRun) {
  const std::filesystem::path closed = folder / "closed", inside = closed / "run";
  tests::write_text(inside / "run.json", "{}");
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  {
    const tests::OrdinaryUser user;
    for (const std::filesystem::path& path : {closed, inside}) {
      EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { read_run(path); }),
                               {"cannot read " + path.string(), "ermission denied"}));
      EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { load_trained_network(path, "", ""); }),
                               {"cannot read " + path.string(), "ermission denied"}));
    }
  }
  std::filesystem::permissions(closed, std::filesystem::perms::owner_all);
}

TEST_F(RunReaderTest, AnEmptyHeadIsDamagedAsOneThatWasCut) {
  make(step_line(1, 0.5));
  for (const auto& [text, told] : {std::pair{"", "is damaged: it is empty"},
                                   std::pair{"{\"model\":", "is damaged: it is no JSON object"}}) {
    tests::write_text(path() / "run.json", text);
    const auto run = read_run(path());
    ASSERT_EQ(run.notes.size(), 1u) << text;
    EXPECT_TRUE(tests::holds(run.notes[0], {(path() / "run.json").string() + " ", told}));
    EXPECT_EQ(losses(run).size(), 1u) << "what else there is stays";
  }
}

TEST_F(RunReaderTest, ALineWithoutItsEndWaits) {
  make(step_line(1, 0.5));
  RunFollower follower(path());
  follower.poll();
  const std::string line = step_line(2, 0.25);
  append_text(metrics(), line.substr(0, 20));
  follower.poll();
  EXPECT_EQ(follower.run().points.steps.size(), 1u);
  append_text(metrics(), line.substr(20) + "{\"st");
  EXPECT_FALSE(follower.poll().restarted);
  EXPECT_EQ(losses(follower.run()), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(follower.run().damaged_lines, 0u);
}

TEST_F(RunReaderTest, BytesThatComeInAnyPortionsGiveTheSameRun) {
  std::string text;
  for (std::uint64_t n = 1; n <= 300; ++n) {
    text += step_line(n, 1.0 / static_cast<double>(n));
    if (n % 50 == 0) text += test_line(n, 0.5) + marker_line(n, "m");
  }
  make(text);
  const runs::Run whole = read_run(path());
  ASSERT_EQ(whole.points.steps.size(), 300u);
  make("");
  RunFollower follower(path());
  std::mt19937 dice(3);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = std::min<std::size_t>(text.size() - at, dice() % 400);
    append_text(metrics(), text.substr(at, bytes));
    at += bytes;
    EXPECT_FALSE(follower.poll().restarted);
  }
  EXPECT_EQ(follower.run().points.steps.step, whole.points.steps.step);
  EXPECT_EQ(losses(follower.run()), losses(whole));
  EXPECT_EQ(follower.run().points.tests.step, whole.points.tests.step);
  EXPECT_EQ(follower.run().points.markers.size(), 6u);
}

TEST_F(RunReaderTest, AFileThatWasCutAndWentOnIsReadAnew) {
  std::string kept;
  for (std::uint64_t n = 1; n <= 100; ++n) kept += step_line(n, 1);
  std::string lost;
  for (std::uint64_t n = 101; n <= 150; ++n) lost += step_line(n, 1);
  make(kept + lost);
  RunFollower follower(path());
  follower.poll();

  // Shorter than what was read.
  make(kept + step_line(101, 2));
  EXPECT_TRUE(follower.poll().restarted);
  EXPECT_EQ(follower.run().points.steps.size(), 101u);
  EXPECT_EQ(losses(follower.run()).back(), 2);
  EXPECT_FALSE(follower.poll().restarted);

  // Cut and already as long as before, or longer, when it is looked at again.
  std::string other;
  for (std::uint64_t n = 101; n <= 200; ++n) other += step_line(n, 3);
  make(kept + other);
  EXPECT_TRUE(follower.poll().restarted);
  EXPECT_EQ(follower.run().points.steps.size(), 200u);
  EXPECT_EQ(losses(follower.run())[100], 3);
}

TEST_F(RunReaderTest, StepsThatGoBackReplaceTheLaterOnes) {
  make(step_line(1, 1) + test_line(1, 0.1) + step_line(2, 2) + test_line(2, 0.2) + step_line(3, 3) +
       marker_line(3, "went back"));
  RunFollower follower(path());
  follower.poll();
  append_text(metrics(), step_line(2, 20) + step_line(3, 30) + test_line(3, 0.3));
  EXPECT_TRUE(follower.poll().restarted);
  EXPECT_EQ(follower.run().points.steps.step, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(losses(follower.run()), (std::vector<double>{1, 20, 30}));
  EXPECT_EQ(follower.run().points.tests.step, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(follower.run().points.markers.size(), 1u);
}

TEST_F(RunReaderTest, AResetBeginsAnotherCurve) {
  make(step_line(1, 1) + test_line(1, 0.1) + marker_line(1, "rate") + step_line(2, 2) +
       "{\"step\":0,\"seconds\":0,\"marker\":\"reset\"}\n" + step_line(1, 10));
  const runs::Run run = read_run(path());
  EXPECT_EQ(losses(run), (std::vector<double>{10}));
  EXPECT_EQ(run.points.tests.size(), 0u);
  EXPECT_TRUE(run.points.markers.empty());
}

TEST_F(RunReaderTest, DamagedLinesAreCountedAndLeftOut) {
  std::string binary;
  for (int i = 0; i < 256; ++i) binary += i == '\n' ? ' ' : static_cast<char>(i);
  make(step_line(1, 1) + "nonsense\n" + "\n" + binary + "\n" + step_line(2, 2) + "{\"step\":3,\"loss\":\n" +
       step_line(4, 4));
  const runs::Run run = read_run(path());
  EXPECT_EQ(losses(run), (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(run.damaged_lines, 4u);
  ASSERT_EQ(run.notes.size(), 4u);
  EXPECT_TRUE(tests::holds(run.notes[0], {"line 2 of", metrics().string(), "not JSON"}));
  EXPECT_TRUE(tests::holds(run.notes[3], {"line 6 of"}));
}

TEST_F(RunReaderTest, NotesDoNotGrowWithoutEnd) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "x\n";
  make(text);
  const runs::Run run = read_run(path());
  EXPECT_EQ(run.damaged_lines, 1000u);
  EXPECT_LT(run.notes.size(), 20u);
}

TEST_F(RunReaderTest, AnEndlessLineIsDroppedWhole) {
  make(step_line(1, 1));
  RunFollower follower(path());
  append_text(metrics(), std::string(3'500'000, 'x'));
  follower.poll();
  append_text(metrics(), std::string(100, 'x') + "\n" + step_line(2, 2));
  follower.poll();
  EXPECT_EQ(losses(follower.run()), (std::vector<double>{1, 2}));
  EXPECT_EQ(follower.run().damaged_lines, 1u);
}

TEST_F(RunReaderTest, RandomDamageNeverCrashes) {
  std::string text;
  for (std::uint64_t n = 1; n <= 40; ++n) text += step_line(n, 1) + (n % 10 == 0 ? test_line(n, 1) : "");
  const std::string head = run_head("finished").dump();
  std::mt19937 dice(11);
  int reads = 0;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = text;
    std::string damaged_head = head;
    for (int i = 0; i < 10; ++i) damaged[dice() % damaged.size()] = static_cast<char>(dice());
    for (int i = 0; i < 3; ++i) damaged_head[dice() % damaged_head.size()] = static_cast<char>(dice());
    tests::write_text(folder / "run/run.json", damaged_head);
    tests::write_text(metrics(), damaged.substr(0, dice() % damaged.size()));
    try {
      const runs::Run run = read_run(path());
      const PointTable& steps = run.points.steps;
      EXPECT_TRUE(std::is_sorted(steps.step.begin(), steps.step.end()));
      for (const Series& series : steps.series) EXPECT_EQ(series.values.size(), steps.size());
      ++reads;
    } catch (const core::BadInput& error) {
      EXPECT_TRUE(tests::holds(error.what(), {"format"}));
    }
  }
  EXPECT_GT(reads, 150) << "only a format that can be read, of another number, is refused";
}

TEST_F(RunReaderTest, PollReadsInPortionsIfAsked) {
  std::string text;
  for (std::uint64_t n = 1; n <= 30'000; ++n) text += step_line(n, 1);
  make(text);
  RunFollower follower(path());
  RunUpdate update = follower.poll(1);
  EXPECT_TRUE(update.more);
  const std::size_t first = follower.run().points.steps.size();
  EXPECT_GT(first, 0u);
  EXPECT_LT(first, 30'000u);
  while (update.more) update = follower.poll(1);
  EXPECT_EQ(follower.run().points.steps.size(), 30'000u);
}

TEST_F(RunReaderTest, AReplacedRunJsonIsNoticed) {
  make("");
  RunFollower follower(path());
  EXPECT_TRUE(follower.poll().head_changed);
  EXPECT_FALSE(follower.poll().head_changed);
  tests::write_text(folder / "run/run.json", run_head("finished").dump());
  EXPECT_TRUE(follower.poll().head_changed);
  EXPECT_EQ(follower.run().head["status"], "finished");
  tests::write_text(folder / "run/run.json", "{\"status\":");
  EXPECT_FALSE(follower.poll().head_changed);
  EXPECT_EQ(follower.run().head["status"], "finished") << "what was read stays";
  EXPECT_TRUE(tests::holds(follower.run().notes.at(0), {"run.json", "damaged"}));
}

TEST_F(RunReaderTest, ARunOfAnotherFormatIsRefusedAndStays) {
  make(step_line(1, 1));
  nlohmann::json head = run_head("finished");
  const auto refusal = [&] {
    tests::write_text(folder / "run/run.json", head.dump());
    return tests::message_of<core::BadInput>([&] { RunFollower{path()}; });
  };
  RunFollower before(path());
  before.poll();
  head[files::kFormat] = 7;
  EXPECT_TRUE(tests::holds(refusal(), {"run.json has format 7 of runs", "reads only 1"}));
  EXPECT_FALSE(before.poll().head_changed);
  EXPECT_TRUE(tests::holds(before.run().notes.at(0), {"format 7 of runs"}))
      << "one that is replaced meanwhile";
  head[files::kFormat] = "1";
  EXPECT_TRUE(tests::holds(refusal(), {"run.json has no format number of runs", "reads only 1"}));
  EXPECT_EQ(tests::read_text(folder / "run/run.json"), head.dump());
}

TEST_F(RunReaderTest, ADeeplyNestedRunJsonIsDamaged) {
  std::string nested = "{\"configuration\":";
  for (int i = 0; i < 100'000; ++i) nested += "[";
  tests::write_text(folder / "run/run.json", nested);
  EXPECT_EQ(read_run(path()).notes.size(), 1u);
}

TEST_F(RunReaderTest, AFolderThatIsAwayForAWhileLosesNothing) {
  make(step_line(1, 1));
  RunFollower follower(path());
  follower.poll();
  std::filesystem::rename(path(), folder / "away");
  EXPECT_FALSE(follower.poll().restarted);
  EXPECT_EQ(follower.run().points.steps.size(), 1u);
  std::filesystem::rename(folder / "away", path());
  append_text(metrics(), step_line(2, 2));
  EXPECT_FALSE(follower.poll().restarted);
  EXPECT_EQ(losses(follower.run()), (std::vector<double>{1, 2}));
}

TEST_F(RunReaderTest, TheWritersLockIsSeen) {
  EXPECT_FALSE(is_being_written(path()));
  {
    std::optional<training::RunFolder> writer = training::RunFolder::create(path());
    EXPECT_TRUE(is_being_written(path()));
    writer->append_metrics(step_line(1, 0.5));
    EXPECT_EQ(losses(read_run(path())), (std::vector<double>{0.5})) << "before there is a run.json";
    writer->write_run(run_head("running"));
    EXPECT_TRUE(is_being_written(path()));
  }
  EXPECT_FALSE(is_being_written(path()));
}

TEST_F(RunReaderTest, AWriterAndAReaderAtTheSameTimeAgree) {
  auto writer = training::RunFolder::create(path());
  std::atomic<bool> written = false;
  std::jthread thread([&] {
    for (std::uint64_t n = 1; n <= 2000; ++n) writer.append_metrics(step_line(n, static_cast<double>(n)));
    written = true;
  });
  RunFollower follower(path());
  for (bool all = false; !all;) {
    all = written;  // before the look that finds the last of it
    EXPECT_FALSE(follower.poll().restarted);
  }
  ASSERT_EQ(follower.run().points.steps.size(), 2000u);
  EXPECT_EQ(follower.run().damaged_lines, 0u);
  EXPECT_EQ(losses(follower.run()).back(), 2000);
}

TEST_F(RunReaderTest, NamesAreFitForOneLine) {
  EXPECT_EQ(run_name(folder / "a\x1b[31mb\nc\xFF"), "a\\x1b[31mb\\nc\\xff");
  EXPECT_EQ(run_name(folder.path() / "x" / ".."), folder.path().filename());
}

}  // namespace
}  // namespace warpscope::runs::run_reader_test
