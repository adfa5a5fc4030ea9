#include "gpu/inference/image_source.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stb_image_write.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/data/own_images.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/idx_files.h"
#include "tests/data/picture_files.h"

namespace warpscope::inference::image_source_test {
namespace {

namespace fs = std::filesystem;

constexpr data::ImageShape kShape{4, 4, 1};
constexpr std::size_t kBytes = 16;

/// A grey picture of noise.
void write_picture(const fs::path& path, std::uint64_t seed) {
  std::vector<std::uint8_t> pixels(6 * 5);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(core::random_bits(seed, i) % 256);
  ASSERT_NE(stbi_write_png(path.c_str(), 6, 5, 1, pixels.data(), 0), 0);
}

/// All that is left, `most` at once, with the pixels.
std::vector<ImageName> read_all(ImageSource& source, int most, std::vector<std::uint8_t>& pixels) {
  std::vector<ImageName> all;
  for (;;) {
    std::vector<std::uint8_t> room(static_cast<std::size_t>(most) * kBytes, 0xa5);
    const std::vector<ImageName> names = source.read(most, room.data());
    if (names.empty()) return all;
    EXPECT_LE(names.size(), static_cast<std::size_t>(most));
    pixels.insert(pixels.end(), room.begin(),
                  room.begin() + static_cast<std::ptrdiff_t>(names.size() * kBytes));
    all.insert(all.end(), names.begin(), names.end());
  }
}

class Pictures : public testing::Test {
 protected:
  std::unique_ptr<DividedSource> open(const fs::path& path) {
    return open_images(path.string(), {kShape, 0}, {}, notice);
  }
  const tests::TemporaryFolder folder;
  std::string notice;
};

TEST_F(Pictures, AreReadByNameHoweverManyThereAre) {
  constexpr int kFiles = 300;  // more than a window shows at once
  for (int i = kFiles; i-- > 0;)
    write_picture(folder.path() / fmt::format("{:03}.png", i), static_cast<std::uint64_t>(i));
  const auto source = open(folder.path());
  EXPECT_EQ(source->count(), kFiles);
  std::vector<std::uint8_t> pixels;
  const std::vector<ImageName> names = read_all(*source, 37, pixels);
  ASSERT_EQ(names.size(), std::size_t{kFiles});
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(names[i].file, fmt::format("{:03}.png", i));
    EXPECT_EQ(names[i].index, static_cast<std::int64_t>(i));
    EXPECT_EQ(names[i].label, -1);
    const std::span<const std::uint8_t> found(pixels.data() + i * kBytes, kBytes);
    const std::vector<std::uint8_t> expected =
        data::read_picture(folder.path() / names[i].file, kShape).pixels;
    ASSERT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end())) << i;
  }
  EXPECT_TRUE(source->refused().empty());
}

TEST_F(Pictures, ThatCannotBeReadMoveNoOtherToAnotherBatch) {
  for (const char* name : {"a.png", "c.png", "g.png", "h.png"}) write_picture(folder.path() / name, 5);
  for (const char* name : {"b.png", "d.png", "e.png", "f.jpg"})
    tests::write_text(folder.path() / name, "no picture");
  const auto source = open(folder.path());
  std::vector<std::uint8_t> room(3 * kBytes);
  std::vector<std::string> files;
  for (const ImageName& name : source->read(3, room.data())) files.push_back(name.file);
  EXPECT_EQ(files, (std::vector<std::string>{"a.png", "c.png"}));
  EXPECT_EQ(source->refused().size(), 1u);
  std::vector<std::uint8_t> pixels;
  EXPECT_EQ(read_all(*source, 3, pixels).size(), 2u);  // the second batch has none
  EXPECT_EQ(pixels, std::vector<std::uint8_t>([&] {
              std::vector<std::uint8_t> twice = data::read_picture(folder.path() / "g.png", kShape).pixels;
              twice.insert(twice.end(), twice.begin(), twice.end());
              return twice;
            }()));
  ASSERT_EQ(source->refused().size(), 4u);
  EXPECT_TRUE(tests::holds(source->refused().back(), {"f.jpg is no picture that can be read"}));
}

