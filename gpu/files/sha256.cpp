#include "gpu/files/sha256.h"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "gpu/core/error.h"

namespace warpscope::files {
namespace {

void check(int result) {
  if (result != 1) throw core::Error("cannot compute SHA-256 checksums: this OpenSSL does not allow them");
}

}  // namespace

void Sha256::Free::operator()(EVP_MD_CTX* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  check(context_ ? EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) : 0);
}

void Sha256::update(const void* data, std::size_t bytes) {
  check(EVP_DigestUpdate(context_.get(), data, bytes));
}

std::string Sha256::finish() {
  std::array<unsigned char, kDigits / 2> digest{};
  check(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr));
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace warpscope::files
