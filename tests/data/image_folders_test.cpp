#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/data/set_kinds.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/picture_files.h"

namespace warpscope::data::image_folders_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using tests::holds;
using tests::message_of;
using tests::OrdinaryUser;
using tests::TemporaryFolder;
using tests::write_grey;
using tests::write_text;

using Labels = std::vector<std::uint8_t>;
using Names = std::vector<std::string>;

/// Takes one grey number an image, so that an image is the byte of its picture.
const Requirements kDot{{1, 1, 1}, 0, "mine"};

class ImageFolders : public testing::Test {
 protected:
  DataSet load(const Requirements& model = kDot) const {
    return load_image_folders(*find_set("images"), folder_.path(), model);
  }
  std::string refusal(const Requirements& model = kDot) const {
    return message_of<BadInput>([&] { load(model); });
  }
  fs::path at(const std::string& path) const { return folder_.path() / path; }
  /// Pictures `first`, `first` + 1, ... in `folder`, named so that they sort by that.
  void write(const std::string& folder, int first, int count) const {
    for (int i = first; i < first + count; ++i) {
      write_grey(at(folder) / (std::to_string(100 + i) + ".png"), static_cast<std::uint8_t>(i));
    }
  }

  TemporaryFolder folder_;
};

TEST_F(ImageFolders, ClassesAreTheNamesOfTheFoldersInTheOrderOfTheirBytes) {
  write("train/zebra", 1, 2);
  write("train/Äpfel", 3, 1);
  write("train/Bär", 4, 1);
  write("train/ant", 5, 1);
  write("test/Äpfel", 6, 1);
  write("test/ant", 7, 2);
  const DataSet set = load();
  EXPECT_EQ(set.classes, (Names{"Bär", "ant", "zebra", "Äpfel"}));
  EXPECT_EQ(set.train.labels, (Labels{0, 1, 2, 2, 3}));
  EXPECT_EQ(set.train.pixels, (Labels{4, 5, 1, 2, 3}));
  EXPECT_EQ(set.test.labels, (Labels{1, 1, 3}));
  EXPECT_EQ(set.test.pixels, (Labels{7, 8, 6}));
  EXPECT_EQ(set.train.count, 5);
  EXPECT_EQ(set.test.count, 3);
  EXPECT_EQ(set.validation.count, 0);
  EXPECT_EQ(set.notice, "");
}

TEST_F(ImageFolders, WithoutATestFolderEveryTenthImageOfAClassTestsOfAFewTheLast) {
  write("a", 0, 23);
  write("b", 50, 3);
  write("c", 60, 1);
  const DataSet set = load();
  EXPECT_EQ(set.test.pixels, (Labels{9, 19, 52}));
  EXPECT_EQ(set.test.labels, (Labels{0, 0, 1}));
  EXPECT_EQ(set.train.count, 24);
  EXPECT_EQ(set.train.pixels[9], 10);
  EXPECT_EQ(set.train.pixels.back(), 60);
  EXPECT_EQ(set.train.labels.back(), 2);
  EXPECT_EQ(set.notice, folder_.path().string() +
                            " has no test folder, so that every tenth image of each class tests: 3 images");
}

TEST_F(ImageFolders, TheFolderTrainAloneIsSplitToo) {
  write("train/a", 0, 2);
  write("train/b", 2, 2);
  const DataSet set = load();
  EXPECT_EQ(set.test.pixels, (Labels{1, 3}));
  EXPECT_TRUE(holds(set.notice, {folder_.path().string() + " has no test folder"}));
}

TEST_F(ImageFolders, AnEmptyFolderBesideAFullOneIsNamed) {
  write("train/a", 0, 2);
  write("train/b", 2, 2);
  fs::create_directory(at("test"));
  EXPECT_TRUE(holds(load().notice, {at("test").string() + " has no class folders with images, so that"}));
  fs::rename(at("train"), at("val"));
  fs::create_directory(at("train"));
  EXPECT_EQ(refusal(),
            at("train").string() +
                " has no class folders with pictures (PNG, JPEG, WebP, BMP, PPM or PGM) to train on, as " +
                at("val").string() + " has to test with");
}

