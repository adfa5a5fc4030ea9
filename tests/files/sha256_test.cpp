#include "gpu/files/sha256.h"

#include <string>

#include <gtest/gtest.h>

namespace warpscope::files::sha256_test {
namespace {

std::string sum_of(const std::string& text, std::size_t piece) {
  Sha256 sum;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    const std::string part = text.substr(at, piece);
    sum.update(part.data(), part.size());
  }
  return sum.finish();
}

// The examples of FIPS 180-4 (NIST, "SHA256.pdf") and of nothing at all.
TEST(Sha256, GivesThePublishedExamples) {
  EXPECT_EQ(sum_of("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum_of("abc", 1), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  for (const std::size_t piece : {1U, 7U, 56U}) {
    EXPECT_EQ(sum_of(two_blocks, piece), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  }
}

}  // namespace
}  // namespace warpscope::files::sha256_test
