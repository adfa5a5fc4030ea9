#pragma once
// Small PNG files for tests.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <stb_image_write.h>
#include <zlib.h>

#include "tests/core/temporary_folder.h"
#include "tests/data/idx_files.h"

namespace warpscope::tests {

/// Pixels of one colour, but for a rectangle of another.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;

  Picture(int w, int h, std::uint8_t value)
      : width(w), height(h), rgb(static_cast<std::size_t>(w * h * 3), value) {}
  void fill(int left, int top, int right, int bottom, std::uint8_t value) {
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) {
        for (int c = 0; c < 3; ++c) rgb[static_cast<std::size_t>((y * width + x) * 3 + c)] = value;
      }
    }
  }
  void write(const std::filesystem::path& path) const {
    std::filesystem::create_directories(path.parent_path());
    ASSERT_NE(stbi_write_png(path.c_str(), width, height, 3, rgb.data(), 0), 0);
  }
};

/// A picture of one grey.
inline void write_grey(const std::filesystem::path& path, std::uint8_t value, int width = 3, int height = 3) {
  Picture(width, height, value).write(path);
}

/// The PNG file `from` with an EXIF orientation that says that it stands on its head.
inline void write_upside_down(const std::filesystem::path& from, const std::filesystem::path& to) {
  constexpr std::size_t kBehindHeader = 33;
  const std::string exif(
      "\0\0\0\x1a"
      "eXIfMM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\3\0\0\0\0\0\0",
      34);
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(exif.data() + 4), 30);
  std::string bytes = read_text(from);
  bytes.insert(kBehindHeader, exif + big_endian(static_cast<std::uint32_t>(crc)));
  write_text(to, bytes);
}

}  // namespace warpscope::tests