TEST_F(ImageFolders, AFolderOfValidationImagesTestsIfThereIsNoOtherAndElseSteers) {
  write("train/a", 0, 2);
  write("train/b", 2, 2);
  write("Validation/a", 10, 1);
  DataSet set = load();
  EXPECT_EQ(set.test.pixels, (Labels{10}));
  EXPECT_EQ(set.notice, "the images in " + at("Validation").string() + " test, since there are no others");
  write("test", 12, 3);  // without labels, as of a competition
  EXPECT_EQ(load().test.pixels, (Labels{10}));
  write("test/b", 15, 1);
  set = load();
  EXPECT_EQ(set.test.pixels, (Labels{15}));
  EXPECT_EQ(set.validation.pixels, (Labels{10}));
  EXPECT_EQ(set.validation.labels, (Labels{0}));
  EXPECT_EQ(set.train.pixels, (Labels{0, 1, 2, 3}));
  EXPECT_EQ(set.notice,
            "1 image in " + at("Validation").string() +
                " steers, as those that --validation holds out do; 3 pictures beside the class folders are "
                "of no class and were left out");
}

TEST_F(ImageFolders, HalvesHaveTheirUsualNames) {
  for (const auto& [train, test] : {std::pair{"Training", "Testing"},
                                    {"TRAIN", "Test"},
                                    {"training", "valid"},
                                    {"trainset", "Test_Images"}}) {
    write(train + std::string("/glioma"), 0, 3);
    write(train + std::string("/healthy"), 3, 3);
    write(test + std::string("/glioma"), 6, 2);
    const DataSet set = load();
    EXPECT_EQ(set.classes, (Names{"glioma", "healthy"}));
    EXPECT_EQ(set.train.count, 6);
    EXPECT_EQ(set.test.pixels, (Labels{6, 7}));
    const bool of_sets = std::string(test) == "Test_Images";
    EXPECT_EQ(set.notice == "of the folders trainset trains, Test_Images tests", of_sets) << set.notice;
    fs::remove_all(at(train));
    fs::remove_all(at(test));
  }
}

TEST_F(ImageFolders, TwoFoldersOfOneHalfAreRefused) {
  for (const char* const folder : {"train/a", "train/b", "Training/a", "Training/b"}) write(folder, 0, 2);
  EXPECT_EQ(refusal(), at("Training").string() + " and " + at("train").string() +
                           " could both be the training data; keep one of them there");
}

TEST_F(ImageFolders, HalvesAreNoClasses) {
  write("Testing/a", 0, 2);
  write("Testing/b", 2, 2);
  EXPECT_EQ(refusal(), at("Testing").string() +
                           " is called as data to test with are, but no folder train with class "
                           "folders is beside it to train on");
  fs::remove_all(at("Testing"));
  write("train", 0, 2);
  write("test", 2, 2);
  EXPECT_EQ(refusal(),
            "the folders test, train in " + folder_.path().string() +
                " are called as parts of a data set are, not as classes; call them train and test, with a "
                "folder for each class in each");
  write("third", 0, 2);
  EXPECT_TRUE(holds(refusal(), {"the folders test, train in "}));
  for (const char* const folder : {"train", "test", "third"}) fs::remove_all(at(folder));
  write("seg_train/seg_train/a", 0, 2);
  write("seg_test/seg_test/a", 2, 2);
  EXPECT_TRUE(holds(refusal(), {"the folders seg_test, seg_train in "}));
  write("seg_pred", 0, 2);
  EXPECT_TRUE(holds(refusal(), {"the folders seg_test, seg_train in "}));
  for (const char* const folder : {"seg_train", "seg_test"}) fs::remove_all(at(folder));
  write("train_station", 0, 2);
  write("test_tube", 2, 2);
  EXPECT_EQ(load().classes, (Names{"seg_pred", "test_tube", "train_station"})) << "so these are words";
}