TEST_F(Pictures, OfAPartKeepTheirNumbers) {
  for (const char* name : {"a.png", "b.png", "d.png"}) write_picture(folder.path() / name, 5);
  tests::write_text(folder.path() / "c.png", "no picture");
  const auto source = open(folder.path());
  std::vector<std::uint8_t> pixels;
  EXPECT_EQ(read_all(*source, 2, pixels).size(), 3u);
  EXPECT_EQ(source->refused().size(), 1u);
  source->take_part(1, 3);
  EXPECT_TRUE(source->refused().empty());
  const std::vector<ImageName> names = read_all(*source, 2, pixels);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].index, 1);
  EXPECT_EQ(names[0].file, source->name(1).file);
  EXPECT_EQ(source->refused().size(), 1u);
  const std::string fingerprint = source->fingerprint();
  EXPECT_EQ(fingerprint, open(folder.path())->fingerprint());
  write_picture(folder.path() / "c.png", 5);
  EXPECT_NE(fingerprint, open(folder.path())->fingerprint());
}

TEST_F(Pictures, WhoseNamesBeginWithAPointAreNotLookedAt) {
  for (const char* const name : {"a.png", ".hidden.png"}) write_picture(folder.path() / name, 5);
  EXPECT_EQ(open(folder.path())->count(), 1);
  EXPECT_EQ(open(folder.path() / ".hidden.png")->count(), 1);
}

TEST_F(Pictures, OfOtherKindsAreCounted) {
  write_picture(folder.path() / "a.png", 5);
  fs::copy_file(folder.path() / "a.png", folder.path() / "b");
  for (const char* const name : {"c.gif", "d.gif", ".e.gif"})
    tests::write_text(folder.path() / name, "GIF89a");
  fs::create_directory(folder.path() / "f.gif");
  EXPECT_EQ(open(folder.path())->count(), 2);
  EXPECT_EQ(notice, "2 of 4 files were left out: .gif (2) are not read; a folder within was not looked at");
}

TEST_F(Pictures, ThatWereTurnedAreTold) {
  write_picture(folder.path() / "a.png", 5);
  tests::write_upside_down(folder.path() / "a.png", folder.path() / "b.png");
  const auto source = open(folder.path());
  std::vector<std::uint8_t> pixels;
  EXPECT_EQ(source->turned(), 0u);
  EXPECT_EQ(read_all(*source, 5, pixels).size(), 2u);
  EXPECT_EQ(source->turned(), 1u);
  for (std::size_t i = 0; i < kBytes; ++i)
    EXPECT_EQ(pixels[i], pixels[2 * kBytes - 1 - i]) << "it stands on its head";
}

TEST_F(Pictures, MayBeASingleFile) {
  write_picture(folder.path() / "one.png", 8);
  const auto source = open(folder.path() / "one.png");
  std::vector<std::uint8_t> pixels;
  EXPECT_EQ(source->count(), 1);
  EXPECT_EQ(read_all(*source, 5, pixels).size(), 1u);
}

TEST_F(Pictures, OfAnEmptyFolderAreRefusedInASentence) {
  EXPECT_EQ(tests::message_of<core::BadInput>([&] { open(folder.path()); }),
            fmt::format("the folder {} holds no pictures (PNG, JPEG, WebP, BMP, PPM or PGM)",
                        folder.path().string()));
  tests::write_text(folder.path() / "notes.txt", "no picture");
  const std::string refusal = tests::message_of<core::BadInput>([&] {
    open_images(folder.path().string(), {{28, 28, 1}, 10}, {}, notice);
  });
  EXPECT_TRUE(tests::holds(refusal, {"holds no pictures (PNG, JPEG, WebP, BMP, PPM or PGM), and no data set: "
                                     "no MNIST or Fashion-MNIST in"}));
}

TEST_F(Pictures, OfAFolderThatMayNotBeReadAreRefusedOnce) {
  namespace fs = std::filesystem;
  const fs::path closed = folder.path() / "closed";
  fs::create_directory(closed);
  fs::permissions(folder.path(), fs::perms(0755));
  fs::permissions(closed, fs::perms::none);
  {
    const tests::OrdinaryUser user;
    EXPECT_EQ(tests::message_of<core::BadInput>([&] { open(closed); }),
              fmt::format("cannot read the folder {}: Permission denied", closed.string()));
  }
  fs::permissions(closed, fs::perms::owner_all);
}

TEST(ImagesTest, OfADataSetAreItsTestImagesWithTheirLabels) {
  std::string notice;
  const auto source = open_images("builtin", {{28, 28, 1}, 10}, {}, notice);
  const auto again = open_images("digits", {{28, 28, 1}, 10}, {}, notice);
  EXPECT_EQ(source->classes().size(), 10u);
  EXPECT_GT(source->count(), 10);
  std::vector<std::uint8_t> first(10 * 784), second(10 * 784);
  const auto names = source->read(10, first.data());
  EXPECT_EQ(again->read(10, second.data()).size(), 10u);
  EXPECT_EQ(first, second);
  ASSERT_EQ(names.size(), 10u);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(names[i].index, static_cast<std::int64_t>(i));
    EXPECT_GE(names[i].label, 0);
  }
}

