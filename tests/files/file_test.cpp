#include "gpu/files/file.h"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::files::file_test {
namespace {

using tests::holds;
using tests::message_of;
using tests::TemporaryFolder;
using tests::write_text;

TEST(Counted, HasOneThingInTheSingularAndAllElseInThePlural) {
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(30730000, "training image"), "30,730,000 training images");
  EXPECT_EQ(counted(1, "class", "classes"), "1 class");
  EXPECT_EQ(counted(2, "class", "classes"), "2 classes");
}

TEST(InputFile, ReadsFromAnyPlace) {
  const TemporaryFolder folder;
  write_text(folder / "a", "0123456789");
  const InputFile file(folder / "a");
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(file.path(), folder / "a");
  std::array<std::uint8_t, 3> bytes{};
  file.read(7, bytes);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 3>{'7', '8', '9'}));
  EXPECT_EQ(file.read_up_to(8, 100), "89");
  EXPECT_EQ(file.read_up_to(2, 3), "234");
  EXPECT_EQ(file.read_up_to(10, 5), "");
}

TEST(InputFile, SaysWhereAFileBecameShorter) {
  const TemporaryFolder folder;
  write_text(folder / "a", "0123456789");
  const InputFile file(folder / "a");
  std::filesystem::resize_file(folder / "a", 4);
  std::array<std::uint8_t, 8> bytes{};
  EXPECT_TRUE(holds(message_of<core::Error>([&] { file.read(0, bytes); }),
                    {(folder / "a").string(), "became shorter", "byte 4"}));
}

TEST(InputFile, RefusesWhatIsNoFileWithoutWaitingForIt) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::filesystem::path& path : {folder / "pipe", folder.path(), folder / "absent"}) {
    EXPECT_TRUE(holds(message_of<core::BadInput>([&] { const InputFile file(path); }), {path.string()}));
    EXPECT_FALSE(InputFile::open(path)) << path;
    EXPECT_FALSE(read_small_file(path, 100)) << path;
  }
}

TEST(ReadSmallFile, ReadsNoMoreThanAsked) {
  const TemporaryFolder folder;
  write_text(folder / "a", "0123456789");
  EXPECT_EQ(read_small_file(folder / "a", 10), "0123456789");
  EXPECT_FALSE(read_small_file(folder / "a", 9));
}

}  // namespace
}  // namespace warpscope::files::file_test