TEST_F(ImageFolders, HalvesWithinAClassAreRefused) {
  for (const char* const folder : {"cat/train", "cat/test", "dog/train", "dog/test"}) write(folder, 0, 2);
  EXPECT_EQ(refusal(), at("cat").string() +
                           " holds parts of a data set (test, train); put the classes into such parts, as in "
                           "train/cat");
}

TEST_F(ImageFolders, ClassesThatAllHoldTheSameFoldersAreDoubted) {
  for (const char* const folder : {"trn/cat", "trn/dog", "tst/cat", "tst/dog"}) write(folder, 0, 2);
  const std::string doubt =
      "each of the folders trn, tst is taken for a class and holds the folders cat, dog; if those are the "
      "classes, call the others train and test";
  EXPECT_TRUE(holds(load().notice, {doubt}));
  write("tst", 2, 1);
  EXPECT_FALSE(holds(load().notice, {doubt})) << "pictures of its own";
  fs::remove(at("tst/102.png"));
  write("tst/cow", 2, 1);
  EXPECT_FALSE(holds(load().notice, {doubt})) << "other folders";
}

TEST_F(ImageFolders, PicturesRightInTheFolderToTrainOnAreNoClass) {
  write("train", 0, 2);
  EXPECT_TRUE(holds(refusal(), {"train has no folders of classes with pictures in them (PNG"}));
}

TEST_F(ImageFolders, AFolderAroundTheClassesIsNamed) {
  write("PetImages/cat", 0, 2);
  write("PetImages/dog", 2, 2);
  EXPECT_EQ(refusal(), folder_.path().string() + " has one folder with pictures, " +
                           at("PetImages").string() + "; if the folders in that are the classes, name it");
}

TEST_F(ImageFolders, FoldersBesideTheHalvesAreTold) {
  write("train/a", 0, 2);
  write("train/b", 2, 2);
  write("test/a", 4, 1);
  write("extra/a", 5, 1);
  fs::create_directory(at("labels"));
  EXPECT_EQ(load().notice, "not looked at in " + folder_.path().string() + ": extra, labels");
}

TEST_F(ImageFolders, RunsBesideTheClassesAreNoClasses) {
  write("a", 0, 11);
  write("b", 11, 11);
  const std::string before = load().notice;
  for (const char* run : {"run", "runs/first", "runs/second"}) {
    write(std::string(run) + "/images", 22, 1);
    for (const char* file : {"run.json", "metrics.jsonl"}) write_text(at(run) / file, "{}");
  }
  const DataSet set = load();
  EXPECT_EQ(set.classes, (Names{"a", "b"}));
  EXPECT_EQ(set.train.count + set.test.count, 22);
  EXPECT_EQ(set.notice, before + "; not looked at in " + folder_.path().string() + ": run, runs");
  write("runs/more", 23, 1);  // it holds other things too
  EXPECT_EQ(load().classes, (Names{"a", "b", "runs"}));
}

TEST_F(ImageFolders, FilesOfOtherKindsAreCounted) {
  write("a", 0, 3);
  write("b", 5, 2);
  for (int i = 0; i < 4; ++i) write_text(at("b/x" + std::to_string(i) + ".gif"), "GIF89a");
  write_text(at("a/Thumbs.db"), "of a system");
  write_text(at("a/4.webp"), "no picture");
  const DataSet set = load();
  EXPECT_EQ(set.train.count + set.test.count, 5);
  EXPECT_TRUE(holds(set.notice,
                    {"; 4 of 10 files were left out: .gif (4) are not read; 1 of 10 files was left out: " +
                     at("a/4.webp").string() + " is no picture that can be read"}))
      << set.notice;
}

TEST_F(ImageFolders, PicturesAreToldByTheirFirstBytes) {
  write("a", 0, 3);
  write("b", 5, 2);
  fs::rename(at("a/102.png"), at("a/102"));
  fs::rename(at("a/101.png"), at("a/101.unknown"));
  fs::rename(at("a/100.png"), at("a/100.jfif"));
  const DataSet set = load();
  EXPECT_EQ(set.train.pixels, (Labels{0, 1, 5}));
  EXPECT_EQ(set.test.pixels, (Labels{2, 6}));
}

