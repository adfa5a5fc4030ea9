#include "gpu/data/picture.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <stb_image_write.h>
#include <webp/encode.h>
#include <zlib.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/data/exif.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/idx_files.h"
#include "tests/data/picture_files.h"

namespace warpscope::data::picture_test {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using tests::big_endian;
using tests::holds;
using tests::read_text;
using tests::write_text;

using Bytes = std::vector<std::uint8_t>;

/// Rows of two, three rows: every pixel differs from the others.
constexpr std::array<std::uint8_t, 6> kGrey{10, 60, 110, 160, 200, 250};
constexpr ImageShape kUpright{3, 2, 1};

Bytes rgb_of(const std::array<std::uint8_t, 6>& grey) {
  Bytes rgb;
  for (const std::uint8_t value : grey) rgb.insert(rgb.end(), 3, value);
  return rgb;
}

std::string little_endian(std::uint32_t number, int bytes = 4) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> 8 * i & 0xff);
  return text;
}

/// Exif with two entries, of which the second is the orientation.
std::string exif(int orientation, bool big = true) {
  const auto number = [&](std::uint32_t value, int bytes) {
    return big ? big_endian(value).substr(static_cast<std::size_t>(4 - bytes)) : little_endian(value, bytes);
  };
  return (big ? "MM\0*"s : "II*\0"s) + number(8, 4) + number(2, 2) + number(0x010f, 2) + number(2, 2) +
         number(4, 4) + "abc\0"s + number(0x0112, 2) + number(3, 2) + number(1, 4) +
         number(static_cast<std::uint32_t>(orientation), 2) + "\0\0\0\0\0\0"s;
}

std::string png_chunk(const std::string& type, const std::string& body) {
  const std::string checked = type + body;
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian(static_cast<std::uint32_t>(body.size())) + checked +
         big_endian(static_cast<std::uint32_t>(crc));
}

/// A chunk or a segment of a JPEG, behind what the file begins with.
std::string with(std::string file, std::size_t at, const std::string& inserted) {
  file.insert(at, inserted);
  return file;
}

std::string jpeg_segment(const std::string& exif) {
  const std::string body = "Exif\0\0"s + exif;
  return "\xFF\xE1"s + big_endian(static_cast<std::uint32_t>(body.size() + 2)).substr(2) + body;
}

std::string riff_chunk(const std::string& name, const std::string& body) {
  return name + little_endian(static_cast<std::uint32_t>(body.size())) + body +
         std::string(body.size() % 2, '\0');
}

class Pictures : public testing::Test {
 protected:
  std::string png() const {
    const fs::path path = folder_ / "made.png";
    EXPECT_NE(stbi_write_png(path.c_str(), 2, 3, 3, rgb_of(kGrey).data(), 0), 0);
    return read_text(path);
  }
  /// Lossless.
  static std::string webp(int width = 2, int height = 3, Bytes rgb = rgb_of(kGrey)) {
    std::uint8_t* made = nullptr;
    const std::size_t size = WebPEncodeLosslessRGB(rgb.data(), width, height, width * 3, &made);
    std::string text(reinterpret_cast<const char*>(made), size);
    WebPFree(made);
    return text;
  }
  /// The same in the extended form, with further chunks.
  static std::string extended_webp(int flags, const std::string& chunks) {
    const std::string body = "WEBP" +
                             riff_chunk("VP8X", little_endian(static_cast<std::uint32_t>(flags)) +
                                                    little_endian(1, 3) + little_endian(2, 3)) +
                             chunks;
    return "RIFF" + little_endian(static_cast<std::uint32_t>(body.size())) + body;
  }
  /// Sixteen rows of 32 pixels, its left half dark.
  std::string jpeg() const {
    tests::Picture picture(32, 16, 240);
    picture.fill(0, 0, 16, 16, 10);
    const fs::path path = folder_ / "made.jpg";
    EXPECT_NE(stbi_write_jpg(path.c_str(), 32, 16, 3, picture.rgb.data(), 100), 0);
    return read_text(path);
  }
  FittedPicture read(const std::string& bytes, const ImageShape& shape,
                     const char* name = "picture.png") const {
    write_text(folder_ / name, bytes);
    return read_picture(folder_ / name, shape);
  }
  std::string refusal(const std::string& bytes, const char* name = "picture.png") const {
    return tests::message_of<core::BadInput>([&] { read(bytes, kUpright, name); });
  }

  const tests::TemporaryFolder folder_;
};

