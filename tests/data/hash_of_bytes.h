#pragma once
// What tells whether drawn images are still the same.

#include <cstdint>
#include <span>

namespace warpscope::tests {

/// FNV-1a, 64 bits.
inline std::uint64_t hash_of_bytes(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const std::uint8_t byte : bytes) value = (value ^ byte) * 0x100000001b3ULL;
  return value;
}

}  // namespace warpscope::tests