TEST_F(ImageFolders, AClassMayBeCalledTrain) {
  write("car", 0, 2);
  write("train", 2, 2);
  EXPECT_EQ(load().classes, (Names{"car", "train"}));
}

TEST_F(ImageFolders, PicturesBesideTheClassFoldersAreOfNoClass) {
  write("train/a", 0, 2);
  write("train/b", 2, 2);
  write("train", 10, 1);
  write("", 11, 1);
  const DataSet set = load();
  EXPECT_EQ(set.classes, (Names{"a", "b"}));
  EXPECT_EQ(set.train.count + set.test.count, 4);
  EXPECT_TRUE(holds(set.notice, {"; 2 pictures beside the class folders are of no class and were left out"}));
}

TEST_F(ImageFolders, ImagesAreMadeAsTheModelTakesThem) {
  tests::Picture picture(8, 4, 40);
  picture.fill(2, 0, 4, 2, 200);  // the upper left corner of the middle
  picture.write(at("a/1.png"));
  picture.write(at("a/2.png"));
  write("b", 7, 2);
  const DataSet colour = load({{2, 2, 3}, 2, "mine"});
  EXPECT_EQ(colour.train.shape(), (ImageShape{2, 2, 3}));
  EXPECT_EQ(Labels(colour.train.pixels.begin(), colour.train.pixels.begin() + 12),
            (Labels{200, 200, 200, 40, 40, 40, 40, 40, 40, 40, 40, 40}));
  const DataSet grey = load({{2, 2, 1}, 2, "mine"});
  EXPECT_EQ(grey.train.pixels, (Labels{200, 40, 40, 40, 7, 7, 7, 7}));
  EXPECT_EQ(grey.test.shape(), (ImageShape{2, 2, 1}));
}

TEST_F(ImageFolders, ColoursBecomeGreyByTheirLuminance) {
  tests::Picture red(3, 3, 0);
  for (std::size_t i = 0; i < red.rgb.size(); i += 3) red.rgb[i] = 200;
  red.write(at("a/1.png"));
  write("b", 7, 2);
  EXPECT_NEAR(load().train.pixels.front(), 0.299 * 200, 1.5);
}

TEST_F(ImageFolders, FilesThatCannotBeReadAreLeftOutAndCounted) {
  write("a", 0, 3);
  write("b", 5, 2);
  write_text(at("a/101.jpg"), "no picture");  // between 101.png's neighbours
  write_text(at("b/999.PNG"), "no picture either");
  const DataSet set = load();
  EXPECT_EQ(set.train.pixels, (Labels{0, 1, 5}));
  EXPECT_EQ(set.test.pixels, (Labels{2, 6}));
  EXPECT_TRUE(holds(set.notice, {"; 2 of 7 files were left out: the first, " + at("a/101.jpg").string() +
                                 " is no picture that can be read"}));
  fs::remove(at("b/999.PNG"));
  EXPECT_TRUE(holds(load().notice, {"; 1 of 6 files was left out: " + at("a/101.jpg").string()}));
}

TEST_F(ImageFolders, AClassWithoutAReadableFileIsRefused) {
  write("a", 0, 3);
  write_text(at("b/1.png"), "no picture");
  write_text(at("b/2.png"), "no picture");
  EXPECT_TRUE(holds(refusal(), {"class b is left without images", at("b/1.png").string()}));
  fs::remove_all(at("b"));
  fs::create_directory(at("b"));
  const std::string bare =
      "class b has no images: " + at("b").string() + " holds no pictures (PNG, JPEG, WebP, BMP, PPM or PGM)";
  const std::string remedy = "; add some or take the folder away";
  EXPECT_EQ(refusal(), bare + remedy);
  write_text(at("b/1.gif"), "GIF89a");
  write_text(at("b/2.gif"), "GIF89a");
  EXPECT_EQ(refusal(), bare + "; 2 of 2 files were left out: .gif (2) are not read" + remedy);
}

