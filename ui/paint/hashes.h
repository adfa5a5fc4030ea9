#pragma once
// Hashes of what is drawn, by which the painter tells what has changed since the last picture.

#include <bit>
#include <cstdint>

#include "gpu/core/random.h"
#include "ui/paint/scene.h"

namespace warpscope::ui::paint {

/// Hash of everything that the pixels of a triangle depend on. Two triangles that differ have the same hash
/// with a probability of 2^-64.
inline std::uint64_t triangle_hash(const Scene& scene, const std::uint32_t* index, const Command& command,
                                   const Bounds& bounds) {
  using core::kGoldenGamma, core::mix_bits;
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const auto pair = [](std::uint32_t low, std::uint32_t high) {
    return low | static_cast<std::uint64_t>(high) << 32;
  };
  const auto side = [](std::int16_t low, std::int16_t high) {
    return static_cast<std::uint32_t>(static_cast<std::uint16_t>(low)) |
           static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16;
  };
  // Words are mixed independently and then added: in a chain each would wait for the one before.
  std::uint64_t hash =
      mix_bits(scene.textures[command.texture].version + 1) +
      mix_bits(pair(side(bounds.left, bounds.top), side(bounds.right, bounds.bottom)) + kGoldenGamma);
  std::uint64_t place = 2 * kGoldenGamma;  // so that equal words in different places differ
  for (int i = 0; i < 3; ++i, place += 3 * kGoldenGamma) {
    const Vertex& v = scene.vertices[index[i]];
    hash += mix_bits(pair(bits(v.x), bits(v.y)) + place) +
            mix_bits(pair(bits(v.u), bits(v.v)) + place + kGoldenGamma) +
            mix_bits(v.colour + place + 2 * kGoldenGamma);
  }
  return hash;
}

/// What a triangle adds to the sum of its tile if it is the `order`-th one drawn there.
inline std::uint64_t ordered_hash(std::uint64_t triangle, int order) {
  return core::mix_bits(triangle + static_cast<std::uint64_t>(order) * core::kGoldenGamma);
}

/// Hash of a tile with this sum over this background; never 0.
inline std::uint64_t tile_hash(std::uint64_t sum, std::uint32_t background) {
  return core::mix_bits(sum + core::mix_bits(background)) | 1;
}

}  // namespace warpscope::ui::paint
