#include "gpu/files/checksum.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "gpu/files/file.h"

// All of the library is in its header.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace warpscope::files {

struct Checksum::State {
  XXH3_state_t hash{};
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->hash);
}

Checksum::~Checksum() = default;

void Checksum::add(const void* data, std::size_t bytes) {
  XXH3_128bits_update(&state_->hash, data, bytes);
}

std::string Checksum::text() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(&state_->hash);
  return fmt::format("xxh3:{:016x}{:016x}", digest.high64, digest.low64);
}

std::uint64_t checksum_of(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string checksum_of_file(const std::filesystem::path& file) {
  const InputFile input(file);
  Checksum sum;
  std::vector<std::uint8_t> block(std::size_t{1} << 20);
  for (std::int64_t at = 0; at < input.size();) {
    const std::size_t bytes =
        std::min<std::size_t>(block.size(), static_cast<std::size_t>(input.size() - at));
    input.read(at, {block.data(), bytes});
    sum.add(block.data(), bytes);
    at += static_cast<std::int64_t>(bytes);
  }
  return sum.text();
}

}  // namespace warpscope::files
