#include "gpu/runs/user_runs.h"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/runs/run_lock.h"
#include "tests/runs/run_maker.h"

namespace warpscope::runs::user_runs_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using tests::holds;
using tests::message_of;

std::time_t local_time(int hour) {
  std::tm time{};
  time.tm_year = 126, time.tm_mon = 10, time.tm_mday = 28, time.tm_hour = hour, time.tm_min = 42;
  time.tm_sec = 5, time.tm_isdst = -1;
  return std::mktime(&time);
}

TEST(UserRuns, AreNamedByDateNetworkAndData) {
  EXPECT_EQ(name_of_user_run("mlp", "built-in digits", local_time(14)), "2026-11-28_14-42-05_mlp_digits");
  EXPECT_EQ(name_of_user_run("../my net", "/a/b\x1b[31m", local_time(4)),
            "2026-11-28_04-42-05_my-net_a-b-x1b-31m");
  EXPECT_EQ(name_of_user_run("..", "", local_time(4)), "2026-11-28_04-42-05_network_data");
  const std::string umlauts = name_of_user_run(std::string(39, 'a') + "\u00fc", "\u00fc", local_time(4));
  EXPECT_EQ(umlauts, "2026-11-28_04-42-05_" + std::string(39, 'a') + "_\u00fc") << "no half character";
}

TEST(UserRuns, OfOneNameAreFoldersOfTheirOwn) {
  const tests::TemporaryFolder folder;
  const fs::path parent = folder / "data" / "runs";
  EXPECT_EQ(make_user_run(parent, "a"), parent / "a");
  EXPECT_EQ(make_user_run(parent, "a"), parent / "a-2");
  EXPECT_EQ(make_user_run(parent, "a"), parent / "a-3");
  tests::write_text(folder / "file", "");
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { make_user_run(folder / "file", "a"); }), {"cannot make", "file"}));
}

TEST(UserRuns, ADeletedOneComesBackWithAllThatItHolds) {
  const tests::TemporaryFolder folder;
  tests::make_run(folder / "a", tests::run_head("finished"), tests::step_line(1, 0.5));
  const DeletedRun first = delete_run(folder / "a/");
  EXPECT_FALSE(fs::exists(folder / "a"));
  tests::make_run(folder / "a", tests::run_head("finished"), "");
  const DeletedRun second = delete_run(folder / "a");
  EXPECT_NE(first.to, second.to);
  restore_run(first);
  EXPECT_GT(fs::file_size(folder / "a" / "metrics.jsonl"), 0u);
  EXPECT_TRUE(holds(message_of<BadInput>([&] { restore_run(second); }), {"its name is taken"}));
  EXPECT_TRUE(holds(message_of<BadInput>([&] { restore_run(first); }), {"deleted for good"}));
}

TEST(UserRuns, OneInUseOrWhatIsNoneIsNotDeleted) {
  const tests::TemporaryFolder folder;
  tests::make_run(folder / "a", tests::run_head("running"), "");
  const tests::Lock lock(folder / "a");
  EXPECT_TRUE(holds(message_of<BadInput>([&] { delete_run(folder / "a"); }), {"a process writes to it"}));
  fs::create_directory(folder / "b");
  EXPECT_TRUE(holds(message_of<BadInput>([&] { delete_run(folder / "b"); }), {"there is no run"}));
  EXPECT_FALSE(fs::exists(folder / ".deleted"));
}

TEST(UserRuns, WhatWasDeletedLongAgoGoesForGood) {
  const tests::TemporaryFolder folder;
  for (const char* name : {"old", "new"}) tests::make_run(folder / name, tests::run_head("finished"), "");
  const DeletedRun old = delete_run(folder / "old"), fresh = delete_run(folder / "new");
  fs::last_write_time(old.to, fs::file_time_type::clock::now() - kKeptDeleted - std::chrono::minutes(1));
  empty_deleted(folder.path());
  EXPECT_FALSE(fs::exists(old.to));
  restore_run(fresh);
  EXPECT_FALSE(fs::exists(folder / ".deleted")) << "nothing is left in it";
  empty_deleted(folder / "nowhere");
}

}  // namespace
}  // namespace warpscope::runs::user_runs_test
