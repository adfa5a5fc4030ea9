#include "gpu/runs/unsaved.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/runs/run_folder.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::runs::unsaved_test {
namespace {

namespace fs = std::filesystem;

/// A folder as a closed window leaves it; `minute` says when.
fs::path make(const fs::path& parent, const std::string& name, int minute, std::uint64_t step = 12) {
  const fs::path folder = parent / name;
  fs::create_directories(folder / "checkpoints");
  std::ofstream(folder / "checkpoints" / ("step-00000" + std::to_string(1000 + step) + ".safetensors")) << "";
  std::ofstream(folder / "run.json") << R"({"format": 1, "configuration": {"model": "mlp\u0007"}})";
  fs::last_write_time(folder / "run.json", fs::file_time_type::clock::now() + std::chrono::minutes(minute));
  return folder;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const UnsavedTraining& each : unsaved_trainings(folder))
    names.push_back(each.folder.filename().string());
  return names;
}

TEST(Unsaved, AreListedNewestFirst) {
  const tests::TemporaryFolder folder;
  make(folder.path(), "a", 3);
  make(folder.path(), "b", 1);
  make(folder.path(), "c", 2);
  fs::create_directory(folder / "no run");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"a", "c", "b"}));
  const auto first = unsaved_trainings(folder.path()).front();
  EXPECT_EQ(first.step, 1012u);
  EXPECT_EQ(first.model.find('\a'), std::string::npos) << "escaped: it is shown";
  EXPECT_TRUE(unsaved_trainings(folder / "nowhere").empty());
}

TEST(Unsaved, IsNamedByTheNetworkThatItHadLast) {
  const tests::TemporaryFolder folder;
  std::ofstream(make(folder.path(), "a", 3) / "run.json")
      << R"({"format": 1, "configuration": {"model": "mlp"}, "current": {"model": "lenet"}})";
  EXPECT_EQ(unsaved_trainings(folder.path()).at(0).model, "lenet");
}

TEST(Unsaved, OneOfAnotherFormatSaysSoAndStays) {
  const tests::TemporaryFolder folder;
  make(folder.path(), "a", 3);
  std::ofstream(make(folder.path(), "b", 1) / "run.json")
      << R"({"format": 7, "configuration": {"model": "mlp"}})";
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(unsaved_trainings(folder.path())[0].other_format);
  EXPECT_TRUE(unsaved_trainings(folder.path())[1].other_format);
  keep_newest_unsaved(folder.path(), 0);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"b"}));
}

TEST(Unsaved, ThoseOfOneMomentAreInTheOrderOfTheirNumbers) {
  const tests::TemporaryFolder folder;
  const fs::path tenth = make(folder.path(), "20261128-150000-10", 0);
  for (const char* const name : {"20261128-150000-9", "20261128-150000-2", "20261128-145959-11"})
    fs::last_write_time(make(folder.path(), name, 0) / "run.json", fs::last_write_time(tenth / "run.json"));
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"20261128-150000-10", "20261128-150000-9",
                                                               "20261128-150000-2", "20261128-145959-11"}));
}

TEST(Unsaved, TheOneJustKeptStaysThoughTheClockSaysThatAllOthersAreNewer) {
  const tests::TemporaryFolder folder;
  const fs::path kept = make(folder.path(), "kept", -60);
  for (int i = 0; i < 5; ++i) make(folder.path(), std::to_string(i), i);
  for (int i = 0; i < 5; ++i)
    std::ofstream(make(folder.path(), "other" + std::to_string(i), 9) / "run.json") << R"({"format": 7})";
  keep_newest_unsaved(folder.path(), kMostUnsaved, kept);
  std::vector<std::string> names = names_in(folder.path());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"1", "2", "3", "4", "kept", "other0", "other1", "other2",
                                             "other3", "other4"}))
      << "those of another format do not count";
}

TEST(Unsaved, TheOldestGoButForThoseInUse) {
  const tests::TemporaryFolder folder;
  for (int i = 0; i < 8; ++i) make(folder.path(), std::to_string(i), i);
  const auto used = training::RunFolder::reopen(folder / "0");
  keep_newest_unsaved(folder.path(), kMostUnsaved);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"7", "6", "5", "4", "3", "0"}));
}

TEST(Unsaved, OneInUseTakesNoOtherOnesPlace) {
  const tests::TemporaryFolder folder;
  for (int i = 0; i < 8; ++i) make(folder.path(), std::to_string(i), i);
  const auto used = training::RunFolder::reopen(folder / "7");
  keep_newest_unsaved(folder.path(), kMostUnsaved);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"7", "6", "5", "4", "3", "2"}));
}

TEST(Unsaved, OneThatWasGoneOnWithStays) {
  const tests::TemporaryFolder folder;
  std::ofstream(make(folder.path(), "gone on", -60) / "run.json")
      << R"({"format": 1, "configuration": {"model": "mlp"}, "resumed": [{"step": 7}]})";
  fs::last_write_time(folder / "gone on" / "run.json",
                      fs::file_time_type::clock::now() - std::chrono::hours(9));
  for (int i = 0; i < 6; ++i) make(folder.path(), std::to_string(i), i);
  keep_newest_unsaved(folder.path(), kMostUnsaved);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"5", "4", "3", "2", "1", "gone on"}));
}

}  // namespace
}  // namespace warpscope::runs::unsaved_test
