#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "gpu/core/error.h"
#include "gpu/data/idx.h"
#include "gpu/data/set_kinds.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/idx_files.h"

namespace warpscope::data::idx_set_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using tests::gzip;
using tests::holds;
using tests::idx_images;
using tests::idx_labels;
using tests::make_small_mnist;
using tests::message_of;
using tests::OrdinaryUser;
using tests::read_text;
using tests::TemporaryFolder;
using tests::write_text;

constexpr std::array kNames{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                            "t10k-labels-idx1-ubyte"};

const SetRow& mnist() {
  return *find_set("mnist");
}

class IdxSet : public testing::Test {
 protected:
  void SetUp() override { make_small_mnist(folder_.path()); }

  std::string refusal() const {
    return message_of<BadInput>([&] { load_idx_set(mnist(), folder_.path()); });
  }
  /// Replaces a file by its packed form.
  void pack(const std::string& name) const {
    write_text(folder_ / (name + ".gz"), gzip(read_text(folder_ / name)));
    fs::remove(folder_ / name);
  }

  TemporaryFolder folder_;
};

void expect_small_mnist(const DataSet& set) {
  EXPECT_EQ(set.classes, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
  EXPECT_EQ(set.train.shape(), (ImageShape{28, 28, 1}));
  EXPECT_EQ(set.train.count, 6);
  EXPECT_EQ(set.test.count, 3);
  EXPECT_EQ(set.validation.count, 0);
  EXPECT_EQ(set.train.labels, (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(set.test.labels, (std::vector<std::uint8_t>{0, 1, 2}));
  ASSERT_EQ(set.train.pixels.size(), 6u * 784);
  ASSERT_EQ(set.test.pixels.size(), 3u * 784);
  for (std::size_t i = 0; i < set.train.pixels.size(); ++i) ASSERT_EQ(set.train.pixels[i], i * 7 % 251) << i;
  for (std::size_t i = 0; i < set.test.pixels.size(); ++i) {
    ASSERT_EQ(set.test.pixels[i], (i * 7 + 100) % 251) << i;
  }
}

TEST_F(IdxSet, ReadsPlainFiles) {
  expect_small_mnist(load_idx_set(mnist(), folder_.path()));
}

TEST_F(IdxSet, ReadsPackedFilesAndOnesWithAPoint) {
  pack("train-images-idx3-ubyte");
  pack("t10k-labels-idx1-ubyte");
  fs::rename(folder_ / "train-labels-idx1-ubyte", folder_ / "train-labels.idx1-ubyte");
  write_text(folder_ / "t10k-images.idx3-ubyte.gz", gzip(read_text(folder_ / "t10k-images-idx3-ubyte")));
  fs::remove(folder_ / "t10k-images-idx3-ubyte");
  expect_small_mnist(load_idx_set(mnist(), folder_.path()));
}

TEST_F(IdxSet, GivesTheClassesOfItsRow) {
  const SetRow& fashion = *find_set("fashion_mnist");
  const DataSet set = load_idx_set(fashion, folder_.path());
  EXPECT_EQ(set.classes, fashion.classes);
  EXPECT_EQ(set.classes.front(), "T-shirt/top");
  EXPECT_EQ(set.classes.back(), "Ankle boot");
  EXPECT_EQ(set.train.count, 6);
  write_text(folder_ / "train-labels-idx1-ubyte", idx_labels(7));
  EXPECT_TRUE(holds(message_of<BadInput>([&] { load_idx_set(fashion, folder_.path()); }),
                    {"fetch Fashion-MNIST again"}));
}

TEST_F(IdxSet, IsRecognisedByAnyOfItsFiles) {
  const TemporaryFolder other;
  EXPECT_FALSE(holds_idx_set(other.path()));
  EXPECT_FALSE(holds_idx_set(other / "no"));
  write_text(other / "t10k-labels.idx1-ubyte.gz", "");
  EXPECT_TRUE(holds_idx_set(other.path()));
}

TEST_F(IdxSet, IsWholeWithFilesOfTheOriginalSizes) {
  EXPECT_FALSE(idx_set_is_complete(folder_.path()));
  const std::array<std::uintmax_t, 4> sizes{47'040'016, 60'008, 7'840'016, 10'008};
  for (std::size_t i = 0; i < kNames.size(); ++i) fs::resize_file(folder_ / kNames[i], sizes[i]);
  EXPECT_TRUE(idx_set_is_complete(folder_.path()));
  fs::resize_file(folder_ / kNames[2], sizes[2] - 1);
  EXPECT_FALSE(idx_set_is_complete(folder_.path()));
  fs::resize_file(folder_ / kNames[2], sizes[2]);
  pack(kNames[3]);
  EXPECT_TRUE(idx_set_is_complete(folder_.path()));
  fs::resize_file(folder_ / "t10k-labels-idx1-ubyte.gz", 17);
  EXPECT_FALSE(idx_set_is_complete(folder_.path()));
  EXPECT_FALSE(idx_set_is_complete(folder_ / "no"));
}

TEST_F(IdxSet, ListsMissingFiles) {
  fs::remove(folder_ / "train-labels-idx1-ubyte");
  fs::remove(folder_ / "t10k-images-idx3-ubyte");
  EXPECT_TRUE(
      holds(refusal(), {folder_.path().string(), "train-labels-idx1-ubyte, t10k-images-idx3-ubyte missing"}));
}

TEST_F(IdxSet, RefusesAnotherMagic) {
  write_text(folder_ / "train-images-idx3-ubyte", idx_labels(6));
  EXPECT_TRUE(holds(refusal(), {"train-images-idx3-ubyte", "2049 instead of 2051",
                                "3 dimensions but seems to hold labels; delete it"}));
}

TEST_F(IdxSet, RefusesImagesOfAnotherSize) {
  write_text(folder_ / "t10k-images-idx3-ubyte", idx_images(3, 0, 27, 29));
  EXPECT_TRUE(holds(refusal(), {"t10k-images-idx3-ubyte", "27x29", "28x28"}));
}

TEST_F(IdxSet, RefusesImagesAndLabelsThatDifferInNumber) {
  write_text(folder_ / "train-labels-idx1-ubyte", idx_labels(7));
  EXPECT_TRUE(
      holds(refusal(), {"train-images-idx3-ubyte holds 6 images", "train-labels-idx1-ubyte holds 7"}));
}

TEST_F(IdxSet, NamesTheFirstLabelAboveNine) {
  std::string labels = idx_labels(6);
  labels[8 + 4] = 10;
  labels[8 + 5] = '\xff';
  write_text(folder_ / "train-labels-idx1-ubyte", labels);
  EXPECT_TRUE(holds(refusal(), {"train-labels-idx1-ubyte", "label 10 at place 4"}));
}

TEST_F(IdxSet, RefusesEmptySets) {
  write_text(folder_ / "t10k-images-idx3-ubyte", idx_images(0));
  write_text(folder_ / "t10k-labels-idx1-ubyte", idx_labels(0));
  EXPECT_TRUE(holds(refusal(), {"t10k-images-idx3-ubyte", "empty"}));
}

TEST_F(IdxSet, RefusesTruncatedAndOverlongFiles) {
  const std::string images = idx_images(6);
  write_text(folder_ / "train-images-idx3-ubyte", images.substr(0, images.size() - 1));
  EXPECT_TRUE(holds(refusal(), {"train-images-idx3-ubyte", "truncated", "4,704 values"}));
  write_text(folder_ / "train-images-idx3-ubyte", images + "x");
  EXPECT_TRUE(holds(refusal(), {"train-images-idx3-ubyte", "too long", "4,704 values"}));
}

TEST_F(IdxSet, RefusesHeadersThatPromiseMoreThanMemoryHolds) {
  for (const std::string& counts :
       {std::string(12, '\xff'),
        tests::big_endian(10'000'000) + tests::big_endian(28) + tests::big_endian(28)}) {
    const std::string text = tests::big_endian(2051) + counts + "some bytes";
    write_text(folder_ / "train-images-idx3-ubyte", text);
    refusal();
    write_text(folder_ / "t10k-images-idx3-ubyte.gz", gzip(text));
    EXPECT_THROW(read_idx(folder_ / "t10k-images-idx3-ubyte.gz", 3, "fetch it again"), BadInput);
  }
}

TEST_F(IdxSet, ReadsGzipOfSeveralMembersAndWhatFillsUp) {
  const std::string labels = idx_labels(6);
  fs::remove(folder_ / "train-labels-idx1-ubyte");
  const fs::path path = folder_ / "train-labels-idx1-ubyte.gz";
  for (const std::string& packed :
       {gzip(labels.substr(0, 9)) + gzip(labels.substr(9)), gzip("") + gzip(labels) + gzip(""),
        gzip(labels) + std::string(1000, '\0'),
        gzip(labels.substr(0, 2)) + gzip("") + gzip(labels.substr(2)) + '\0'}) {
    write_text(path, packed);
    expect_small_mnist(load_idx_set(mnist(), folder_.path()));
  }
}

TEST_F(IdxSet, FirstBytesTellWhatIsPacked) {
  write_text(folder_ / "train-images-idx3-ubyte", gzip(idx_images(6)));
  fs::rename(folder_ / "train-labels-idx1-ubyte", folder_ / "train-labels-idx1-ubyte.gz");
  expect_small_mnist(load_idx_set(mnist(), folder_.path()));
  write_text(folder_ / "t10k-images-idx3-ubyte", "PK\x03\x04 and so on");
  EXPECT_EQ(refusal(),
            (folder_ / "t10k-images-idx3-ubyte").string() + " is a zip archive, not an IDX file; unpack it");
}

TEST_F(IdxSet, RefusesDamagedGzip) {
  const std::string packed = gzip(idx_labels(6));
  fs::remove(folder_ / "train-labels-idx1-ubyte");
  const fs::path path = folder_ / "train-labels-idx1-ubyte.gz";
  write_text(path, "these are labels");
  EXPECT_TRUE(holds(refusal(), {path.string(), "is no IDX file"}));
  write_text(path, packed + "text");
  EXPECT_TRUE(holds(refusal(), {path.string(), "bytes after the end of its gzip data"}));
  write_text(path, packed + std::string(3, '\0') + packed);
  EXPECT_TRUE(holds(refusal(), {path.string(), "bytes after the end of its gzip data"}));
  write_text(path, packed + packed);
  EXPECT_TRUE(holds(refusal(), {path.string(), "too long"})) << "what the second member holds belongs to it";
  write_text(path, packed + packed.substr(0, 9));
  EXPECT_TRUE(holds(refusal(), {path.string(), "truncated"}));
  std::string other = packed;
  other[other.size() - 8] = static_cast<char>(other[other.size() - 8] ^ 1);  // the checksum
  write_text(path, other);
  EXPECT_TRUE(holds(refusal(), {path.string(), "damaged", "incorrect data check"}));
  write_text(path, gzip(idx_labels(6) + "x"));
  EXPECT_TRUE(holds(refusal(), {path.string(), "too long"}));
  write_text(path, gzip(idx_labels(6).substr(0, 13)));
  EXPECT_TRUE(holds(refusal(), {path.string(), "truncated", "5 values instead of 6"}));
}

TEST_F(IdxSet, ReadsFilesThatWereUnpackedIntoFoldersOfTheirNames) {
  for (const std::string name : kNames) {
    const fs::path beside = folder_ / name, aside = folder_ / (name + ".moved");
    fs::rename(beside, aside);
    fs::create_directory(beside);
    fs::rename(aside, beside / name);
  }
  expect_small_mnist(load_idx_set(mnist(), folder_.path()));
  // A file beside such a folder comes first.
  write_text(folder_ / "train-labels.idx1-ubyte", idx_labels(5));
  EXPECT_TRUE(holds(refusal(), {"train-labels.idx1-ubyte holds 5 labels"}));
}

TEST_F(IdxSet, RefusesWhatIsNoFileOrMayNotBeRead) {
  const fs::path path = folder_ / "train-images-idx3-ubyte";
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_TRUE(holds(refusal(), {path.string(), "is a folder, not a file"}));
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(holds(refusal(), {path.string(), "is not a file"}));
  fs::remove(path);
  write_text(path, idx_images(6));
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::permissions(path, fs::perms::none);
  const OrdinaryUser user;
  EXPECT_TRUE(holds(refusal(), {path.string(), "ermission denied"}));
}

/// Calls `check` with texts that one damage makes of `text`: each flip of a bit and each byte turned over in
/// the first `bytes`, each truncation among them and some behind.
void for_damages(const std::string& text, std::size_t bytes,
                 const std::function<void(const std::string& damaged)>& check) {
  for (std::size_t size = 0; size < text.size(); size += size < bytes + 16 ? 1 : 331) {
    check(text.substr(0, size));
  }
  check(text.substr(0, text.size() - 1));
  for (std::size_t at = 0; at < bytes; ++at) {
    for (const int mask : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      check(damaged);
    }
  }
}

TEST_F(IdxSet, RefusesEveryDamageOfAHeaderInOneSentence) {
  for (const auto& [name, header] :
       {std::pair{"train-images-idx3-ubyte", 16}, {"t10k-labels-idx1-ubyte", 8}}) {
    const fs::path path = folder_ / name;
    const std::string text = read_text(path);
    for_damages(text, static_cast<std::size_t>(header),
                [&, file = std::string(name)](const std::string& damaged) {
                  write_text(path, damaged);
                  const std::string message = refusal();
                  EXPECT_TRUE(holds(message, {file})) << message;
                  EXPECT_EQ(message.find('\n'), std::string::npos);
                });
    write_text(path, text);
  }
}

TEST_F(IdxSet, TakesNoDamagedGzipForSomethingElse) {
  const fs::path path = folder_ / "t10k-labels-idx1-ubyte.gz";
  const std::string packed = gzip(read_text(folder_ / "t10k-labels-idx1-ubyte"));
  const std::vector<std::uint8_t> labels{0, 1, 2};
  int refused = 0;
  for_damages(packed, packed.size(), [&](const std::string& damaged) {
    write_text(path, damaged);
    try {
      // The time and the system in the header mean nothing to the contents.
      EXPECT_EQ(read_idx(path, 1, "fetch it again").values, labels);
    } catch (const BadInput& error) {
      ++refused;
      EXPECT_TRUE(holds(error.what(), {path.string(), "fetch it again"}));
    }
  });
  EXPECT_GT(refused, static_cast<int>(packed.size() * 7));
}

}  // namespace
}  // namespace warpscope::data::idx_set_test
