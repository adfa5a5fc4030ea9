#pragma once
// What ranks tell each other when they connect by TCP, as it lies in memory. Magic, token and version keep their places
// in all versions of the program, so that each can refuse another one.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

inline constexpr std::uint64_t kTcpMagic = 0x7063747372707257;
inline constexpr std::size_t kLongestToken = 128;

/// Connections of two ranks: one for each group, and one that carries nothing once all have met, by which each sees
/// that the other has ended.
inline constexpr int kPresence = Meeting::kGroups;
inline constexpr int kTcpLinks = Meeting::kGroups + 1;

/// Who connects.
struct Hello {
  std::uint64_t magic = kTcpMagic;
  std::array<char, kLongestToken> token{};
  std::array<char, 44> version{};
  std::int32_t rank = 0;
  std::int32_t ranks = 0;  ///< of all, as it was told; 0: it was not
  std::int32_t link = kPresence;
  std::uint16_t port = 0;  ///< where ranks of higher numbers connect to it
  std::array<char, 6> unused{};
};

/// The answer; another one follows from rank 0 when all have come, and then the addresses of all.
struct Welcome {
  std::uint64_t magic = kTcpMagic;
  std::int32_t accepted = 0;
  std::int32_t ranks = 0;
  std::array<char, 496> refusal{};  ///< a sentence
};

/// Where a rank listens.
struct TcpAddress {
  std::array<char, 62> host{};  ///< in numbers, as rank 0 sees it
  std::uint16_t port = 0;
};

static_assert(std::is_trivially_copyable_v<Hello> && sizeof(Hello) == 200);
static_assert(std::is_trivially_copyable_v<Welcome> && sizeof(Welcome) == 512);
static_assert(std::is_trivially_copyable_v<TcpAddress> && sizeof(TcpAddress) == 64);

/// As much of the text as there is room for, and zeros.
template <std::size_t Room>
void fill_in(std::array<char, Room>& to, std::string_view text) {
  to.fill('\0');
  std::copy_n(text.data(), std::min(text.size(), Room - 1), to.data());
}

/// The text up to the first zero, whoever sent it.
template <std::size_t Room>
std::string text_in(const std::array<char, Room>& from) {
  return {from.begin(), std::ranges::find(from, '\0')};
}

/// Takes as long whatever they hold, so that time tells nothing of the token.
inline bool same_token(const std::array<char, kLongestToken>& a, const std::array<char, kLongestToken>& b) {
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < kLongestToken; ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

}  // namespace warpscope::ranks
