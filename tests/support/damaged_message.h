#pragma once
// Messages whose bytes are not as they were sent.

#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/random_message.h"

namespace warpscope::tests {

/// Reading throws nothing but a sentence; true if it throws.
inline bool is_refused(const auto& read) {
  try {
    read();
    return false;
  } catch (const core::BadInput& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("a message from the other process is damaged: ") ||
                text.starts_with("the other process is another version of warpscope"))
        << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return true;
  }
}

/// Reads random messages with random changes, as if the checksum were right: what is read then may be wrong, but is
/// whole.
template <class T>
void read_damaged() {
  std::mt19937 bits(3);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const std::string body =
        training::MessageWriter().write(RandomMessage(seed).make<T>()).substr(training::MessageHead::kBytes);
    const auto read = [](const std::string& text) {
      return is_refused([&] { training::MessageReader().read_body<T>(text); });
    };
    for (int change = 0; change < 60; ++change) {
      std::string other = body;
      other[bits() % other.size()] = static_cast<char>(bits());
      read(other);
      std::string huge = body;  // a count, as it may stand anywhere
      const std::uint64_t count =
          bits() % 2 == 0 ? ~std::uint64_t{0} : std::uint64_t{1} << (20 + bits() % 40);
      if (huge.size() >= 8) std::memcpy(huge.data() + bits() % (huge.size() - 7), &count, 8);
      read(huge);
      EXPECT_TRUE(read(body.substr(0, bits() % body.size()))) << "cut off";
    }
  }
}

/// Why the reader refuses what `spoil` makes of a random message that it takes.
template <class T, class Spoil>
std::string refusal_of(const Spoil& spoil) {
  auto sent = RandomMessage(5).make<T>();
  const auto read = [&] { training::MessageReader().read<T>(training::MessageWriter().write(sent)); };
  EXPECT_NO_THROW(read());
  spoil(sent);
  return message_of<core::BadInput>(read);
}

}  // namespace warpscope::tests
