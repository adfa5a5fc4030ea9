#include "gpu/runs/run_folder.h"

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::training::run_folder_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using core::Error;
using nlohmann::json;
using tests::holds;
using tests::message_of;
using tests::read_text;
using tests::TemporaryFolder;

TEST(RunFolder, MakesTheFolderAndItsParents) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "a" / "b" / "c");
  EXPECT_EQ(run.path(), folder / "a" / "b" / "c");
  EXPECT_TRUE(fs::is_directory(run.path()));
}

TEST(RunFolder, WritesRunJsonAndReplacesIt) {
  const TemporaryFolder folder;
  RunFolder run = RunFolder::create(folder.path());
  const json first{{"model", "autoencoder"}, {"seed", 42}};
  run.write_run(first);
  EXPECT_EQ(json::parse(read_text(folder / "run.json")), first);
  EXPECT_TRUE(read_text(folder / "run.json").find("\n  \"model\"") != std::string::npos) << "not pretty";
  EXPECT_TRUE(read_text(folder / "run.json").ends_with("}\n"));
  const json second{{"model", "autoencoder"}, {"result", {{"loss", 0.25}}}};
  run.write_run(second);
  EXPECT_EQ(json::parse(read_text(folder / "run.json")), second);
}

TEST(RunFolder, WritesTextThatIsNotUtf8) {
  const TemporaryFolder folder;
  RunFolder run = RunFolder::create(folder.path());
  run.write_run({{"data", "/data/\xff/x"}});
  EXPECT_EQ(json::parse(read_text(folder / "run.json"))["data"], "/data/\xef\xbf\xbd/x");
}

TEST(RunFolder, AppendsWholeLines) {
  const TemporaryFolder folder;
  RunFolder run = RunFolder::create(folder.path());
  run.append_metrics("{\"step\":1}\n{\"step\":2}\n");
  EXPECT_EQ(read_text(folder / "metrics.jsonl"), "{\"step\":1}\n{\"step\":2}\n");
  run.append_metrics("");
  run.append_metrics("{\"step\":3}");
  run.append_metrics("{\"step\":4}\n");
  EXPECT_EQ(read_text(folder / "metrics.jsonl"), "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"step\":4}\n");
}

TEST(RunFolder, WritesAnewWhatWasTakenAway) {
  const TemporaryFolder folder;
  const fs::path place = folder / "run";
  RunFolder run = RunFolder::create(place);
  run.append_metrics("{\"step\":1}\n");
  fs::remove_all(place);
  run.append_metrics("{\"step\":2}\n");
  EXPECT_EQ(read_text(place / "metrics.jsonl"), "{\"step\":1}\n{\"step\":2}\n");
  fs::rename(place, folder / "moved");
  run.write_run({{"status", "finished"}});
  run.append_metrics("{\"step\":3}\n");
  EXPECT_EQ(read_text(place / "metrics.jsonl"), "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
  EXPECT_EQ(read_text(folder / "moved" / "metrics.jsonl"), "{\"step\":1}\n{\"step\":2}\n");
  EXPECT_TRUE(fs::exists(place / "run.json"));
}

TEST(RunFolder, GoesOnWhereAFileEndsThatWasCutMeanwhile) {
  const TemporaryFolder folder;
  RunFolder run = RunFolder::create(folder.path());
  run.append_metrics("{\"step\":1}\n{\"step\":2}\n");
  fs::resize_file(folder / "metrics.jsonl", 11);
  run.append_metrics("{\"step\":3}\n");
  EXPECT_EQ(read_text(folder / "metrics.jsonl"), "{\"step\":1}\n{\"step\":3}\n");
  fs::resize_file(folder / "metrics.jsonl", 15);
  run.append_metrics("{\"step\":4}\n");
  EXPECT_EQ(read_text(folder / "metrics.jsonl"), "{\"step\":1}\n{\"step\":4}\n") << "no half line stays";
  fs::resize_file(folder / "metrics.jsonl", 0);
  run.append_metrics("{\"step\":4}\n");
  EXPECT_EQ(read_text(folder / "metrics.jsonl"), "{\"step\":4}\n");
  fs::resize_file(folder / "metrics.jsonl", 0);
  fs::remove(folder / "metrics.jsonl");
  run.append_metrics("{\"step\":5}\n");
  EXPECT_EQ(read_text(folder / "metrics.jsonl"), "{\"step\":5}\n");
}

TEST(RunFolder, RefusesAFolderThatHoldsARun) {
  const TemporaryFolder folder;
  { RunFolder::create(folder / "a").write_run({{"x", 1}}); }
  const std::string before = read_text(folder / "a" / "run.json");
  EXPECT_TRUE(holds(message_of<BadInput>([&] { RunFolder::create(folder / "a"); }),
                    {(folder / "a").string(), "run.json", "another folder"}));
  EXPECT_EQ(read_text(folder / "a" / "run.json"), before);
  // A run that was killed before its first run.json counts too.
  tests::write_text(folder / "b" / "metrics.jsonl", "{}\n");
  EXPECT_TRUE(holds(message_of<BadInput>([&] { RunFolder::create(folder / "b"); }), {"metrics.jsonl"}));
  EXPECT_EQ(tests::count_entries(folder / "b"), 1);
}

TEST(RunFolder, TakesAFolderWhoseFirstRunCouldNotBegin) {
  const TemporaryFolder folder;
  { const RunFolder run = RunFolder::create(folder.path()); }
  EXPECT_TRUE(fs::exists(folder / "metrics.jsonl"));
  RunFolder::create(folder.path()).write_run({});
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { RunFolder::create(folder.path()); }), {"holds a run already"}));
}