TEST_F(ImageFolders, TestFilesOfWhichNoneCanBeReadAreRefused) {
  write("train/a", 0, 2);
  write("train/b", 2, 2);
  write_text(at("test/a/1.png"), "no picture");
  EXPECT_TRUE(holds(refusal(), {"none of the files in " + at("test").string() + " can be read", "a/1.png"}));
}

TEST_F(ImageFolders, FoldersWithinAClassBelongToIt) {
  write("a/deep/deeper", 0, 2);
  write("a", 5, 1);
  write("b/images", 8, 2);
  const DataSet set = load();
  EXPECT_EQ(set.classes, (Names{"a", "b"}));
  EXPECT_EQ(set.train.pixels, (Labels{5, 0, 8})) << "by path: a/105.png, a/deep/...";
  EXPECT_EQ(set.test.pixels, (Labels{1, 9}));
}

TEST_F(ImageFolders, EndingsMayBeCapitalAndWhatIsHiddenIsNotLookedAt) {
  write_grey(at("a/1.PNG"), 1);
  write_grey(at("a/2.JPEG"), 2);  // what it is tells its beginning
  write_grey(at("a/._3.png"), 3);
  write_grey(at("b/1.png"), 4);
  write_grey(at(".cache/1.png"), 5);
  write_grey(at("__MACOSX/a/1.png"), 6);
  write_text(at("readme.txt"), "not looked at");
  const DataSet set = load();
  EXPECT_EQ(set.classes, (Names{"a", "b"}));
  EXPECT_EQ(set.train.pixels, (Labels{1, 4}));
  EXPECT_EQ(set.test.pixels, (Labels{2}));
}

TEST_F(ImageFolders, LinksAreFollowedButNotInCircles) {
  const TemporaryFolder elsewhere;
  write_grey(elsewhere / "there/1.png", 1);
  write_grey(elsewhere / "there/2.png", 2);
  write_grey(elsewhere / "lonely.png", 3);
  write("a", 10, 1);
  fs::create_symlink(elsewhere / "lonely.png", at("a/999.png"));
  fs::create_symlink(elsewhere / "no", at("a/broken.png"));
  fs::create_directory_symlink(elsewhere / "there", at("b"));
  fs::create_directory_symlink(at("a"), at("a/again"));
  const DataSet set = load();
  EXPECT_EQ(set.classes, (Names{"a", "b"}));
  EXPECT_EQ(set.train.pixels, (Labels{10, 1}));
  EXPECT_EQ(set.test.pixels, (Labels{3, 2}));
  EXPECT_TRUE(holds(set.notice, {"1 of 5 files was left out: cannot open " + at("a/broken.png").string()}));
}

TEST_F(ImageFolders, ALinkToAFolderAroundAClassBringsItNoPicturesOfOthers) {
  write("a", 10, 2);
  write("b", 20, 2);
  fs::create_directory_symlink(at(""), at("a/up"));
  fs::create_directory_symlink(at("").parent_path().parent_path(), at("b/further"));
  const DataSet set = load();
  EXPECT_EQ(set.train.pixels, (Labels{10, 20}));
  EXPECT_EQ(set.test.pixels, (Labels{11, 21}));
}

TEST_F(ImageFolders, WhatTheSystemTellsOfItselfIsNotLookedThrough) {
  EXPECT_FALSE(holds_class_folders("/proc"));
  write("a", 10, 2);
  write("b", 20, 2);
  fs::create_directory_symlink("/proc", at("a/system"));
  EXPECT_EQ(load().train.pixels, (Labels{10, 20}));
}

TEST_F(ImageFolders, AFolderOfEndlessFoldersWithoutPicturesIsNoClass) {
  write("a", 10, 2);
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 101; ++j)
      fs::create_directories(at("b/home") / std::to_string(100 + i) / std::to_string(100 + j));
  }
  write("b/zoo", 20, 2);
  EXPECT_EQ(refusal(), at("b").string() +
                           " is no folder of pictures: 0 of them lie in the first 10,001 folders within it");
  fs::rename(at("a"), at("z"));
  EXPECT_FALSE(holds_class_folders(folder_.path())) << "nobody waits until z is reached";
  write("b", 0, 25);
  EXPECT_EQ(load().train.count, 26) << "pictures are worth a longer way";
}

