#pragma once
// By which the painter tells what changed since the picture before.

#include <bit>
#include <cstdint>

#include "ui/paint/scene.h"

namespace warpscope::ui::paint {

/// A bijection whose result depends in each bit on each bit of `x`: the finaliser of SplitMix64. Source: G.
/// Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators" (2014), with D. Stafford's
/// constants.
inline std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;  ///< 2^64 over it

/// Of all that the pixels of a triangle depend on: two that differ share it by chance, once in 2^64.
inline std::uint64_t triangle_hash(const Scene& scene, const std::uint32_t* index, const Command& command,
                                   const Bounds& bounds) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const auto pair = [](std::uint32_t low, std::uint32_t high) {
    return low | static_cast<std::uint64_t>(high) << 32;
  };
  const auto side = [](std::int16_t low, std::int16_t high) {
    return static_cast<std::uint32_t>(static_cast<std::uint16_t>(low)) |
           static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16;
  };
  // A sum of words that are mixed one by one: a chain of them would make each wait for the one before.
  std::uint64_t hash =
      mix_bits(scene.textures[command.texture].version + 1) +
      mix_bits(pair(side(bounds.left, bounds.top), side(bounds.right, bounds.bottom)) + kGoldenRatio);
  std::uint64_t place = 2 * kGoldenRatio;  // tells equal words of different places from one another
  for (int i = 0; i < 3; ++i, place += 3 * kGoldenRatio) {
    const Vertex& v = scene.vertices[index[i]];
    hash += mix_bits(pair(bits(v.x), bits(v.y)) + place) +
            mix_bits(pair(bits(v.u), bits(v.v)) + place + kGoldenRatio) +
            mix_bits(v.colour + place + 2 * kGoldenRatio);
  }
  return hash;
}

/// What the triangle that is drawn as the `order`-th of a tile adds to the tile's sum.
inline std::uint64_t ordered_hash(std::uint64_t triangle, int order) {
  return mix_bits(triangle + static_cast<std::uint64_t>(order) * kGoldenRatio);
}

/// Of a tile with that sum over that background; never 0.
inline std::uint64_t tile_hash(std::uint64_t sum, std::uint32_t background) {
  return mix_bits(sum + mix_bits(background)) | 1;
}

}  // namespace warpscope::ui::paint