TEST(RunFolder, TakesAFolderWithOtherFiles) {
  const TemporaryFolder folder;
  tests::write_text(folder / "notes.txt", "mine");
  RunFolder::create(folder.path()).write_run({});
  EXPECT_EQ(read_text(folder / "notes.txt"), "mine");
}

TEST(RunFolder, RefusesAFolderThatAnotherProcessUses) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder.path());
  // Without its files only the lock is left to refuse.
  fs::remove(folder / "metrics.jsonl");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int result = 1;
    try {
      RunFolder::create(folder.path());
    } catch (const BadInput& error) {
      result = std::string(error.what()).find("in use by another process") == std::string::npos ? 2 : 0;
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST(RunFolder, FreesTheFolderAtTheEnd) {
  const TemporaryFolder folder;
  { const RunFolder run = RunFolder::create(folder.path()); }
  fs::remove(folder / "metrics.jsonl");
  EXPECT_NO_THROW(RunFolder::create(folder.path()));
}

TEST(RunFolder, CanBeMoved) {
  const TemporaryFolder folder;
  RunFolder first = RunFolder::create(folder / "a");
  first.append_metrics("1\n");
  RunFolder second = std::move(first);
  second.append_metrics("2\n");
  RunFolder third = RunFolder::create(folder / "b");
  third = std::move(second);
  third.append_metrics("3\n");
  EXPECT_EQ(third.path(), folder / "a");
  EXPECT_EQ(read_text(folder / "a" / "metrics.jsonl"), "1\n2\n3\n");
}

/// A run that ended with these metrics.
void leave_run(const fs::path& folder, const std::string& metrics) {
  RunFolder::create(folder).write_run({{"status", "running"}});
  tests::write_text(folder / "metrics.jsonl", metrics);
}

std::string line(int step, const char* rest = "") {
  return "{\"step\":" + std::to_string(step) + rest + "}\n";
}
constexpr const char* kReset = "{\"step\":0,\"seconds\":0,\"marker\":\"reset\"}\n";

/// What is left of these metrics when the run goes on after `step` of `generation`.
std::string resumed(const std::string& metrics, std::uint64_t step,
                    std::optional<std::uint64_t> generation = {}) {
  const TemporaryFolder folder;
  leave_run(folder.path(), metrics);
  RunFolder run = RunFolder::reopen(folder.path());
  run.resume_at(step, generation);
  return read_text(folder / "metrics.jsonl");
}

TEST(RunFolder, GoesOnAfterAStep) {
  const TemporaryFolder folder;
  leave_run(folder / "a", line(1) + line(2) + line(3));
  const std::string before = read_text(folder / "a" / "run.json");
  RunFolder run = RunFolder::reopen(folder / "a");
  EXPECT_EQ(run.path(), folder / "a");
  run.resume_at(2);
  EXPECT_EQ(read_text(folder / "a" / "run.json"), before);
  run.append_metrics(line(3, ",\"loss\":1"));
  run.append_metrics(line(4));
  EXPECT_EQ(read_text(folder / "a" / "metrics.jsonl"), line(1) + line(2) + line(3, ",\"loss\":1") + line(4));
  run.write_run({{"status", "finished"}});
  EXPECT_EQ(json::parse(read_text(folder / "a" / "run.json"))["status"], "finished");
}

TEST(RunFolder, CutsLinesBeyondTheStepWhereverTheyAre) {
  const std::string test_line = line(2, ",\"test_loss\":0.5");
  const std::string marker = line(2, ",\"marker\":\"learning rate\"");
  // Markers come at once, steps in batches.
  EXPECT_EQ(resumed(line(1) + line(4, ",\"marker\":\"x\"") + line(2) + test_line + line(3) + marker, 2),
            line(1) + line(2) + test_line + marker);
  EXPECT_EQ(resumed(line(1) + line(2), 0), "");
  EXPECT_EQ(resumed(line(1) + line(2), 9), line(1) + line(2));
  EXPECT_EQ(resumed("", 9), "");
}

TEST(RunFolder, DropsWhatIsNoWholeLine) {
  EXPECT_EQ(resumed(line(1) + R"({"step":2,"lo)", 5), line(1));
  EXPECT_EQ(resumed(line(1) + R"({"step":2})", 5), line(1)) << "without its newline it may lack digits";
  EXPECT_EQ(resumed(line(1) + std::string(100, '\0'), 5), line(1));
  EXPECT_EQ(resumed(line(1) + std::string(100, '\0') + "\n{}\n[1]\n7\n\n{\"step\":-1}\n{\"step\":\"1\"}\n" +
                        line(2),
                    5),
            line(1) + line(2));
}

TEST(RunFolder, CutsTheLastGenerationAlone) {
  const std::string first = line(1) + line(2) + line(3);
  EXPECT_EQ(resumed(first + kReset + line(1) + line(2), 1), first + kReset + line(1));
  EXPECT_EQ(resumed(first + kReset + line(1) + kReset + line(1) + line(2), 0),
            first + kReset + line(1) + kReset);
}

TEST(RunFolder, DropsGenerationsAfterTheCheckpoints) {
  // Killed after a reset, before the new training saved anything.
  const std::string first = line(1) + line(2) + line(3);
  const std::string second = kReset + line(1) + line(2);
  EXPECT_EQ(resumed(first + second, 2, 0), line(1) + line(2));
  EXPECT_EQ(resumed(first + second, 1, 1), first + kReset + line(1));
  EXPECT_EQ(resumed(first, 1, 1), first) << "the reset's line was lost";
  // Another marker of that name is no reset.
  EXPECT_EQ(resumed(line(1, ",\"marker\":\"reset\"") + line(2), 1, 0), line(1, ",\"marker\":\"reset\""));
}

TEST(RunFolder, ReopensARunWithoutMetrics) {
  const TemporaryFolder folder;
  leave_run(folder.path(), "");
  fs::remove(folder / "metrics.jsonl");
  RunFolder run = RunFolder::reopen(folder.path());
  run.resume_at(5);
  run.append_metrics(line(6));
  EXPECT_EQ(read_text(folder / "metrics.jsonl"), line(6));
}

TEST(RunFolder, CutsLongMetrics) {
  std::string metrics;
  std::string expected;
  for (int step = 1; step <= 30'000; ++step) {
    metrics += line(step, ",\"epoch\":0.123456789,\"loss\":0.0123456789,\"learning_rate\":0.1");
    if (step == 25'000) expected = metrics;
  }
  EXPECT_TRUE(resumed(metrics, 25'000) == expected);
}

TEST(RunFolder, RemovesWhatKilledWritersLeft) {
  const TemporaryFolder folder;
  leave_run(folder.path(), "");
  tests::write_text(folder / ".run.json.17-3.tmp", "half");
  RunFolder::reopen(folder.path());
  EXPECT_FALSE(fs::exists(folder / ".run.json.17-3.tmp"));
}

TEST(RunFolder, ReopensOnlyARun) {
  const TemporaryFolder folder;
  for (const char* name : {"no", ""}) {
    EXPECT_TRUE(holds(message_of<BadInput>([&] { RunFolder::reopen(folder / name); }),
                      {(folder / name).string(), "holds no run", "run.json"}));
  }
  EXPECT_EQ(tests::count_entries(folder.path()), 0);
}

TEST(RunFolder, DoesNotReopenARunThatAnotherProcessUses) {
  const TemporaryFolder folder;
  RunFolder run = RunFolder::create(folder.path());
  run.write_run({{"status", "running"}});
  run.append_metrics(line(1) + line(2));
  tests::write_text(folder / ".metrics.jsonl.17-3.tmp", "being written");
  const std::string message = message_of<BadInput>([&] { RunFolder::reopen(folder.path()); });
  EXPECT_TRUE(holds(message, {folder.path().string(), "in use by another process"}));
  EXPECT_TRUE(fs::exists(folder / ".metrics.jsonl.17-3.tmp"));
  EXPECT_EQ(read_text(folder / "metrics.jsonl"), line(1) + line(2));
}

TEST(RunFolder, KeepsMetricsThatItCannotRead) {
  const TemporaryFolder folder;
  leave_run(folder.path(), line(1));
  fs::permissions(folder.path(), fs::perms(0777));
  fs::permissions(folder / ".lock", fs::perms(0666));
  fs::permissions(folder / "metrics.jsonl", fs::perms(0000));
  {
    const tests::OrdinaryUser user;
    EXPECT_TRUE(holds(message_of<BadInput>([&] { RunFolder::reopen(folder.path()); }),
                      {"metrics.jsonl", "Permission denied"}));
  }
  fs::permissions(folder / "metrics.jsonl", fs::perms(0644));
  EXPECT_EQ(read_text(folder / "metrics.jsonl"), line(1));
}

TEST(RunFolder, DoesNotReopenARunWhoseMetricsAreNoFile) {
  const auto refusal = [](const std::string& what, const auto& put) {
    const TemporaryFolder folder;
    leave_run(folder.path(), line(1));
    const fs::path metrics = folder / "metrics.jsonl";
    fs::remove(metrics);
    put(metrics);
    const fs::file_type type = fs::symlink_status(metrics).type();
    EXPECT_TRUE(
        holds(message_of<BadInput>([&] { RunFolder::reopen(folder.path()); }), {"metrics.jsonl", what}));
    EXPECT_EQ(fs::symlink_status(metrics).type(), type) << "it is left as it was";
  };
  refusal("is a folder", [](const fs::path& path) { fs::create_directory(path); });
  refusal("is not a file", [](const fs::path& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0); });
  refusal("symbolic links", [](const fs::path& path) { fs::create_symlink(path.filename(), path); });
}

TEST(RunFolder, RefusesAFolderItMayNotWrite) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a");
  fs::permissions(folder.path(), fs::perms(0755));
  fs::permissions(folder / "a", fs::perms(0555));
  const tests::OrdinaryUser user;
  EXPECT_TRUE(holds(message_of<BadInput>([&] { RunFolder::create(folder / "a"); }),
                    {(folder / "a").string(), "Permission denied"}));
  EXPECT_TRUE(holds(message_of<BadInput>([&] { RunFolder::create(folder / "a" / "b"); }),
                    {(folder / "a" / "b").string(), "Permission denied"}));
}

TEST(RunFolder, RefusesAFileInPlaceOfAFolder) {
  const TemporaryFolder folder;
  tests::write_text(folder / "a", "x");
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { RunFolder::create(folder / "a"); }), {(folder / "a").string()}));
}

