#pragma once
// Small IDX files for tests.

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <zlib.h>

#include "tests/core/temporary_folder.h"

namespace warpscope::tests {

inline std::string big_endian(std::uint32_t number) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 0xff);
  return text;
}

/// `count` images of height x width, of which byte i is (i * 7 + salt) mod 251.
inline std::string idx_images(std::uint32_t count, unsigned salt = 0, std::uint32_t height = 28,
                              std::uint32_t width = 28) {
  std::string text = big_endian(2051) + big_endian(count) + big_endian(height) + big_endian(width);
  for (std::uint32_t i = 0; i < count * height * width; ++i) text += static_cast<char>((i * 7 + salt) % 251);
  return text;
}

/// Label i is i mod 10.
inline std::string idx_labels(std::uint32_t count) {
  std::string text = big_endian(2049) + big_endian(count);
  for (std::uint32_t i = 0; i < count; ++i) text += static_cast<char>(i % 10);
  return text;
}

/// `text` as a gzip file.
inline std::string gzip(const std::string& text) {
  z_stream stream{};
  constexpr int kGzip = 16;
  if (deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2 failed");
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("deflate failed");
  return packed;
}

/// Six training and three test images in the files of MNIST, unpacked.
inline void make_small_mnist(const std::filesystem::path& folder) {
  write_text(folder / "train-images-idx3-ubyte", idx_images(6));
  write_text(folder / "train-labels-idx1-ubyte", idx_labels(6));
  write_text(folder / "t10k-images-idx3-ubyte", idx_images(3, 100));
  write_text(folder / "t10k-labels-idx1-ubyte", idx_labels(3));
}

}  // namespace warpscope::tests