TEST_F(ImageFolders, OneClassIsTooFew) {
  write("a", 0, 3);
  EXPECT_TRUE(holds_class_folders(folder_.path()));
  EXPECT_EQ(refusal(), folder_.path().string() + " has 1 class; a data set may have 2 to 256");
}

TEST_F(ImageFolders, ClassesAreAtMostAsManyAsAByteTellsApart) {
  const TemporaryFolder elsewhere;
  write_grey(elsewhere / "there/1.png", 1);
  write_grey(elsewhere / "there/2.png", 2);
  for (int i = 0; i < 256; ++i) {
    fs::create_directory_symlink(elsewhere / "there", at("class" + std::to_string(1000 + i)));
  }
  const DataSet set = load();
  EXPECT_EQ(set.classes.size(), 256U);
  EXPECT_EQ(set.train.labels.back(), 255);
  EXPECT_EQ(refusal({{1, 1, 1}, 255, "mine"}),
            folder_.path().string() + " has 256 classes, but mine tells 255 apart");
  write("zebra", 0, 2);
  EXPECT_EQ(refusal(), folder_.path().string() + " has 257 classes; a data set may have 2 to 256");
}

TEST_F(ImageFolders, ATestClassThatIsNotTrainedIsRefused) {
  write("train/a", 0, 2);
  write("train/b", 2, 2);
  write("test/c", 4, 1);
  EXPECT_EQ(refusal(), at("test/c").string() + " is the folder of a class that " + at("train").string() +
                           " does not have");
}

TEST_F(ImageFolders, AnImageOfEachClassLeavesNoneToTestWith) {
  write("a", 0, 1);
  write("b", 2, 1);
  EXPECT_EQ(refusal(),
            "each class of " + folder_.path().string() + " has one image, which leaves none to test with");
}

TEST_F(ImageFolders, PicturesHaveOneChannelOrThree) {
  write("a", 0, 2);
  write("b", 2, 2);
  EXPECT_EQ(refusal({{8, 8, 4}, 0, "mine"}), "pictures have one channel or three, but mine takes 8x8x4");
}

TEST_F(ImageFolders, MoreThanTheMemoryHoldsIsRefusedBeforeItIsTaken) {
  write("a", 0, 2);
  write("b", 2, 2);
  EXPECT_TRUE(holds(
      refusal({{2'000'000, 2'000'000, 3}, 0, "mine"}),
      {"the 4 images of " + folder_.path().string() + " take 44703.5 GiB of memory at 2000000x2000000x3",
       "of memory free"}));
}

TEST_F(ImageFolders, ReadingEndsWhenNobodyWaitsAnyMore) {
  write("a", 0, 20);
  write("b", 20, 20);
  std::atomic<int> asked = 0;
  const auto later = [&] { return ++asked > 2; };
  EXPECT_THROW(load_image_folders(*find_set("images"), folder_.path(), kDot, later), core::Error);
  EXPECT_GT(asked, 2);
  EXPECT_LT(asked, 40) << "not once an image";
}

TEST_F(ImageFolders, AreRecognisedByPicturesInFolders) {
  EXPECT_FALSE(holds_class_folders(folder_.path()));
  write("", 0, 2);
  fs::create_directory(at("empty"));
  EXPECT_FALSE(holds_class_folders(folder_.path())) << "pictures of no class";
  write("train/a/deep", 0, 1);
  EXPECT_TRUE(holds_class_folders(folder_.path()));
  EXPECT_THROW(holds_class_folders(folder_ / "no"), BadInput);
}

TEST_F(ImageFolders, AClassThatMayNotBeReadIsRefused) {
  write("a", 0, 2);
  write("b", 2, 2);
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::permissions(at("b"), fs::perms::none);
  {
    const OrdinaryUser user;
    EXPECT_TRUE(holds(refusal(), {at("b").string(), "ermission denied"}));
  }
  fs::permissions(at("b"), fs::perms::owner_all);
}

}  // namespace
}  // namespace warpscope::data::image_folders_test
