#pragma once
// Numbers in the bytes of files.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace warpscope::files {

/// The number in `size` bytes from `at`; 0 where `bytes` end before.
inline std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size, bool big_endian) {
  if (at > bytes.size() || bytes.size() - at < size) return 0;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[big_endian ? at + i : at + size - 1 - i]);
  }
  return value;
}

}  // namespace warpscope::files