TEST_F(Pictures, AreToldByTheirFirstBytesWhateverTheirName) {
  const Bytes grey(kGrey.begin(), kGrey.end());
  std::string colours = "P6 2 3 255\n";
  for (const std::uint8_t value : rgb_of(kGrey)) colours += static_cast<char>(value);
  const std::string plain = "P5\n# made by hand\n2 3\n255\n" + std::string(grey.begin(), grey.end());
  ASSERT_NE(stbi_write_bmp((folder_ / "made.bmp").c_str(), 2, 3, 3, rgb_of(kGrey).data()), 0);
  for (const std::string& bytes : {png(), webp(), read_text(folder_ / "made.bmp"), colours, plain}) {
    for (const char* const name : {"a.png", "b.JFIF", "c"}) {
      const FittedPicture one = read(bytes, kUpright, name), three = read(bytes, {3, 2, 3}, name);
      EXPECT_EQ(one.pixels, grey) << bytes.substr(0, 4);
      EXPECT_EQ(three.pixels, rgb_of(kGrey)) << bytes.substr(0, 4);
      EXPECT_FALSE(one.turned);
      EXPECT_TRUE(is_picture(folder_ / name));
      EXPECT_TRUE(begins_like_picture(bytes));
    }
  }
  EXPECT_NEAR(read(jpeg(), {1, 2, 1}, "x.jfif").pixels[1], 240, 2);
  write_text(folder_ / "notes", "BM is what this text begins with");
  EXPECT_FALSE(is_picture(folder_ / "notes"));
  EXPECT_TRUE(is_picture(folder_ / "nowhere.WebP"));
  EXPECT_FALSE(is_picture(folder_ / "nowhere"));
}

TEST_F(Pictures, OfNumbersAreScaledByTheLargest) {
  const Bytes grey{0, 255, 17, 34, 51, 68};
  for (const std::string& bytes :
       {"P5 2 3 15\n\0\x0f\1\2\3\4"s, "P2\n#\n2 3\n15\n0 15 1 2\n3 # three\n 4\n"s,
        "P5 2 3 4095\n\0\0\x0f\xff\1\x11\2\x22\3\x33\4\x44"s, "P2 2 3 15 0 99 1 2 3 4"s}) {
    EXPECT_EQ(read(bytes, kUpright).pixels, grey) << bytes;
  }
  EXPECT_EQ(read("P3 1 1 255 9 8 7", {1, 1, 3}).pixels, (Bytes{9, 8, 7}));
  for (const char* const broken :
       {"P5 2 3 0\nabcdef", "P5 2 99999999999 255\na", "P5 2\n", "P2 2 3 15 0 1 2 3 4",
        "P5 2 3 65536\n000000000000", "P2 2 3 15 0 1 2 3 4 x", "P6 2 x"}) {
    EXPECT_TRUE(holds(refusal(broken), {"is damaged"})) << broken;
  }
}

TEST_F(Pictures, LieAsTheirOrientationSays) {
  const std::array<Bytes, 8> seen{Bytes{10, 60, 110, 160, 200, 250}, {60, 10, 160, 110, 250, 200},
                                  {250, 200, 160, 110, 60, 10},      {200, 250, 110, 160, 10, 60},
                                  {10, 110, 200, 60, 160, 250},      {200, 110, 10, 250, 160, 60},
                                  {250, 160, 60, 200, 110, 10},      {60, 160, 250, 10, 110, 200}};
  constexpr std::size_t kBehindHeader = 8 + 25;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const ImageShape shape = orientation >= 5 ? ImageShape{2, 3, 1} : kUpright;
    for (const bool big : {true, false}) {
      const std::string told = exif(orientation, big);
      for (const std::string& bytes :
           {with(png(), kBehindHeader, png_chunk("eXIf", told)),
            extended_webp(8, webp().substr(12) + riff_chunk("EXIF", told)),
            extended_webp(8, webp().substr(12) + riff_chunk("EXIF", "Exif\0\0"s + told))}) {
        const FittedPicture picture = read(bytes, shape);
        EXPECT_EQ(picture.pixels, seen[static_cast<std::size_t>(orientation - 1)]) << orientation;
        EXPECT_EQ(picture.turned, orientation != 1);
      }
    }
  }
}

