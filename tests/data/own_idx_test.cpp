#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/data/idx.h"
#include "gpu/data/set_kinds.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/idx_files.h"

namespace warpscope::data::own_idx_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using tests::big_endian;
using tests::gzip;
using tests::holds;
using tests::idx_images;
using tests::message_of;
using tests::TemporaryFolder;
using tests::write_text;

const Requirements kSmall{{5, 4, 1}, 0, "mine"};

std::string labels(const std::string& values) {
  return big_endian(2049) + big_endian(static_cast<std::uint32_t>(values.size())) + values;
}

/// `count` images of 2 x 3 x 2.
std::string two_channels(std::uint32_t count) {
  std::string text = big_endian(2052) + big_endian(count) + big_endian(2) + big_endian(3) + big_endian(2);
  for (std::uint32_t i = 0; i < count * 12; ++i) text += static_cast<char>(i);
  return text;
}

class OwnIdx : public testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_ / "emnist-train-images-idx3-ubyte", idx_images(4, 0, 5, 4));
    write_text(folder_ / "emnist-train-labels-idx1-ubyte", labels({0, 2, 1, 2}));
    write_text(folder_ / "emnist-test-images-idx3-ubyte", idx_images(2, 9, 5, 4));
    write_text(folder_ / "emnist-test-labels-idx1-ubyte", labels({3, 0}));
  }
  DataSet load(const Requirements& model = kSmall) const {
    return load_own_idx(*find_set("idx"), folder_.path(), model);
  }
  std::string refusal(const Requirements& model = kSmall) const {
    return message_of<BadInput>([&] { load(model); });
  }
  void rename(const char* from, const char* to) const { fs::rename(folder_ / from, folder_ / to); }

  TemporaryFolder folder_;
};

