#pragma once
// SHA-256 checksums. Source: FIPS 180-4, "Secure hash standard" (2015); computed by OpenSSL.

#include <cstddef>
#include <memory>
#include <string>

#include <openssl/types.h>

namespace warpscope::files {

/// The checksum of bytes that come piece by piece.
class Sha256 {
 public:
  static constexpr std::size_t kDigits = 64;

  /// Throws core::Error if OpenSSL cannot compute it.
  Sha256();
  void update(const void* data, std::size_t bytes);
  /// 64 lower-case hexadecimal digits. Nothing may be added afterwards.
  std::string finish();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const;
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace warpscope::files
