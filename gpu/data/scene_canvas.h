#pragma once
// What the built-in scenes are drawn with: a small canvas, random numbers, a sine and noise, all on integers,
// so that the bits are the same everywhere. (Shifts of negative numbers are arithmetic since C++20.)
//
// Units: places and lengths are in 1/256 pixel, weights run from 0 to 256, angles from 0 to 1023 for a full
// turn, sines from -16384 to 16384 (kUnit), colours from 0 to 255. Random numbers are drawn one a statement,
// never as arguments of one call: C++ leaves the order of arguments open.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "gpu/core/random.h"

namespace warpscope::data {

inline constexpr int kSceneSide = 32;
inline constexpr int kScenePixels = kSceneSide * kSceneSide;
inline constexpr int kPixel = 256;                      ///< one pixel
inline constexpr int kSceneSize = kSceneSide * kPixel;  ///< the side of the canvas
inline constexpr int kTurn = 1024;                      ///< a full turn
inline constexpr int kUnitBits = 14;
inline constexpr int kUnit = 1 << kUnitBits;  ///< sine of a quarter turn

/// What the drawing draws by lot.
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  std::uint64_t next() { return bits_.next(); }
  /// A number in [low, high].
  int range(int low, int high) {
    const std::uint64_t span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<int>(((next() >> 32) * span) >> 32);
  }
  bool chance(int percent) { return range(0, 99) < percent; }
  int angle() { return range(0, kTurn - 1); }

 private:
  core::SplitMix64 bits_;
};

/// The class of an image of a drawn set: each run of so many images as there are classes is a permutation of them.
int dealt_class(std::uint64_t seed, std::int64_t image, int classes);

/// sin(2 pi angle / 1024) * 16384 for any angle.
int sine(int angle);
inline int cosine(int angle) {
  return sine(angle + kTurn / 4);
}

/// The largest integer whose square is at most n. Exact: a correctly rounded double cannot reach the next
/// integer.
inline int integer_sqrt(int n) {
  return static_cast<int>(std::sqrt(static_cast<double>(n)));
}

/// The distance of (x, y) from the origin; |x|, |y| below 32,768.
inline int length(int x, int y) {
  return integer_sqrt(x * x + y * y);
}

inline int clamp_weight(int weight) {
  return std::clamp(weight, 0, 256);
}

/// How much of a pixel lies inside an edge `distance` from its centre (negative inside): anti-aliasing.
inline int coverage(int distance) {
  return clamp_weight(kPixel / 2 - distance);
}

struct Colour {
  int red = 0;
  int green = 0;
  int blue = 0;
};

inline int mix(int a, int b, int weight) {
  return a + (((b - a) * weight) >> 8);
}
inline Colour mix(Colour a, Colour b, int weight) {
  return {mix(a.red, b.red, weight), mix(a.green, b.green, weight), mix(a.blue, b.blue, weight)};
}
/// The colour `factor` / 256 times as bright, at most white.
inline Colour lit(Colour colour, int factor) {
  const auto scale = [factor](int value) { return std::min((value * factor) >> 8, 255); };
  return {scale(colour.red), scale(colour.green), scale(colour.blue)};
}

/// Hue in [0, 1536) for red, yellow, green, cyan, blue, magenta and back (any integer is taken), saturation
/// and value in [0, 255].
Colour hsv(int hue, int saturation, int value);

/// Colours that go together and stand out from their ground.
struct Palette {
  Colour ground;
  Colour far_ground;             ///< the other end of the ground's gradient
  std::array<Colour, 5> shapes;  ///< neighbours differ
};
Palette make_palette(Random& random);

struct Canvas {
  std::array<Colour, kScenePixels> pixels;

  Colour& at(int x, int y) {
    const int index = y * kSceneSide + x;
    return pixels[static_cast<std::size_t>(index)];
  }
};

/// The centre of pixel column or row `i`.
inline int centre(int i) {
  return i * kPixel + kPixel / 2;
}

/// Calls paint(x, y, pixel) for every pixel; x, y are its centre.
template <class Paint>
void for_canvas(Canvas& canvas, Paint&& paint) {
  for (int row = 0; row < kSceneSide; ++row) {
    for (int column = 0; column < kSceneSide; ++column)
      paint(centre(column), centre(row), canvas.at(column, row));
  }
}

/// Calls paint(dx, dy, pixel) for the pixels of the square of half-width `radius` about (x, y); dx, dy run
/// from there.
template <class Paint>
void for_square(Canvas& canvas, int x, int y, int radius, Paint&& paint) {
  const int left = std::max((x - radius) >> 8, 0);
  const int right = std::min((x + radius) >> 8, kSceneSide - 1);
  const int top = std::max((y - radius) >> 8, 0);
  const int bottom = std::min((y + radius) >> 8, kSceneSide - 1);
  for (int row = top; row <= bottom; ++row) {
    for (int column = left; column <= right; ++column) {
      paint(centre(column) - x, centre(row) - y, canvas.at(column, row));
    }
  }
}

/// Fills the canvas with a gradient from `from` to `to` in the direction `angle`.
void fill_gradient(Canvas& canvas, Colour from, Colour to, int angle);

/// Fills the canvas with the palette's ground: a gradient, often clouded with noise.
void fill_ground(Canvas& canvas, const Palette& palette, Random& random);

/// Smooth noise in [0, 256]: random numbers on a lattice of `cell` pixels (4, 8 or 16), smoothly
/// interpolated, plus `octaves` - 1 lattices of half the cell and half the height each (K. Perlin's value
/// noise). Cells down to 2 pixels.
using NoiseField = std::array<std::int16_t, kScenePixels>;
void fill_noise(NoiseField& field, int cell, int octaves, Random& random);

/// The same in one dimension.
using NoiseLine = std::array<std::int16_t, kSceneSide>;
NoiseLine make_noise_line(int cell, int octaves, Random& random);

}  // namespace warpscope::data
