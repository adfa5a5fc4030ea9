#include "gpu/files/byte_text.h"

#include <string>

#include <gtest/gtest.h>

namespace warpscope::files::byte_text_test {
namespace {

TEST(ByteText, EveryByteComesBack) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  const std::string text = percent_encoded(bytes);
  EXPECT_TRUE(is_utf8(text));
  EXPECT_EQ(percent_decoded(text), bytes);
  EXPECT_EQ(percent_encoded("/lat\xe9n/d 1%"), "/lat%E9n/d%201%25");
  EXPECT_EQ(percent_decoded("%e9"), "\xe9");
}

TEST(ByteText, APercentSignWithoutDigitsIsNothing) {
  for (const char* const text : {"%", "a%4", "%4g", "%+1", "% 1"})
    EXPECT_FALSE(percent_decoded(text)) << text;
}

TEST(ByteText, TellsUtf8) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("latin \xc3\xa9"));
  EXPECT_FALSE(is_utf8("latin \xe9"));
}

}  // namespace
}  // namespace warpscope::files::byte_text_test
