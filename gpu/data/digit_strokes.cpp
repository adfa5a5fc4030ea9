#include "gpu/data/digit_strokes.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace warpscope::data {
namespace {

constexpr int kMiss = 7;  // how far a stroke may miss its ideal place

/// Draws strokes that miss their places a little. Angles as in scene_canvas.h: 0 is to the right, 256
/// downwards.
class Pen {
 public:
  explicit Pen(Random& random) : random_(random) {}

  void line(Place from, Place to) {
    constexpr int kPieces = 4;  // so that it can bend
    const Place begin = near(from);
    const Place end = near(to);
    const auto at = [&](int i) {
      return Place{begin.x + (end.x - begin.x) * i / kPieces, begin.y + (end.y - begin.y) * i / kPieces};
    };
    for (int i = 0; i < kPieces; ++i) add(at(i), at(i + 1));
  }

  /// Part of an ellipse with the half-axes `size`, from one angle to another.
  void arc(Place middle, Place size, int from, int to) {
    constexpr int kPieceAngle = 64;
    const Place centre = near(middle);
    const Place axes = near(size);
    const int pieces = std::max(1, std::abs(to - from) / kPieceAngle);
    const auto at = [&](int i) {
      const int angle = from + (to - from) * i / pieces;
      return Place{centre.x + axes.x * cosine(angle) / kUnit, centre.y + axes.y * sine(angle) / kUnit};
    };
    for (int i = 0; i < pieces; ++i) add(at(i), at(i + 1));
  }

  const Drawing& drawing() const { return drawing_; }

 private:
  Place near(Place ideal) {
    const int x = random_.range(-kMiss, kMiss);
    const int y = random_.range(-kMiss, kMiss);
    return {ideal.x + x, ideal.y + y};
  }
  void add(Place from, Place to) {
    drawing_.from.at(drawing_.pieces) = from;
    drawing_.to.at(drawing_.pieces) = to;
    ++drawing_.pieces;
  }

  Random& random_;
  Drawing drawing_;
};

void draw_zero(Pen& pen, Random&) {
  pen.arc({0, 0}, {62, 95}, 0, 1024);
}

void draw_one(Pen& pen, Random& random) {
  pen.line({0, -95}, {0, 95});
  const int form = random.range(0, 2);
  if (form >= 1) pen.line({-35, -60}, {0, -95});
  if (form == 2) pen.line({-35, 95}, {35, 95});
}

void draw_two(Pen& pen, Random& random) {
  pen.arc({0, -45}, {55, 50}, 512, 1110);
  pen.line({48, -20}, {-58, 92});
  if (random.chance(30)) {
    pen.arc({-38, 78}, {20, 18}, 300, 1020);
  }
  pen.line({-58, 92}, {60, 92});
}

void draw_three(Pen& pen, Random& random) {
  if (random.chance(25)) {
    pen.line({-50, -92}, {45, -92});
    pen.line({45, -92}, {-8, -8});
  } else {
    pen.arc({-5, -48}, {50, 46}, 600, 1280);
  }
  pen.arc({-5, 45}, {60, 50}, -256, 440);
}

void draw_four(Pen& pen, Random& random) {
  const bool closed = random.chance(50);
  pen.line({closed ? 25 : -35, -95}, {-60, 30});
  pen.line({-60, 30}, {68, 30});
  pen.line({28, closed ? -95 : -45}, {25, 95});
}

void draw_five(Pen& pen, Random& random) {
  if (random.chance(80)) pen.line({52, -92}, {-42, -92});
  pen.line({-42, -92}, {-48, -12});
  pen.arc({-2, 36}, {58, 58}, -380, 400);
}

void draw_six(Pen& pen, Random& random) {
  if (random.chance(30)) {
    pen.line({15, -95}, {-52, 35});
  } else {
    pen.arc({45, 40}, {100, 132}, 512, 768);
  }
  pen.arc({0, 40}, {55, 54}, 0, 1024);
}

void draw_seven(Pen& pen, Random& random) {
  pen.line({-58, -92}, {58, -92});
  pen.line({58, -92}, {random.range(-35, 5), 95});
  if (random.chance(35)) pen.line({-28, 0}, {45, 0});
}

void draw_eight(Pen& pen, Random&) {
  pen.arc({0, -48}, {46, 46}, 0, 1024);
  pen.arc({0, 46}, {58, 50}, 0, 1024);
}

void draw_nine(Pen& pen, Random& random) {
  pen.arc({0, -42}, {54, 52}, 0, 1024);
  if (random.chance(50)) {
    pen.line({54, -42}, {random.range(10, 45), 95});
  } else {
    pen.arc({-45, -40}, {100, 132}, 0, 256);
  }
}

/// The distance of (x, y) from the piece between two places.
int distance(int x, int y, Place from, Place to) {
  const std::int64_t dx = to.x - from.x;
  const std::int64_t dy = to.y - from.y;
  const std::int64_t square = dx * dx + dy * dy;
  const std::int64_t along = (x - from.x) * dx + (y - from.y) * dy;
  const std::int64_t share = square == 0 ? 0 : std::clamp<std::int64_t>(along * 256 / square, 0, 256);
  return length(x - from.x - static_cast<int>(dx * share / 256),
                y - from.y - static_cast<int>(dy * share / 256));
}

}  // namespace

