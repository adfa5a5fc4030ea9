#include "gpu/files/atomic_file.h"

#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::files::atomic_file_test {
namespace {

namespace fs = std::filesystem;
using tests::count_entries;
using tests::FileSizeLimit;
using tests::holds;
using tests::message_of;
using tests::read_text;
using tests::TemporaryFolder;

TEST(AtomicFile, ReplacesTheFileOnCommit) {
  const TemporaryFolder folder;
  tests::write_text(folder / "a.txt", "old");
  AtomicFile file(folder / "a.txt");
  file.write("new ");
  file.write("text");
  EXPECT_EQ(read_text(folder / "a.txt"), "old");
  file.commit();
  EXPECT_EQ(read_text(folder / "a.txt"), "new text");
  EXPECT_EQ(count_entries(folder.path()), 1);
}

TEST(AtomicFile, LeavesWhatHasTheNameAlreadyWhereItIsToBeNew) {
  const TemporaryFolder folder;
  for (const std::string text : {"first", "second"}) {
    AtomicFile file(folder / "a.txt");
    file.write(text);
    EXPECT_EQ(file.commit_if_new(), text == "first");
  }
  EXPECT_EQ(read_text(folder / "a.txt"), "first");
  EXPECT_EQ(count_entries(folder.path()), 1);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  tests::write_text(folder / "a.txt", "old");
  { AtomicFile(folder / "a.txt").write("new"); }
  { AtomicFile(folder / "b.txt").write("new"); }
  EXPECT_EQ(read_text(folder / "a.txt"), "old");
  EXPECT_EQ(count_entries(folder.path()), 1);
}

TEST(AtomicFile, ANameMayBeAsLongAsTheFileSystemTakesIt) {
  const TemporaryFolder folder;
  const fs::path longest = folder / std::string(255, 'y'), beyond = folder / std::string(256, 'y');
  write_file_atomically(longest, "text");
  EXPECT_EQ(read_text(longest), "text");
  EXPECT_TRUE(holds(message_of<core::Error>([&] { const AtomicFile file(beyond); }), {"name too long"}))
      << "before anything is written";
  EXPECT_EQ(count_entries(folder.path()), 1);
}

TEST(AtomicFile, WritesEmptyAndLargeFiles) {
  const TemporaryFolder folder;
  const std::string large(5'000'000, 'x');
  write_file_atomically(folder / "empty", "");
  write_file_atomically(folder / "large", large);
  EXPECT_EQ(read_text(folder / "empty"), "");
  EXPECT_EQ(read_text(folder / "large"), large);
}

TEST(AtomicFile, TwoWritersDoNotDisturbEachOther) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "a.txt");
  AtomicFile second(folder / "a.txt");
  first.write("first");
  second.write("second");
  second.commit();
  EXPECT_EQ(read_text(folder / "a.txt"), "second");
  first.commit();
  EXPECT_EQ(read_text(folder / "a.txt"), "first");
  EXPECT_EQ(count_entries(folder.path()), 1);
}

TEST(AtomicFile, WorksWithARelativePath) {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  write_file_atomically("a.txt", "text");
  fs::current_path(before);
  EXPECT_EQ(read_text(folder / "a.txt"), "text");
}

TEST(AtomicFile, NamesTheMissingFolder) {
  const TemporaryFolder folder;
  const fs::path path = folder / "no" / "a.txt";
  EXPECT_TRUE(holds(message_of<core::Error>([&] { write_file_atomically(path, "x"); }),
                    {path.string(), "No such file or directory"}));
}

TEST(AtomicFile, NamesTheMissingPermission) {
  const TemporaryFolder folder;
  tests::write_text(folder / "a.txt", "old");
  fs::permissions(folder.path(), fs::perms(0555));
  {
    const tests::OrdinaryUser user;
    EXPECT_TRUE(holds(message_of<core::Error>([&] { write_file_atomically(folder / "a.txt", "x"); }),
                      {(folder / "a.txt").string(), "Permission denied"}));
  }
  EXPECT_EQ(read_text(folder / "a.txt"), "old");
  fs::permissions(folder.path(), fs::perms(0755));
}

TEST(AtomicFile, CannotReplaceAFolder) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a");
  EXPECT_TRUE(holds(message_of<core::Error>([&] { write_file_atomically(folder / "a", "x"); }),
                    {(folder / "a").string()}));
  EXPECT_EQ(count_entries(folder.path()), 1);
}

