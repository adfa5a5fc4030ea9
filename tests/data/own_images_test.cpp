#include "gpu/data/own_images.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/data/picture_files.h"

namespace warpscope::data::own_images_test {
namespace {

namespace fs = std::filesystem;

using tests::Picture;
using tests::write_text;

TEST(FitImage, AnImageOfTheSameSizeStaysAsItIs) {
  Picture picture(4, 3, 10);
  picture.fill(1, 1, 3, 2, 200);
  EXPECT_EQ(fit_image(picture.rgb, {3, 4, 3}, {3, 4, 3}), picture.rgb);
}

TEST(FitImage, SmallerIsTheMeanOverTheAreaThatAPixelCovers) {
  const std::vector<std::uint8_t> grey{0, 100, 50, 150, 10, 20, 30, 40};  // 2 x 4
  EXPECT_EQ(fit_image(grey, {2, 4, 1}, {1, 2, 1}), (std::vector<std::uint8_t>{33, 68}))
      << "(0 + 100 + 10 + 20) / 4 = 32.5 and (50 + 150 + 30 + 40) / 4 = 67.5";
}

TEST(FitImage, PixelsThatAreCoveredInPartCountInPart) {
  // Each of two pixels covers one and a half: (0 + 90 / 2) / 1.5 and (90 / 2 + 30) / 1.5.
  EXPECT_EQ(fit_image(std::vector<std::uint8_t>{0, 90, 30, 0, 90, 30, 0, 90, 30}, {3, 3, 1}, {2, 2, 1}),
            (std::vector<std::uint8_t>{30, 50, 30, 50}));
}

TEST(FitImage, WhatIsTooWideLosesItsSidesAndWhatIsTooHighTopAndBottom) {
  Picture wide(8, 2, 0);
  wide.fill(3, 0, 5, 2, 255);
  EXPECT_EQ(fit_image(wide.rgb, {2, 8, 3}, {2, 2, 3}), std::vector<std::uint8_t>(12, 255));
  Picture high(2, 8, 0);
  high.fill(0, 3, 2, 5, 255);
  EXPECT_EQ(fit_image(high.rgb, {8, 2, 3}, {2, 2, 3}), std::vector<std::uint8_t>(12, 255));
}

TEST(FitImage, LargerRepeatsPixels) {
  EXPECT_EQ(fit_image(std::vector<std::uint8_t>{7, 9}, {1, 2, 1}, {2, 4, 1}),
            (std::vector<std::uint8_t>{7, 7, 9, 9, 7, 7, 9, 9}));
}

TEST(OwnImages, AreReadFromFilesAndFoldersInOrder) {
  const tests::TemporaryFolder folder;
  fs::create_directory(folder.path() / "more");
  Picture(16, 16, 10).write(folder.path() / "one.png");
  Picture(20, 10, 30).write(folder.path() / "more" / "b.PNG");
  Picture(5, 5, 20).write(folder.path() / "more" / "a.png");
  write_text(folder.path() / "more" / "notes.txt", "no picture");
  const std::vector<fs::path> paths{folder.path() / "one.png", folder.path() / "more"};
  const OwnImages images = read_own_images(paths, {8, 8, 3});
  EXPECT_EQ(images.names, (std::vector<std::string>{"one.png", "a.png", "b.PNG"}));
  EXPECT_TRUE(images.refused.empty());
  EXPECT_EQ(images.left_out, "1 of 4 files was left out: .txt (1) is not read");
  EXPECT_EQ(images.turned, "");
  EXPECT_EQ(images.set.count, 3);
  EXPECT_EQ(images.set.shape(), (ImageShape{8, 8, 3}));
  ASSERT_EQ(images.set.pixels.size(), 3u * 8 * 8 * 3);
  EXPECT_EQ(images.set.pixels[0], 10);
  EXPECT_EQ(images.set.pixels[200], 20);
  EXPECT_EQ(images.set.pixels[400], 30);
}

TEST(OwnImages, BecomeGreyForANetworkThatTakesGrey) {
  const tests::TemporaryFolder folder;
  Picture(9, 9, 77).write(folder.path() / "grey.png");
  const std::vector<fs::path> paths{folder.path() / "grey.png"};
  const OwnImages images = read_own_images(paths, {3, 3, 1});
  EXPECT_EQ(images.set.pixels, std::vector<std::uint8_t>(9, 77));
}

TEST(OwnImages, BadFilesAreRefusedWithASentenceAndTheGoodOnesStay) {
  const tests::TemporaryFolder folder;
  Picture(6, 6, 50).write(folder.path() / "good.png");
  write_text(folder.path() / "text.png", "this is no picture");
  std::ifstream good(folder.path() / "good.png", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(good), {}};
  std::ofstream(folder.path() / "half.png", std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  fs::create_directory(folder.path() / "empty");
  const std::vector<fs::path> paths{folder.path() / "text.png", folder.path() / "missing.png",
                                    folder.path() / "half.png", folder.path() / "empty",
                                    folder.path() / "good.png"};
  const OwnImages images = read_own_images(paths, {6, 6, 3});
  EXPECT_EQ(images.names, (std::vector<std::string>{"good.png"}));
  ASSERT_EQ(images.refused.size(), 4u);
  for (const std::string& sentence : images.refused) {
    EXPECT_NE(sentence.find(folder.path().string()), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
  }
}

TEST(OwnImages, AreAtMostAsManyAsAreShownAtOnce) {
  const tests::TemporaryFolder folder;
  for (std::size_t i = 0; i < kMostOwnImages + 3; ++i) {
    Picture(2, 2, 1).write(folder.path() / (std::to_string(i) + ".png"));
  }
  const std::vector<fs::path> paths{folder.path()};
  const OwnImages images = read_own_images(paths, {2, 2, 3});
  EXPECT_EQ(images.names.size(), kMostOwnImages);
  EXPECT_TRUE(images.refused.empty());
  EXPECT_EQ(images.left_out, "3 more pictures were left out: 256 are shown at once");
}

TEST(OwnImages, ThatWereTurnedAreTakenAndTold) {
  const tests::TemporaryFolder folder;
  tests::write_grey(folder.path() / "a.png", 5);
  tests::write_upside_down(folder.path() / "a.png", folder.path() / "b.png");
  const std::vector<fs::path> paths{folder.path()};
  const OwnImages images = read_own_images(paths, {3, 3, 3});
  EXPECT_EQ(images.names, (std::vector<std::string>{"a.png", "b.png"}));
  EXPECT_TRUE(images.refused.empty());
  EXPECT_EQ(images.left_out, "");
  EXPECT_EQ(images.turned, "1 picture was turned as its EXIF orientation says");
}

}  // namespace
}  // namespace warpscope::data::own_images_test
