#include "ui/panels/pictures/own_pictures.h"

#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <stb_image_write.h>

#include "tests/core/temporary_folder.h"
#include "tests/data/picture_files.h"

namespace warpscope::ui::own_pictures_test {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

TEST(PathsIn, ReadsLinesAndTheAddressesThatFileManagersCopy) {
  EXPECT_EQ(paths_in("/a/one.png\r\n  /b/two words.jpg \n\n# a comment\nfile:///c/th%C3%ADrd%20one.png\n"),
            (Paths{"/a/one.png", "/b/two words.jpg", "/c/th\xC3\xADrd one.png"}));
  EXPECT_EQ(paths_in("file://host/d.png"), Paths{"/d.png"});
  EXPECT_EQ(paths_in("file:///100%.png"), Paths{"/100%.png"});
  EXPECT_TRUE(paths_in(" \n\r\n").empty());
}

class OwnPicturesTest : public testing::Test {
 protected:
  fs::path picture(const std::string& name) const {
    const std::vector<unsigned char> pixels(4 * 4 * 3, 90);
    fs::path path = folder.path() / name;
    EXPECT_NE(stbi_write_png(path.c_str(), 4, 4, 3, pixels.data(), 0), 0);
    return path;
  }
  void wait() {
    while (!own.advance()) std::this_thread::yield();
  }
  const tests::TemporaryFolder folder;
  OwnPictures own;
};

TEST_F(OwnPicturesTest, ComeOnceTheyAreRead) {
  EXPECT_FALSE(own.advance());
  own.open({picture("a.png"), picture("b.png")}, {2, 2, 3});
  wait();
  ASSERT_NE(own.images(), nullptr);
  EXPECT_EQ(own.images()->set.count, 2);
  EXPECT_EQ(own.message(), "2 pictures");
  EXPECT_FALSE(own.advance());
  own.close();
  EXPECT_EQ(own.images(), nullptr);
}

TEST_F(OwnPicturesTest, WhereNoneCanBeReadThoseBeforeStay) {
  own.open({picture("a.png")}, {2, 2, 3});
  wait();
  const auto before = own.images();
  own.open({folder.path() / "missing.png"}, {2, 2, 3});
  wait();
  EXPECT_EQ(own.images(), before);
  EXPECT_NE(own.message().find("missing.png"), std::string::npos);
  EXPECT_NE(own.message().find("no picture could be read"), std::string::npos);
}

TEST_F(OwnPicturesTest, OnlyWhatIsLeftOutIsToldAsLeftOut) {
  tests::write_upside_down(picture("a.png"), folder.path() / "turned.png");
  tests::write_text(folder.path() / "text.png", "no picture");
  own.open({folder.path() / "a.png", folder.path() / "turned.png", folder.path() / "text.png",
            folder.path() / "missing.png"},
           {2, 2, 3});
  wait();
  EXPECT_NE(own.message().find("text.png is no picture"), std::string::npos) << own.message();
  EXPECT_NE(
      own.message().find(" (and 1 more); 2 pictures; 1 picture was turned as its EXIF orientation says"),
      std::string::npos)
      << own.message();
}

TEST_F(OwnPicturesTest, OfTwoSetsTheLastOneIsShown) {
  own.open({picture("a.png")}, {2, 2, 3});
  own.open({picture("b.png"), picture("c.png")}, {2, 2, 3});
  wait();
  EXPECT_EQ(own.images()->names, (std::vector<std::string>{"b.png", "c.png"}));
}

}  // namespace
}  // namespace warpscope::ui::own_pictures_test