TEST_F(Pictures, OfTelephonesAreTurned) {
  // Held upright: what was left becomes the top.
  const FittedPicture picture = read(with(jpeg(), 2, jpeg_segment(exif(6))), {2, 1, 1});
  EXPECT_TRUE(picture.turned);
  EXPECT_NEAR(picture.pixels[0], 10, 2);
  EXPECT_NEAR(picture.pixels[1], 240, 2);
  EXPECT_EQ(tell_turned(0), "");
  EXPECT_EQ(tell_turned(1), "1 picture was turned as its EXIF orientation says");
  EXPECT_EQ(tell_turned(1200), "1,200 pictures were turned as their EXIF orientation says");
}

TEST_F(Pictures, AnyExifLeavesAnOrientationOrNone) {
  const std::array<std::string, 3> files{with(jpeg().substr(0, 40), 2, jpeg_segment(exif(6))),
                                         with(png(), 33, png_chunk("eXIf", exif(6, false))),
                                         extended_webp(8, riff_chunk("EXIF", exif(6)))};
  for (const std::string& file : files) {
    ASSERT_EQ(exif_orientation(file), 6);
    for (std::size_t size = 0; size < file.size(); ++size)
      exif_orientation(std::string_view(file).substr(0, size));
    for (std::size_t i = 0; i < 20'000; ++i) {
      std::string damaged = file;
      for (std::size_t n = 0; n <= i % 4; ++n) {
        const std::uint64_t bits = core::random_bits(7, 8 * i + n);
        damaged[bits % damaged.size()] = static_cast<char>(bits >> 32);
      }
      const int orientation = exif_orientation(damaged);
      ASSERT_TRUE(orientation >= 1 && orientation <= 8);
    }
  }
  EXPECT_EQ(exif_orientation(with(jpeg(), 2, jpeg_segment(exif(9)))), 1);
  EXPECT_EQ(exif_orientation(""), 1);
}

TEST_F(Pictures, EveryDamageOfAPngIsSeen) {
  const std::string good = png();
  ASSERT_EQ(read(good, kUpright).pixels.size(), 6U);
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_NE(refusal(good.substr(0, size)), "") << size;
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string damaged = good;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const std::string told = refusal(damaged);
    EXPECT_TRUE(holds(told, {"picture.png"})) << bit;
    for (const char c : told) ASSERT_TRUE(c >= ' ' && c < 0x7f) << bit;
  }
  EXPECT_EQ(read(good + "what follows belongs to somebody else", kUpright).pixels.size(), 6U);
}

TEST_F(Pictures, TheChecksumOfPackedPixelsCountsToo) {
  const std::string good = png();
  const std::size_t begin = good.find("IDAT") + 4, end = good.find("IEND") - 8;
  std::string packed = good.substr(begin, end - begin);
  packed.back() = static_cast<char>(packed.back() ^ 1);  // of the Adler-32
  EXPECT_TRUE(holds(refusal(good.substr(0, begin - 8) + png_chunk("IDAT", packed) + good.substr(end + 4)),
                    {"is damaged: its packed pixels, or their checksum, are wrong"}));
  std::string other = good;
  other[begin + 3] = static_cast<char>(other[begin + 3] ^ 1);
  EXPECT_TRUE(holds(refusal(other), {"is damaged: the checksum of its chunk IDAT is wrong"}));
}

TEST_F(Pictures, ThatWereCutOffAreDamaged) {
  const std::string photo = jpeg();
  for (const std::size_t size : {photo.size() / 2, photo.size() - 2, std::size_t{20}, std::size_t{4}}) {
    EXPECT_TRUE(holds(refusal(photo.substr(0, size)), {"is damaged: it ends before its pixels do"})) << size;
  }
  Bytes noise(64 * 64 * 3);
  for (std::size_t i = 0; i < noise.size(); ++i)
    noise[i] = static_cast<std::uint8_t>(core::random_bits(3, i));
  const std::string web = webp(64, 64, noise);
  for (const std::size_t size : {web.size() / 2, web.size() - 2, std::size_t{25}}) {
    EXPECT_TRUE(holds(refusal(web.substr(0, size)), {"is damaged"})) << size;
  }
  ASSERT_NE(stbi_write_bmp((folder_ / "made.bmp").c_str(), 2, 3, 3, rgb_of(kGrey).data()), 0);
  const std::string plain = "P5\n#\n2 # wide\n3 255 abcdef", bitmap = read_text(folder_ / "made.bmp");
  for (const std::string& bytes : {plain, bitmap, "P5 2 3 65535\n" + std::string(12, 'a')}) {
    EXPECT_EQ(read(bytes, kUpright).pixels.size(), 6U);
    for (std::size_t size = bytes.size(); size-- > 16;) EXPECT_NE(refusal(bytes.substr(0, size)), "") << size;
  }
  std::string top_down = bitmap;
  EXPECT_EQ(read(top_down.replace(22, 4, "\xFD\xFF\xFF\xFF"), kUpright).pixels.size(), 6U);
  EXPECT_TRUE(holds(refusal(top_down.replace(22, 4, "\0\0\0\x80"s)), {"pixels large"}));
}