/// An IDX set of 4 x 4 with these labels in both parts.
void write_idx(const fs::path& folder, const std::string& labels) {
  const auto count = static_cast<std::uint32_t>(labels.size());
  for (const char* const part : {"train", "test"}) {
    tests::write_text(folder / fmt::format("{}-images-idx3-ubyte", part), tests::idx_images(count, 0, 4, 4));
    tests::write_text(folder / fmt::format("{}-labels-idx1-ubyte", part),
                      tests::big_endian(2049) + tests::big_endian(count) + labels);
  }
}

TEST(ImagesTest, OfIdxFilesHaveTheNetworksClassesInTheirOrder) {
  const tests::TemporaryFolder folder;
  std::string notice;
  write_idx(folder.path(), std::string("\1\0", 2));
  const data::Requirements wanted{kShape, 2, "mine"};
  const auto source = open_images(folder.path().string(), wanted, {"cat", "dog"}, notice);
  EXPECT_EQ(source->classes(), (std::vector<std::string>{"cat", "dog"}));
  std::vector<std::uint8_t> pixels(2 * kBytes);
  EXPECT_EQ(source->read(2, pixels.data()).front().label, 1);
  EXPECT_EQ(notice, "");
  write_idx(folder.path(), std::string("\2\0", 2));
  const std::string refusal = tests::message_of<core::BadInput>([&] {
    open_images(folder.path().string(), wanted, {"cat", "dog"}, notice);
  });
  EXPECT_TRUE(tests::holds(refusal, {"has 3 classes, but mine tells 2 apart"})) << refusal;
}

const data::Requirements kTexts{{1, 4, 1}, 2, "mine", "abcdefgh"};

/// What there is of a file of texts.
std::vector<ImageName> texts_in(const fs::path& path, std::vector<std::uint8_t>& pixels) {
  std::string notice;
  const auto source = open_images(path.string(), kTexts, {"ham", "spam"}, notice);
  EXPECT_EQ(source->classes().size(), 2u);
  pixels.resize(400);
  std::vector<ImageName> all = source->read(2, pixels.data());
  const std::vector<ImageName> rest = source->read(90, pixels.data() + 8);
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_TRUE(source->read(2, pixels.data() + 392).empty());
  EXPECT_EQ(source->count(), static_cast<std::int64_t>(all.size()));
  return all;
}

std::vector<std::string> texts_of(const std::vector<ImageName>& names) {
  std::vector<std::string> texts;
  for (const ImageName& name : names) texts.push_back(name.text);
  return texts;
}

TEST(TextFiles, AreALineOrARowEach) {
  const tests::TemporaryFolder folder;
  std::vector<std::uint8_t> pixels;
  tests::write_text(folder / "plain.txt", "abc\r\n\nB \"a\"\nlast");
  const auto lines = texts_in(folder / "plain.txt", pixels);
  EXPECT_EQ(texts_of(lines), (std::vector<std::string>{"abc", "", "B \"a\"", "last"}));
  EXPECT_EQ(lines[3].index, 3);
  EXPECT_EQ(lines[3].label, -1);
  EXPECT_EQ((std::vector<std::uint8_t>(pixels.begin(), pixels.begin() + 8)),
            (std::vector<std::uint8_t>{3, 2, 1, 0, 0, 0, 0, 0}));
  tests::write_text(folder / "one.csv", "text\n\"a, b\"\nc\n");
  EXPECT_EQ(texts_of(texts_in(folder / "one.csv", pixels)), (std::vector<std::string>{"a, b", "c"}));
  tests::write_text(folder / "two.csv", "label,text\nspam,abc,d\nelse,x\nham,\n");
  const auto rows = texts_in(folder / "two.csv", pixels);
  EXPECT_EQ(texts_of(rows), (std::vector<std::string>{"abc d", "x", ""}));
  EXPECT_EQ(rows[0].label, 1);
  EXPECT_EQ(rows[1].label, -1);
  EXPECT_EQ(rows[2].label, 0);
}

/// What a file of texts tells beside its texts.
std::string notice_of(const fs::path& path) {
  return read_texts(path.string(), kTexts, {"ham", "spam"}).notice;
}

