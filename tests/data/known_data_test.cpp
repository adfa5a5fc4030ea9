#include "gpu/data/known_data.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/picture_files.h"

namespace warpscope::data::known_data_test {
namespace {

namespace fs = std::filesystem;

const Requirements kModel{{3, 3, 3}, 2};

/// Two classes of pictures, `grey` one of them.
void make_pictures(const fs::path& folder, std::uint8_t grey) {
  for (const char* part : {"train", "test"}) {
    tests::write_grey(folder / part / "a" / "0.png", grey);
    tests::write_grey(folder / part / "b" / "0.png", 200);
  }
}

class FindData : public testing::Test {
 protected:
  std::string folder(const char* name) const { return (folder_ / name).string(); }
  std::string checksum(const char* name) const { return find_data(folder(name), {}, kModel).checksum; }

  const tests::TemporaryFolder folder_;
};

TEST_F(FindData, EqualDataHaveOneChecksumWhereverTheyAre) {
  make_pictures(folder("one"), 10);
  make_pictures(folder("other"), 10);
  make_pictures(folder("brighter"), 11);
  EXPECT_EQ(checksum("one"), checksum("other"));
  EXPECT_NE(checksum("one"), checksum("brighter"));
  fs::rename(folder_ / "other/train/a", folder_ / "other/train/c");
  fs::rename(folder_ / "other/test/a", folder_ / "other/test/c");
  EXPECT_NE(checksum("one"), checksum("other")) << "the classes have other names";
}

TEST_F(FindData, ImagesThatSteerAreKnownToo) {
  make_pictures(folder("d"), 10);
  const std::string without = checksum("d");
  const auto write_steering = [&](std::uint8_t grey) {
    tests::write_grey(folder_ / "d/val/a/0.png", grey);
    tests::write_grey(folder_ / "d/val/b/0.png", 200);
  };
  write_steering(10);
  const std::string with = checksum("d");
  EXPECT_NE(with, without);
  write_steering(11);
  EXPECT_NE(checksum("d"), with);
}

TEST_F(FindData, ChecksumsTellTextsWhateverReadsThem) {
  DataSet set;
  set.classes = {"ham", "spam"};
  set.train = {1, 4, 1, 2, {1, 2, 0, 0, 3, 0, 0, 0}, {0, 1}, {"ab", "c"}};
  const std::string sum = checksum_of(set);
  set.train = {1, 5, 1, 2, {9, 8, 0, 0, 0, 7, 0, 0, 0, 0}, {0, 1}, {"ab", "c"}};
  EXPECT_EQ(checksum_of(set), sum);
  set.train.texts = {"a", "bc"};
  EXPECT_NE(checksum_of(set), sum);
}

TEST_F(FindData, OtherImagesUnderTheSamePathAreTold) {
  make_pictures(folder("d"), 10);
  const KnownData known{checksum("d"), {}, true};
  EXPECT_TRUE(find_data(folder("d"), known, kModel).same);
  make_pictures(folder("d"), 11);
  const FoundData found = find_data(folder("d"), known, kModel);
  EXPECT_FALSE(found.same);
  EXPECT_EQ(told_as_other(found.set),
            folder("d") + " holds other images than those that the run was trained on");
}

TEST_F(FindData, MovedDataAreFoundByASecondGuess) {
  make_pictures(folder("d"), 10);
  KnownData known{checksum("d"), {folder("missing"), folder("decoy"), folder("moved")}, true};
  fs::rename(folder("d"), folder("moved"));
  make_pictures(folder("decoy"), 99);
  EXPECT_EQ(find_data(folder("d"), known, kModel).set.source, folder("moved"));
  make_pictures(folder("d"), 12);
  EXPECT_EQ(find_data(folder("d"), known, kModel).set.source, folder("moved")) << "others are there now";
}

TEST_F(FindData, MissingDataAreToldWithWhatToDo) {
  const auto refusal = [](const std::string& option, const KnownData& known) {
    return tests::message_of<core::BadInput>([&] { find_data(option, known, kModel); });
  };
  EXPECT_EQ(refusal(folder("gone"), {"", {}, true}),
            "the data of the run were in " + folder("gone") +
                ", which is not there any more; --data FOLDER names where they are now");
  EXPECT_TRUE(
      tests::holds(refusal("images:" + folder("gone"), {"", {}, true}), {"were in " + folder("gone") + ","}));
  EXPECT_TRUE(tests::holds(refusal(folder("gone"), {}), {"there is no folder " + folder("gone")}));
}

TEST_F(FindData, PathsAreAbsoluteAndKeepTheirBytes) {
  const std::string name = "lat\xe9n";
  make_pictures(folder_ / name, 10);
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  const FoundData found = find_data(name + "/", {}, kModel);
  const FoundData named = find_data("images:" + name, {}, kModel);
  fs::current_path(before);
  EXPECT_EQ(found.set.source, folder(name.c_str()));
  EXPECT_EQ(split_option(named.set.source).folder, folder(name.c_str()));
}

TEST(DataOptions, ConsistOfANameAndAFolder) {
  for (const std::string option : {"", "builtin", "mnist", "a/b", "mnist:a/b", "images:a:b", "a:b"}) {
    EXPECT_EQ(joined(split_option(option)), option);
  }
  EXPECT_EQ(split_option("mnist").name, "mnist");
  EXPECT_EQ(split_option("mnist:a/b").folder, "a/b");
  EXPECT_EQ(split_option("images").folder, "images") << "the name of a form is none of a set";
  EXPECT_EQ(split_option("c:b").folder, "c:b");
}

}  // namespace
}  // namespace warpscope::data::known_data_test