void expect_all(const DataSet& set) {
  EXPECT_EQ(set.classes, (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_EQ(set.train.shape(), (ImageShape{5, 4, 1}));
  EXPECT_EQ(set.test.shape(), (ImageShape{5, 4, 1}));
  EXPECT_EQ(set.train.count, 4);
  EXPECT_EQ(set.train.labels, (std::vector<std::uint8_t>{0, 2, 1, 2}));
  EXPECT_EQ(set.test.labels, (std::vector<std::uint8_t>{3, 0}));
  ASSERT_EQ(set.train.pixels.size(), 80U);
  EXPECT_EQ(set.train.pixels[79], 79 * 7 % 251);
  ASSERT_EQ(set.test.pixels.size(), 40U);
  EXPECT_EQ(set.test.pixels[0], 9);
}

TEST_F(OwnIdx, TakesAnySizeAndAsManyClassesAsTheLargestLabelSays) {
  EXPECT_TRUE(holds_own_idx(folder_.path()));
  EXPECT_EQ(own_idx_shape(folder_.path()), (ImageShape{5, 4, 1}));
  expect_all(load());
}

TEST_F(OwnIdx, OfSizesThatCannotBeIsRefusedByThese) {
  const auto write = [&](std::uint32_t count, std::uint32_t height) {
    write_text(folder_ / "emnist-train-images-idx3-ubyte",
               big_endian(2052) + big_endian(count) + big_endian(height) + big_endian(4) + big_endian(3));
  };
  write(0, 5);
  EXPECT_TRUE(holds(refusal(), {"says in its header that it is 0 x 5 x 4 x 3 values large, which is empty"}));
  write(0xffffffff, 0xffffffff);
  EXPECT_TRUE(
      holds(refusal(), {"4294967295 x 4294967295 x 4 x 3 values large, which is more than 10,000,000,000"}));
}

TEST_F(OwnIdx, GoesByWordsInNamesOrByTheirEndings) {
  rename("emnist-train-images-idx3-ubyte", "TRAIN.IDX3-UBYTE");
  rename("emnist-train-labels-idx1-ubyte", "train_labels.bin");
  rename("emnist-test-images-idx3-ubyte", "t10k_images");
  rename("emnist-test-labels-idx1-ubyte", "t10k.idx1-ubyte");
  write_text(folder_ / "readme.txt", "about train images");
  expect_all(load());
}

TEST_F(OwnIdx, ReadsPackedFilesWhereThereIsNoOther) {
  for (const char* name : {"emnist-train-images-idx3-ubyte", "emnist-test-labels-idx1-ubyte"}) {
    write_text(folder_ / (std::string(name) + ".gz"), gzip(tests::read_text(folder_ / name)));
    fs::remove(folder_ / name);
  }
  write_text(folder_ / "emnist-test-images-idx3-ubyte.gz", "not read, since there is one that is not packed");
  EXPECT_TRUE(holds_own_idx(folder_.path()));
  EXPECT_EQ(own_idx_shape(folder_.path()), (ImageShape{5, 4, 1}));
  expect_all(load());
}

TEST_F(OwnIdx, TakesChannelsAsTheFourthDimension) {
  write_text(folder_ / "emnist-train-images-idx3-ubyte", two_channels(4));
  write_text(folder_ / "emnist-test-images-idx3-ubyte", two_channels(2));
  EXPECT_EQ(own_idx_shape(folder_.path()), (ImageShape{2, 3, 2}));
  const DataSet set = load({{2, 3, 2}, 4, "mine"});
  EXPECT_EQ(set.train.shape(), (ImageShape{2, 3, 2}));
  EXPECT_EQ(set.train.pixels[47], 47);
}

TEST_F(OwnIdx, RefusesImagesOfAnotherShapeThanTheModels) {
  EXPECT_EQ(refusal({{28, 28, 1}, 10, "mine"}), "the images of " +
                                                    (folder_ / "emnist-train-images-idx3-ubyte").string() +
                                                    " are 5x4x1, but mine takes 28x28x1");
  write_text(folder_ / "emnist-test-images-idx3-ubyte", idx_images(2, 9, 4, 5));
  EXPECT_TRUE(holds(refusal(), {"emnist-test-images-idx3-ubyte are 4x5x1, but mine takes 5x4x1"}));
}

TEST_F(OwnIdx, RefusesMoreClassesThanTheModelTellsApart) {
  EXPECT_EQ(refusal({{5, 4, 1}, 3, "mine"}),
            folder_.path().string() + " has 4 classes, but mine tells 3 apart");
  write_text(folder_ / "emnist-train-labels-idx1-ubyte", labels(std::string(4, '\0')));
  write_text(folder_ / "emnist-test-labels-idx1-ubyte", labels(std::string(2, '\0')));
  EXPECT_EQ(refusal(), folder_.path().string() + " has 1 class; a data set may have 2 to 256");
  write_text(folder_ / "emnist-test-labels-idx1-ubyte", labels("a\xff"));
  EXPECT_EQ(load().classes.size(), 256U);
}

TEST_F(OwnIdx, RefusesImagesAndLabelsThatDifferInNumber) {
  write_text(folder_ / "emnist-test-labels-idx1-ubyte", labels("abc"));
  EXPECT_TRUE(holds(refusal(), {"emnist-test-images-idx3-ubyte holds 2 images, but ",
                                "emnist-test-labels-idx1-ubyte holds 3 labels"}));
}

TEST_F(OwnIdx, ListsWhatIsMissing) {
  fs::remove(folder_ / "emnist-train-labels-idx1-ubyte");
  fs::remove(folder_ / "emnist-test-images-idx3-ubyte");
  EXPECT_TRUE(holds(refusal(), {"the IDX set in " + folder_.path().string() +
                                " is not complete: training labels, test images missing"}));
}

TEST_F(OwnIdx, ValidationImagesSteerOrTestWhereNoOthersDo) {
  const auto rename = [&](const char* from, const char* to) {
    fs::rename(folder_ / ("emnist-" + std::string(from) + "-images-idx3-ubyte"),
               folder_ / ("emnist-" + std::string(to) + "-images-idx3-ubyte"));
    fs::rename(folder_ / ("emnist-" + std::string(from) + "-labels-idx1-ubyte"),
               folder_ / ("emnist-" + std::string(to) + "-labels-idx1-ubyte"));
  };
  rename("test", "VAL");
  DataSet set = load();
  EXPECT_EQ(set.test.count, 2);
  EXPECT_EQ(set.validation.count, 0);
  EXPECT_EQ(set.notice, "the images in " + (folder_ / "emnist-VAL-images-idx3-ubyte").string() +
                            " test, since there are no others");
  write_text(folder_ / "emnist-Testing-images-idx3-ubyte", idx_images(3, 9, 5, 4));
  EXPECT_TRUE(holds(refusal(), {"test labels missing"}));
  write_text(folder_ / "emnist-Testing-labels-idx1-ubyte", labels(std::string("\0\1\2", 3)));
  set = load();
  EXPECT_EQ(set.test.count, 3);
  EXPECT_EQ(set.validation.count, 2);
  EXPECT_TRUE(holds(set.notice, {"2 images in ", " steer, as those that --validation holds out do"}));
}

TEST_F(OwnIdx, RefusesTwoSetsInOneFolder) {
  write_text(folder_ / "other-train-images-idx3-ubyte", idx_images(4, 0, 5, 4));
  EXPECT_TRUE(holds(refusal(), {"emnist-train-images-idx3-ubyte and ",
                                "other-train-images-idx3-ubyte could both be "
                                "the training images"}));
}

TEST_F(OwnIdx, RefusesWhatIsDefective) {
  const std::string images = idx_images(4, 0, 5, 4);
  write_text(folder_ / "emnist-train-images-idx3-ubyte", images.substr(0, images.size() - 1));
  EXPECT_TRUE(holds(refusal(), {"emnist-train-images-idx3-ubyte", "truncated", "80 values"}));
  write_text(folder_ / "emnist-train-images-idx3-ubyte", "text");
  EXPECT_TRUE(
      holds(refusal(), {"emnist-train-images-idx3-ubyte", "no IDX file of bytes", "correct or replace it"}));
  write_text(folder_ / "emnist-train-images-idx3-ubyte", big_endian(0x0D03) + "text");
  EXPECT_TRUE(holds(refusal(), {"is an IDX file of floats, and only one of bytes is read"}));
  write_text(folder_ / "emnist-train-images-idx3-ubyte",
             big_endian(2051) + big_endian(1) + big_endian(0x90000000) + big_endian(1) + "x");
  EXPECT_TRUE(holds(refusal(), {"emnist-train-images-idx3-ubyte", "truncated"}));
}

TEST_F(OwnIdx, IsRecognisedByAFileOfImagesNotByNamesAlone) {
  const TemporaryFolder other;
  EXPECT_FALSE(holds_own_idx(other.path()));
  write_text(other / "train-images.txt", "a list of images");
  write_text(other / "train-labels-idx1-ubyte", labels("abc"));
  EXPECT_FALSE(holds_own_idx(other.path()));
  EXPECT_EQ(own_idx_shape(other.path()), std::nullopt);
  write_text(other / "test_images", idx_images(2, 0, 6, 7));
  EXPECT_TRUE(holds_own_idx(other.path()));
  EXPECT_EQ(own_idx_shape(other.path()), (ImageShape{6, 7, 1}));
  EXPECT_THROW(holds_own_idx(other / "no"), BadInput);
}

TEST_F(OwnIdx, OnlyTheHeaderIsLookedAtToTellTheSizes) {
  const fs::path path = folder_ / "header";
  write_text(path, idx_images(4, 0, 5, 4).substr(0, 16));
  EXPECT_EQ(peek_idx(path), (std::vector<std::int64_t>{4, 5, 4}));
  for (const std::string& text : {std::string(), std::string("text"), big_endian(2048), big_endian(2057),
                                  big_endian(2049), big_endian(2050) + big_endian(1) + big_endian(0)}) {
    write_text(path, text);
    EXPECT_TRUE(peek_idx(path).empty());
  }
  EXPECT_TRUE(peek_idx(folder_ / "no").empty());
}

}  // namespace
}  // namespace warpscope::data::own_idx_test
