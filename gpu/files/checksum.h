#pragma once
// A checksum that tells contents apart that differ by accident, many times as fast as SHA-256; who wants to can make
// two contents that have the same.
// Source: Y. Collet, XXH3 (https://github.com/Cyan4973/xxHash), of 128 bits.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace warpscope::files {

/// The checksum of bytes that come piece by piece; where one ends does not matter.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(const void* data, std::size_t bytes);
  /// "xxh3:" and 32 lower-case hexadecimal digits, of all that was added.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// XXH3 of 64 bits.
std::uint64_t checksum_of(std::string_view bytes);

/// For all of a file. Throws core::BadInput that names it if it cannot be read.
std::string checksum_of_file(const std::filesystem::path& file);

}  // namespace warpscope::files
