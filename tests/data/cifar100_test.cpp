#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/data/set_kinds.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::data::cifar100_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using tests::holds;
using tests::message_of;
using tests::TemporaryFolder;

constexpr std::int64_t kRecordBytes = 3074;

class Cifar100 : public testing::Test {
 protected:
  /// All zeros: black apples. They take no disk.
  void SetUp() override {
    make_file("train.bin", 50'000 * kRecordBytes);
    make_file("test.bin", 10'000 * kRecordBytes);
  }
  void make_file(const char* name, std::int64_t bytes) const {
    std::ofstream(folder_ / name, std::ios::binary).close();
    fs::resize_file(folder_ / name, static_cast<std::uintmax_t>(bytes));
  }
  void poke(const char* name, std::int64_t at, const std::vector<std::uint8_t>& bytes) const {
    std::fstream file(folder_ / name, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  DataSet load() const { return load_cifar100(*find_set("cifar100"), folder_.path()); }
  std::string refusal() const {
    return message_of<BadInput>([&] { load(); });
  }

  TemporaryFolder folder_;
};

TEST_F(Cifar100, TakesTheFineLabelAndTurnsPlanesIntoNhwc) {
  std::vector<std::uint8_t> record{19, 99};
  for (int i = 0; i < 3072; ++i) record.push_back(static_cast<std::uint8_t>(i * 7 % 251));
  poke("train.bin", 49'999 * kRecordBytes, record);
  poke("test.bin", 4'242 * kRecordBytes, {255, 58});  // coarse labels mean nothing
  const DataSet set = load();
  EXPECT_EQ(set.classes, cifar100_classes());
  ASSERT_EQ(set.train.count, 50'000);
  ASSERT_EQ(set.test.count, 10'000);
  EXPECT_EQ(set.train.shape(), (ImageShape{32, 32, 3}));
  EXPECT_EQ(set.train.labels[49'998], 0);
  EXPECT_EQ(set.train.labels[49'999], 99);
  EXPECT_EQ(set.test.labels[4'242], 58);
  const std::uint8_t* image = set.train.pixels.data() + 49'999 * set.train.image_bytes();
  for (std::size_t i = 0; i < 1024; ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      ASSERT_EQ(image[3 * i + c], record[2 + c * 1024 + i]) << i << ", " << c;
  }
}

TEST_F(Cifar100, RefusesTruncatedFilesAndMissingOnes) {
  EXPECT_TRUE(cifar100_is_complete(folder_.path()));
  fs::resize_file(folder_ / "train.bin", 50'000 * kRecordBytes - 1);
  EXPECT_FALSE(cifar100_is_complete(folder_.path()));
  EXPECT_TRUE(holds(refusal(), {(folder_ / "train.bin").string(), "truncated", "153,699,999", "153,700,000",
                                "fetch CIFAR-100 again"}));
  fs::remove(folder_ / "train.bin");
  EXPECT_TRUE(holds_cifar100(folder_.path()));
  EXPECT_TRUE(holds(refusal(), {"CIFAR-100 in " + folder_.path().string(), "train.bin missing"}));
  fs::remove(folder_ / "test.bin");
  EXPECT_FALSE(holds_cifar100(folder_.path()));
}

TEST_F(Cifar100, NamesTheFirstRecordWithAWrongLabel) {
  poke("test.bin", 77 * kRecordBytes, {0, 100});
  EXPECT_TRUE(holds(refusal(), {"test.bin", "label 100 in record 77", "CIFAR-100 has 0 to 99"}));
}

TEST_F(Cifar100, TakesClassNamesFromTheirFile) {
  std::string names;
  for (int i = 0; i < 100; ++i) names += "class " + std::to_string(i) + "\n";
  tests::write_text(folder_ / "fine_label_names.txt", names);
  EXPECT_EQ(load().classes.at(42), "class 42");
  tests::write_text(folder_ / "fine_label_names.txt", "apple\n");
  EXPECT_TRUE(holds(refusal(), {"fine_label_names.txt", "100 class names"}));
}

}  // namespace
}  // namespace warpscope::data::cifar100_test
