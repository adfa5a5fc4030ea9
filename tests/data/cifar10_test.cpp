#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/data/set_kinds.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::data::cifar10_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using tests::holds;
using tests::message_of;
using tests::OrdinaryUser;
using tests::TemporaryFolder;

const SetRow& row() {
  return *find_set("cifar10");
}

constexpr std::int64_t kRecordBytes = 3073;
constexpr std::int64_t kFileBytes = 10'000 * kRecordBytes;
constexpr std::array kNames{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                            "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};

void make_sparse_file(const fs::path& path, std::int64_t bytes) {
  std::ofstream(path, std::ios::binary).close();
  fs::resize_file(path, static_cast<std::uintmax_t>(bytes));
}

/// Six files of the right size, all zeros: black airplanes. They take no disk.
void make_files(const fs::path& folder) {
  fs::create_directories(folder);
  for (const char* name : kNames) make_sparse_file(folder / name, kFileBytes);
}

void poke(const fs::path& path, std::int64_t at, const std::vector<std::uint8_t>& bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(at);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::uint8_t> counting_record(std::uint8_t label) {
  std::vector<std::uint8_t> record{label};
  for (int i = 0; i < 3072; ++i) record.push_back(static_cast<std::uint8_t>(i * 7 % 251));
  return record;
}

TEST(Cifar10, ReadsAllRecordsInOrder) {
  const TemporaryFolder folder;
  make_files(folder.path());
  poke(folder / "data_batch_1.bin", 0, {1});
  poke(folder / "data_batch_3.bin", 9'999 * kRecordBytes, {7});
  poke(folder / "data_batch_5.bin", 251 * kRecordBytes, {9});
  poke(folder / "test_batch.bin", 42 * kRecordBytes, {3});
  const DataSet set = load_cifar10(row(), folder.path());
  ASSERT_EQ(set.classes.size(), 10U);
  EXPECT_EQ(set.classes[0], "airplane");
  EXPECT_EQ(set.classes[9], "truck");
  ASSERT_EQ(set.train.count, 50'000);
  ASSERT_EQ(set.test.count, 10'000);
  ASSERT_EQ(set.train.pixels.size(), 50'000U * 3072);
  ASSERT_EQ(set.test.pixels.size(), 10'000U * 3072);
  ASSERT_EQ(set.train.labels.size(), 50'000U);
  for (std::size_t i = 0; i < 50'000; ++i) {
    ASSERT_EQ(set.train.labels[i], i == 0 ? 1 : i == 29'999 ? 7 : i == 40'251 ? 9 : 0) << i;
  }
  for (std::size_t i = 0; i < 10'000; ++i) ASSERT_EQ(set.test.labels[i], i == 42 ? 3 : 0) << i;
}

TEST(Cifar10, TurnsPlanesIntoNhwc) {
  const TemporaryFolder folder;
  make_files(folder.path());
  const std::vector<std::uint8_t> record = counting_record(5);
  poke(folder / "data_batch_2.bin", 17 * kRecordBytes, record);
  const DataSet set = load_cifar10(row(), folder.path());
  EXPECT_EQ(set.train.height, 32);
  EXPECT_EQ(set.train.width, 32);
  EXPECT_EQ(set.train.channels, 3);
  const std::uint8_t* image = set.train.pixels.data() + 10'017 * set.train.image_bytes();
  for (std::size_t y = 0; y < 32; ++y) {
    for (std::size_t x = 0; x < 32; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        ASSERT_EQ(image[(y * 32 + x) * 3 + c], record[1 + c * 1024 + y * 32 + x])
            << y << "," << x << "," << c;
      }
    }
  }
  EXPECT_EQ(set.train.pixels[10'018 * 3072], 0);
}

TEST(Cifar10, IsRecognisedByAnyOfItsFiles) {
  const TemporaryFolder folder;
  EXPECT_FALSE(holds_cifar10(folder.path()));
  EXPECT_FALSE(holds_cifar10(folder / "no"));
  tests::write_text(folder / "test_batch.bin", "");
  EXPECT_TRUE(holds_cifar10(folder.path()));
}

TEST(Cifar10, IsWholeWithFilesOfTheRightSizes) {
  const TemporaryFolder folder;
  EXPECT_FALSE(cifar10_is_complete(folder.path()));
  make_files(folder.path());
  EXPECT_TRUE(cifar10_is_complete(folder.path()));
}

TEST(Cifar10, RefusesATruncatedFile) {
  const TemporaryFolder folder;
  make_files(folder.path());
  fs::resize_file(folder / "data_batch_4.bin", kFileBytes - 1);
  const std::string message = message_of<BadInput>([&] { load_cifar10(row(), folder.path()); });
  EXPECT_TRUE(
      holds(message, {(folder / "data_batch_4.bin").string(), "truncated", "30,729,999", "30,730,000"}));
  EXPECT_FALSE(cifar10_is_complete(folder.path()));
}

TEST(Cifar10, NamesWhatCameInPlaceOfAFile) {
  const TemporaryFolder folder;
  make_files(folder.path());
  tests::write_text(folder / "test_batch.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  EXPECT_EQ(message_of<BadInput>([&] { load_cifar10(row(), folder.path()); }),
            (folder / "test_batch.bin").string() +
                " is a Git LFS pointer in place of the file, not a file of CIFAR-10; bring the file itself "
                "by git lfs "
                "pull");
}

TEST(Cifar10, RefusesAnEmptyFile) {
  const TemporaryFolder folder;
  make_files(folder.path());
  fs::resize_file(folder / "test_batch.bin", 0);
  EXPECT_TRUE(holds(message_of<BadInput>([&] { load_cifar10(row(), folder.path()); }),
                    {"test_batch.bin", "has 0 bytes"}));
}

TEST(Cifar10, RefusesAnOversizedFile) {
  const TemporaryFolder folder;
  make_files(folder.path());
  fs::resize_file(folder / "data_batch_1.bin", kFileBytes + kRecordBytes);
  EXPECT_TRUE(holds(message_of<BadInput>([&] { load_cifar10(row(), folder.path()); }),
                    {"data_batch_1.bin", "too long", "30,733,073", "30,730,000"}));
}

TEST(Cifar10, NamesTheFirstRecordWithAWrongLabel) {
  const TemporaryFolder folder;
  make_files(folder.path());
  poke(folder / "data_batch_2.bin", 1'234 * kRecordBytes, {10});
  poke(folder / "data_batch_2.bin", 1'235 * kRecordBytes, {255});
  poke(folder / "test_batch.bin", 0, {11});
  EXPECT_TRUE(holds(message_of<BadInput>([&] { load_cifar10(row(), folder.path()); }),
                    {"data_batch_2.bin", "label 10", "record 1234"}));
}

TEST(Cifar10, ListsMissingFiles) {
  const TemporaryFolder folder;
  make_files(folder.path());
  fs::remove(folder / "data_batch_2.bin");
  fs::remove(folder / "test_batch.bin");
  const std::string message = message_of<BadInput>([&] { load_cifar10(row(), folder.path()); });
  EXPECT_TRUE(holds(message, {folder.path().string(), "data_batch_2.bin, test_batch.bin"}));
}

TEST(Cifar10, RefusesAFolderItMayNotRead) {
  const TemporaryFolder folder;
  make_files(folder / "locked");
  fs::permissions(folder / "locked", fs::perms::none);
  {
    const OrdinaryUser user;
    const std::string message = message_of<BadInput>([&] { load_cifar10(row(), folder / "locked"); });
    EXPECT_TRUE(holds(message, {(folder / "locked").string(), "ermission"}));
  }
  fs::permissions(folder / "locked", fs::perms::owner_all);
}

TEST(Cifar10, RefusesAFileItMayNotRead) {
  const TemporaryFolder folder;
  make_files(folder.path());
  fs::permissions(folder.path(), fs::perms(0755));
  fs::permissions(folder / "data_batch_3.bin", fs::perms::none);
  const OrdinaryUser user;
  const std::string message = message_of<BadInput>([&] { load_cifar10(row(), folder.path()); });
  EXPECT_TRUE(holds(message, {"data_batch_3.bin", "ermission denied"}));
}

TEST(Cifar10, RefusesAFolderInPlaceOfAFile) {
  const TemporaryFolder folder;
  make_files(folder.path());
  fs::remove(folder / "data_batch_3.bin");
  fs::create_directory(folder / "data_batch_3.bin");
  EXPECT_TRUE(holds(message_of<BadInput>([&] { load_cifar10(row(), folder.path()); }),
                    {"data_batch_3.bin", "not a file"}));
}

TEST(Cifar10, TakesClassNamesFromTheMetaFile) {
  const TemporaryFolder folder;
  make_files(folder.path());
  tests::write_text(folder / "batches.meta.txt", "a\nb\r\nc\nd\ne\nf\ng\nh\ni\nj\n\n");
  const std::vector<std::string> expected{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  EXPECT_EQ(load_cifar10(row(), folder.path()).classes, expected);
}

TEST(Cifar10, RefusesAMetaFileWithoutTenNames) {
  const TemporaryFolder folder;
  make_files(folder.path());
  tests::write_text(folder / "batches.meta.txt", "a\nb\n");
  EXPECT_TRUE(holds(message_of<BadInput>([&] { load_cifar10(row(), folder.path()); }),
                    {"batches.meta.txt", "10 class names"}));
  tests::write_text(folder / "batches.meta.txt", std::string(100'000, 'x'));
  EXPECT_TRUE(holds(message_of<BadInput>([&] { load_cifar10(row(), folder.path()); }), {"batches.meta.txt"}));
}

}  // namespace
}  // namespace warpscope::data::cifar10_test