TEST_F(Pictures, WithoutPixelsAreDamaged) {
  ASSERT_NE(stbi_write_bmp((folder_ / "made.bmp").c_str(), 2, 3, 3, rgb_of(kGrey).data()), 0);
  const std::string good = read_text(folder_ / "made.bmp");
  constexpr std::size_t kWidth = 18, kHeight = 22;
  for (const std::size_t place : {kWidth, kHeight}) {
    std::string bytes = good;
    bytes.replace(place, 4, 4, '\0');
    EXPECT_TRUE(holds(refusal(bytes), {"is damaged: it has no pixels"})) << place;
  }
}

TEST_F(Pictures, WhatIsNotReadIsNamed) {
  const std::array<std::pair<std::string, std::string>, 12> kinds{{
      {"GIF89a\1\0\1\0", "is a GIF picture, which is not read; save it as PNG or JPEG"},
      {"II*\0\x08\0\0\0"s, "is a TIFF picture, which is not read"},
      {"\0\0\0\x18"
       "ftypheic\0\0\0\0"s,
       "is a HEIC picture"},
      {"\0\0\0\x1c"
       "ftypavif\0\0\0\0"s,
       "is an AVIF picture"},
      {"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"},
      {"<!DOCTYPE HTML>\n<html>", "is a web page, which is not read; download the file itself"},
      {"<?xml version='1.0'?><Error><Code>AccessDenied", "is an XML document, which is not read; download"},
      {"<?xml version='1.0'?>\n<svg>", "is an SVG picture, which is not read; save it as PNG or JPEG"},
      {"PK\x03\x04 and more", "is a zip archive, which is not read; unpack it"},
      {"PK\x03\x04" + std::string(22, '\0') + "\x05\0\0\0a.npy"s,
       "is a file of NumPy arrays, which is not read"},
      {"", "is empty"},
      {"some text", "is no picture that can be read, which are PNG, JPEG, WebP, BMP, PPM or PGM"},
  }};
  for (const auto& [bytes, told] : kinds) {
    EXPECT_TRUE(holds(refusal(bytes), {(folder_ / "picture.png").string() + " ", told})) << told;
  }
  EXPECT_TRUE(
      holds(refusal(extended_webp(2, riff_chunk("ANIM", std::string(6, '\0')))), {"is an animation"}));
  const std::string loops(4, '\0');
  EXPECT_EQ(read(with(png(), 33, png_chunk("acTL", "\0\0\0\1"s + loops)), kUpright).pixels.size(), 6U);
  EXPECT_TRUE(
      holds(refusal(with(png(), 33, png_chunk("acTL", "\0\0\0\2"s + loops))), {"is an animation; save one"}));
}

TEST_F(Pictures, TooLargeOnesAreToldBySize) {
  const std::string made = png(), side = "\x7f\xff\xff\xff";
  const std::string huge =
      made.substr(0, 8) + png_chunk("IHDR", side + side + made.substr(24, 5)) + made.substr(33);
  EXPECT_TRUE(holds(refusal(huge),
                    {" is 2147483647 x 2147483647 pixels large; pictures may have up to 100,000,000"}));
}

TEST(OtherFilesTest, AreCountedByTheirEndings) {
  OtherFiles files;
  EXPECT_EQ(files.tell(7), "");
  files.add("a/one.GIF");
  EXPECT_EQ(files.tell(7), "1 of 7 files was left out: .gif (1) is not read");
  for (int i = 0; i < 3; ++i) files.add("a/two.tif");
  files.add("a/README");
  EXPECT_EQ(files.tell(1005),
            "5 of 1,005 files were left out: .tif (3), names without an ending (1), .gif (1) are not read");
  for (const char* const name : {"a.b", "a.c", "a.d", "a.e", "a.f", "a.g", "a.h"}) files.add(name);
  EXPECT_TRUE(holds(files.tell(12), {"12 of 12 files", "2 more endings are not read"}));
}

}  // namespace
}  // namespace warpscope::data::picture_test