TEST(TextFiles, TellOnWhichLineTheyStand) {
  const tests::TemporaryFolder folder;
  std::vector<std::uint8_t> pixels;
  tests::write_text(folder / "one.csv", "review\n\n\"a\nb\"\nc\n");
  const auto rows = texts_in(folder / "one.csv", pixels);
  EXPECT_EQ(texts_of(rows), (std::vector<std::string>{"a\nb", "c"}));
  EXPECT_EQ(rows[0].line, 3u);
  EXPECT_EQ(rows[1].line, 5u);
  EXPECT_EQ(notice_of(folder / "one.csv"),
            (folder / "one.csv").string() + ":1 is a title, not a text: the text is in 'review'");
  tests::write_text(folder / "lines.txt", "review\n\na");
  const auto lines = texts_in(folder / "lines.txt", pixels);
  EXPECT_EQ(texts_of(lines), (std::vector<std::string>{"review", "", "a"}));
  EXPECT_EQ(lines[2].line, 3u);
  EXPECT_EQ(notice_of(folder / "lines.txt"), "");
}

TEST(TextFiles, WithOtherSeparatorsThanCommasAreTold) {
  const tests::TemporaryFolder folder;
  const std::string path = (folder / "a.csv").string();
  tests::write_text(path, "spam;abc\nham;d\n");
  EXPECT_EQ(notice_of(path),
            "each row of " + path + " is taken for one text; a comma separates fields, not a semicolon");
  for (const char* const text : {"spam;abc\n", "spam;abc\nd\n", "ham,a;b\nspam,c;d\n"}) {
    tests::write_text(path, text);
    EXPECT_EQ(notice_of(path), "") << text;
  }
}

TEST(TextFiles, MayHaveTitlesThatNameTheirColumns) {
  const tests::TemporaryFolder folder;
  std::vector<std::uint8_t> pixels;
  tests::write_text(folder / "a.csv", "id,Text,Label\n7,abc,spam\n8,d, ham\n");
  const auto rows = texts_in(folder / "a.csv", pixels);
  EXPECT_EQ(texts_of(rows), (std::vector<std::string>{"abc", "d"}));
  EXPECT_EQ(rows[0].label, 1);
  EXPECT_EQ(rows[1].label, 0);
  tests::write_text(folder / "b.csv", "id,text\n7,abc\n");
  EXPECT_EQ(texts_of(texts_in(folder / "b.csv", pixels)), std::vector<std::string>{"abc"});
  tests::write_text(folder / "c.csv", "Klasse,Satz\nspam,abc\n");
  EXPECT_EQ(texts_of(texts_in(folder / "c.csv", pixels)), std::vector<std::string>{"abc"});
  EXPECT_TRUE(
      tests::holds(notice_of(folder / "c.csv"), {"c.csv:1 is taken for a title and left out", "'Klasse'"}));
  tests::write_text(folder / "d.csv", "eggs,x\nbacon,abc\n");
  EXPECT_EQ(texts_in(folder / "d.csv", pixels).size(), 2u) << "of classes that the network does not know";
}

TEST(TextFiles, MayHaveTitlesAndEndingsInCapitalsAndAByteOrderMark) {
  const tests::TemporaryFolder folder;
  std::vector<std::uint8_t> pixels;
  const std::string mark = "\xEF\xBB\xBF";
  tests::write_text(folder / "one.csv", "Text\na\n");
  tests::write_text(folder / "two.CSV", mark + "Label,Text\nspam,a\n");
  tests::write_text(folder / "lines.txt", mark + "a\n");
  for (const char* const name : {"one.csv", "two.CSV", "lines.txt"})
    EXPECT_EQ(texts_of(texts_in(folder / name, pixels)), std::vector<std::string>{"a"}) << name;
}

TEST(TextFiles, AreRefusedInASentence) {
  const tests::TemporaryFolder folder;
  std::vector<std::uint8_t> pixels;
  const auto refusal = [&](const fs::path& path) {
    return tests::message_of<core::BadInput>([&] { texts_in(path, pixels); });
  };
  tests::write_text(folder / "empty.txt", "");
  EXPECT_EQ(refusal(folder / "empty.txt"), (folder / "empty.txt").string() + " holds no texts");
  tests::write_text(folder / "open.csv", "a\n\"b\n");
  EXPECT_EQ(refusal(folder / "open.csv"), (folder / "open.csv").string() + ":2: a quote is not closed");
}

TEST(TextFiles, ADataSetTellsItsTestTexts) {
  std::string notice;
  const auto source = open_images("sentences", {{1, 64, 1}, 4, "mine", "abc"}, {}, notice);
  EXPECT_EQ(source->title(), "built-in sentences, test texts");
  std::vector<std::uint8_t> pixels(64 * 2);
  const auto names = source->read(2, pixels.data());
  ASSERT_EQ(names.size(), 2u);
  EXPECT_FALSE(names[0].text.empty());
  EXPECT_GE(names[0].label, 0);
}

}  // namespace
}  // namespace warpscope::inference::image_source_test