Drawing draw_digit(int digit, Random& random) {
  Pen pen(random);
  static constexpr std::array kDigits{draw_zero, draw_one, draw_two,   draw_three, draw_four,
                                      draw_five, draw_six, draw_seven, draw_eight, draw_nine};
  if (digit < 0 || digit > 9) throw std::logic_error("digits go from 0 to 9");
  kDigits[static_cast<std::size_t>(digit)](pen, random);
  return pen.drawing();
}

Hand::Hand(Random& random) {
  width = random.range(1350, 2500);
  height = random.range(1700, 2700);
  turn = random.range(-50, 50);
  slant = random.range(-45, 115);
  bend = random.range(0, 350);
  phase_x = random.angle();
  phase_y = random.angle();
  middle.x = random.range(-550, 550);
  middle.y = random.range(-450, 450);
}

Drawing place(const Drawing& drawing, const Hand& hand) {
  constexpr int kMiddle = kDigitSide * kPixel / 2;
  const auto placed = [&](Place p) {
    const int bent_x = p.x * hand.width / 100 + hand.bend * sine(2 * p.y + hand.phase_x) / kUnit;
    const int y = p.y * hand.height / 100 + hand.bend * sine(2 * p.x + hand.phase_y) / kUnit;
    const int x = bent_x - y * hand.slant / 256;
    const int turned_x = (x * cosine(hand.turn) - y * sine(hand.turn)) / kUnit;
    const int turned_y = (x * sine(hand.turn) + y * cosine(hand.turn)) / kUnit;
    return Place{kMiddle + hand.middle.x + turned_x, kMiddle + hand.middle.y + turned_y};
  };
  Drawing result;
  result.pieces = drawing.pieces;
  for (std::size_t i = 0; i < drawing.pieces; ++i) {
    result.from[i] = placed(drawing.from[i]);
    result.to[i] = placed(drawing.to[i]);
  }
  return result;
}

void draw(const Drawing& drawing, int radius, Ink& ink) {
  const int reach = radius + kPixel / 2;
  for (std::size_t i = 0; i < drawing.pieces; ++i) {
    const Place from = drawing.from[i];
    const Place to = drawing.to[i];
    const int left = std::max((std::min(from.x, to.x) - reach) >> 8, 0);
    const int right = std::min((std::max(from.x, to.x) + reach) >> 8, kDigitSide - 1);
    const int top = std::max((std::min(from.y, to.y) - reach) >> 8, 0);
    const int bottom = std::min((std::max(from.y, to.y) + reach) >> 8, kDigitSide - 1);
    for (int row = top; row <= bottom; ++row) {
      for (int column = left; column <= right; ++column) {
        int& pixel = ink[static_cast<std::size_t>(row * kDigitSide + column)];
        pixel = std::max(pixel, coverage(distance(centre(column), centre(row), from, to) - radius));
      }
    }
  }
}

}  // namespace warpscope::data