TEST(AtomicFile, KeepsTheOldFileWhenNoMoreCanBeWritten) {
  const TemporaryFolder folder;
  tests::write_text(folder / "a.txt", "old");
  std::string message;
  {
    const FileSizeLimit limit(100'000);
    message =
        message_of<core::Error>([&] { write_file_atomically(folder / "a.txt", std::string(300'000, 'x')); });
  }
  EXPECT_TRUE(holds(message, {(folder / "a.txt").string(), "File too large"}));
  EXPECT_EQ(read_text(folder / "a.txt"), "old");
  EXPECT_EQ(count_entries(folder.path()), 1);
}

TEST(AtomicFile, KeepsTheOldFileWhenTheDiskIsFull) {
  const tests::SmallDisk disk(64 * 1024);
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a small disk";
  write_file_atomically(disk / "a.txt", "old");
  EXPECT_TRUE(holds(
      message_of<core::Error>([&] { write_file_atomically(disk / "a.txt", std::string(300'000, 'x')); }),
      {(disk / "a.txt").string(), "No space left on device"}));
  EXPECT_EQ(read_text(disk / "a.txt"), "old");
  EXPECT_EQ(count_entries(disk.path()), 1);
  write_file_atomically(disk / "a.txt", "new");
  EXPECT_EQ(read_text(disk / "a.txt"), "new");
}

TEST(AtomicFile, WritesNothingAfterAFailure) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a.txt");
  {
    const FileSizeLimit limit(10);
    EXPECT_THROW(file.write(std::string(100, 'x')), core::Error);
  }
  EXPECT_THROW(file.write("more"), core::Error);
  EXPECT_THROW(file.commit(), core::Error);
  EXPECT_EQ(count_entries(folder.path()), 0);
}

TEST(AtomicFile, DoesNotStumbleOverALeftoverOfItsOwnName) {
  const TemporaryFolder folder;
  // Whatever number comes next: a killed process that had this process's id left it.
  const std::string name = ".a.txt." + std::to_string(::getpid()) + "-";
  for (int n = 0; n < 200; ++n) tests::write_text(folder / (name + std::to_string(n) + ".tmp"), "left");
  write_file_atomically(folder / "a.txt", "new");
  EXPECT_EQ(read_text(folder / "a.txt"), "new");
  EXPECT_EQ(count_entries(folder.path()), 201);
}

TEST(AtomicFile, WritesIntoAPipeAndLeavesItThere) {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(pipe, folder / "link");
  const int reader = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  write_file_atomically(folder / "link", "text");
  char found[8] = {};
  EXPECT_EQ(::read(reader, found, sizeof found), 4);
  ::close(reader);
  EXPECT_STREQ(found, "text");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(count_entries(folder.path()), 2);
}

TEST(AtomicFile, SaysThatADeviceTakesNoMore) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "this system has no full device";
  const TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder / "link");
  const std::string message =
      message_of<core::Error>([&] { write_file_atomically(folder / "link", "text"); });
  EXPECT_EQ(message, "cannot write " + (folder / "link").string() + ": No space left on device");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
}

TEST(LinkFileAtomically, ReplacesAFileByASecondName) {
  const TemporaryFolder folder;
  tests::write_text(folder / "a", "new");
  tests::write_text(folder / "best", "old");
  for (int times = 0; times < 2; ++times) {
    link_file_atomically(folder / "a", folder / "best");
    EXPECT_EQ(read_text(folder / "best"), "new");
    EXPECT_EQ(fs::hard_link_count(folder / "a"), 2U);
    EXPECT_EQ(count_entries(folder.path()), 2);
  }
  fs::remove(folder / "a");
  EXPECT_EQ(read_text(folder / "best"), "new");
}

TEST(LinkFileAtomically, LeavesTheOldFileIfItCannot) {
  const TemporaryFolder folder;
  tests::write_text(folder / "best", "old");
  EXPECT_TRUE(holds(message_of<core::Error>([&] { link_file_atomically(folder / "no", folder / "best"); }),
                    {(folder / "best").string(), (folder / "no").string(), "No such file"}));
  tests::write_text(folder / "a", "new");
  fs::create_directory(folder / "b");
  EXPECT_THROW(link_file_atomically(folder / "a", folder / "b"), core::Error);
  EXPECT_EQ(read_text(folder / "best"), "old");
  EXPECT_EQ(count_entries(folder.path()), 3);
}

TEST(RemoveLeftovers, TakesTemporaryFilesAlone) {
  const TemporaryFolder folder;
  const std::vector<std::string> others{"a.txt",          ".lock",     ".a.txt.tmp",  ".a.txt.12-.tmp",
                                        "a.txt.12-3.tmp", ".12-3.tmp", ".a.12-3.tmp2"};
  for (const std::string& name : others) tests::write_text(folder / name, "x");
  for (const char* name : {".a.txt.12-3.tmp", ".run.json.1-0.tmp"}) tests::write_text(folder / name, "x");
  EXPECT_EQ(remove_leftovers(folder.path()), 2);
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(folder / name)) << name;
  EXPECT_EQ(remove_leftovers(folder.path()), 0);
  EXPECT_EQ(remove_leftovers(folder / "no"), 0);
}

}  // namespace
}  // namespace warpscope::files::atomic_file_test
