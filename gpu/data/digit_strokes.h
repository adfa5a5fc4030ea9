#pragma once
// The strokes of a digit as a pen draws them, on integers, for the built-in digits.

#include <array>
#include <cstddef>

#include "gpu/data/scene_canvas.h"

namespace warpscope::data {

inline constexpr int kDigitSide = 28;
inline constexpr int kDigitPixels = kDigitSide * kDigitSide;

/// A place on the paper. In a drawing x and y run from -100 to 100 between the edges of the digit, y
/// downwards; on the canvas they are in 1/256 pixel.
struct Place {
  int x = 0;
  int y = 0;
};

/// Straight pieces, one after the other: piece i goes from from[i] to to[i].
struct Drawing {
  static constexpr std::size_t kMostPieces = 80;
  std::array<Place, kMostPieces> from;
  std::array<Place, kMostPieces> to;
  std::size_t pieces = 0;
};

/// One digit, 0 to 9, in a random hand: which form it takes, and how far each stroke misses its ideal place.
Drawing draw_digit(int digit, Random& random);

/// How a drawing lies on the canvas.
struct Hand {
  int width;     ///< of half a digit, in 1/256 pixel
  int height;    ///< of half a digit
  int turn;      ///< in 1/1024 of a full turn
  int slant;     ///< x per y, in 1/256
  int bend;      ///< in 1/256 pixel: how far a wave along the other axis shifts each place
  int phase_x;   ///< of the wave that shifts x
  int phase_y;   ///< of the wave that shifts y
  Place middle;  ///< in 1/256 pixel from the middle of the canvas
  explicit Hand(Random& random);
};

/// The drawing on the canvas.
Drawing place(const Drawing& drawing, const Hand& hand);

/// How much ink each pixel holds, 0 to 256.
using Ink = std::array<int, kDigitPixels>;

/// Draws with a round pen of the radius `radius` (1/256 pixel); where pieces cross, the darker one counts.
void draw(const Drawing& drawing, int radius, Ink& ink);

}  // namespace warpscope::data