TEST(RunFolder, KeepsWholeLinesWhenTheDiskIsFull) {
  const tests::SmallDisk disk(64 * 1024);
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a small disk";
  RunFolder run = RunFolder::create(disk / "run");
  run.write_run({{"status", "running"}});
  const std::string before = read_text(disk / "run" / "run.json");
  std::string lines;
  for (int i = 0; i < 10'000; ++i) lines += "{\"step\":" + std::to_string(i) + "}\n";
  const std::string message = message_of<Error>([&] { run.append_metrics(lines); });
  EXPECT_TRUE(holds(message, {"metrics.jsonl", "No space left on device"}));
  const std::string kept = read_text(disk / "run" / "metrics.jsonl");
  EXPECT_GT(kept.size(), 10'000U);
  EXPECT_EQ(kept, lines.substr(0, kept.size()));
  EXPECT_EQ(kept.back(), '\n');
  // run.json cannot be replaced either, and stays whole.
  EXPECT_THROW(run.write_run({{"status", std::string(20'000, 'x')}}), Error);
  EXPECT_EQ(read_text(disk / "run" / "run.json"), before);
  // A line of the right length still fits in the last block.
  run.append_metrics("end\n");
  EXPECT_EQ(read_text(disk / "run" / "metrics.jsonl"), kept + "end\n");
}

TEST(DefaultRunDir, IsNewEveryTime) {
  const TemporaryFolder folder;
  const fs::path first = default_run_dir(folder / "runs");
  const fs::path second = default_run_dir(folder / "runs");
  EXPECT_NE(first, second);
  for (const fs::path& path : {first, second}) {
    EXPECT_TRUE(fs::is_directory(path));
    EXPECT_EQ(path.parent_path(), folder / "runs");
    std::tm time{};
    const std::string name = path.filename().string();
    const char* rest = ::strptime(name.c_str(), "%Y%m%dT%H%M%SZ-", &time);
    ASSERT_NE(rest, nullptr) << name;
    EXPECT_GE(std::stoi(rest), 1) << name;
    EXPECT_NO_THROW(RunFolder::create(path));
  }
}

TEST(DefaultRunDir, SaysWhyItCannotBeMade) {
  const TemporaryFolder folder;
  tests::write_text(folder / "runs", "x");
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { default_run_dir(folder / "runs"); }), {(folder / "runs").string()}));
}

}  // namespace
}  // namespace warpscope::training::run_folder_test
