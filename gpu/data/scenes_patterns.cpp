// Scenes that are patterns: stripes, checkers, plasma, bricks.
#include <array>

#include "gpu/data/scenes.h"

namespace warpscope::data {
namespace {

/// Position in 1/256 pixel in axes turned by an angle about the middle of the canvas.
struct Turned {
  explicit Turned(int angle) : across(cosine(angle)), down(sine(angle)) {}
  int u(int x, int y) const {
    return ((x - kSceneSize / 2) * across + (y - kSceneSize / 2) * down) >> kUnitBits;
  }
  int v(int x, int y) const {
    return ((y - kSceneSize / 2) * across - (x - kSceneSize / 2) * down) >> kUnitBits;
  }
  int across;
  int down;
};

/// How far `at` is inside [0, half) of a wave of period 2 half; negative outside.
int inside_wave(int at, int half) {
  const int period = 2 * half;
  int phase = at % period;
  if (phase < 0) phase += period;
  return phase < half ? std::min(phase, half - phase) : -std::min(phase - half, period - phase);
}

/// The square wave as a weight, with edges one pixel wide: 256 on [0, half), 0 on [half, 2 half).
int square_wave(int at, int half) {
  return coverage(-inside_wave(at, half));
}

/// 256 where two square waves agree.
int agreement(int a, int b) {
  return (a * b + (256 - a) * (256 - b)) >> 8;
}

/// A board on the ground under a camera that looks ahead: a point `below` the horizon is height * focal /
/// below away.
void paint_floor(Canvas& canvas, const Palette& palette, Random& random) {
  constexpr int kFocal = kSceneSize;
  const int horizon = random.range(-16, 8) * kPixel;
  const int height = random.range(1800, 4000);
  const int half = random.range(700, 1600);
  const int shift_x = random.range(0, 2 * half);
  const int shift_y = random.range(0, 2 * half);
  const Turned turned(random.angle());
  for_canvas(canvas, [&](int x, int y, Colour& pixel) {
    const int below = y - horizon;
    if (below < 2 * kPixel + kPixel / 2) return;
    const int away = height * kFocal / below;
    const int aside = (x - kSceneSize / 2) * away / kFocal;
    const int u = (aside * turned.across + away * turned.down) >> kUnitBits;
    const int v = (away * turned.across - aside * turned.down) >> kUnitBits;
    const int sharp = 256 * kFocal / away;
    const int across = clamp_weight(128 + (inside_wave(u + shift_x, half) * sharp >> 8));
    const int down = clamp_weight(128 + (inside_wave(v + shift_y, half) * sharp >> 8));
    // Far squares are smaller than pixels: they fade into their mean.
    const int clear = clamp_weight((below - 2 * kPixel) / 4);
    const int which = mix(128, agreement(across, down), clear);
    pixel = mix(pixel, mix(palette.shapes[0], palette.shapes[1], which), clear);
  });
}

/// A colour for each phase of a wave: every channel is a cosine of its own phase and depth.
struct WaveColours {
  std::array<int, 3> level;
  std::array<int, 3> depth;
  std::array<int, 3> phase;
  std::array<int, 3> speed;

  explicit WaveColours(Random& random) {
    for (std::size_t i = 0; i < 3; ++i) {
      level[i] = random.range(95, 160);
      depth[i] = random.range(40, 94);
      phase[i] = random.angle();
      speed[i] = random.range(200, 420);
    }
  }
  int channel(std::size_t i, int at) const {
    return level[i] + (cosine((at * speed[i] >> 8) + phase[i]) * depth[i] >> kUnitBits);
  }
  Colour operator()(int at) const { return {channel(0, at), channel(1, at), channel(2, at)}; }
};

}  // namespace

void paint_stripes(Canvas& canvas, Random& random) {
  const Palette palette = make_palette(random);
  const int angle = random.angle();
  const Turned turned(angle);
  const int half = random.range(380, 1500);
  const int shift = random.range(0, 2 * half);
  const bool wavy = random.chance(35);
  const int depth = wavy ? random.range(150, 900) : 0;
  const int frequency = random.range(10, 36);
  const int phase = random.angle();
  const bool third = random.chance(40);
  const int pin_half = half / 3;
  fill_gradient(canvas, palette.ground, palette.far_ground, random.angle());
  Canvas front;
  fill_gradient(front, palette.shapes[0], palette.shapes[1], random.angle());
  for_canvas(canvas, [&](int x, int y, Colour& pixel) {
    const int along = turned.v(x, y);
    const int at = turned.u(x, y) + shift + sine(along * frequency / 256 + phase) * depth / kUnit;
    const Colour stripe = front.at(x / kPixel, y / kPixel);
    pixel = mix(pixel, stripe, square_wave(at, half));
    if (third)
      pixel =
          mix(pixel, palette.shapes[2], square_wave(at, half) * square_wave(at - pin_half, half / 2) >> 8);
  });
}

void paint_checkers(Canvas& canvas, Random& random) {
  const Palette palette = make_palette(random);
  fill_gradient(canvas, palette.ground, palette.far_ground, random.angle());
  if (random.chance(40)) {
    paint_floor(canvas, palette, random);
    return;
  }
  const Turned turned(random.angle());
  const int half_u = random.range(600, 2000);
  const int half_v = random.chance(50) ? half_u : random.range(600, 2000);
  const int shift_u = random.range(0, 2 * half_u);
  const int shift_v = random.range(0, 2 * half_v);
  const bool two = random.chance(50);
  for_canvas(canvas, [&](int x, int y, Colour& pixel) {
    const int across = square_wave(turned.u(x, y) + shift_u, half_u);
    const int down = square_wave(turned.v(x, y) + shift_v, half_v);
    const Colour square = two ? mix(palette.shapes[0], palette.shapes[1], across) : palette.shapes[0];
    pixel = mix(pixel, square, agreement(across, down));
  });
}

void paint_plasma(Canvas& canvas, Random& random) {
  const WaveColours colours(random);
  struct Wave {
    int across;
    int down;
    int phase;
  };
  std::array<Wave, 3> waves;
  for (Wave& wave : waves) {
    wave.across = random.range(-52, 52);
    wave.down = random.range(-52, 52);
    wave.phase = random.angle();
  }
  const int x = random.range(-8, 40) * kPixel;
  const int y = random.range(-8, 40) * kPixel;
  const int ripple = random.range(10, 48);
  for_canvas(canvas, [&](int px, int py, Colour& pixel) {
    int sum = sine(length(px - x, py - y) * ripple / 256);
    for (const Wave& wave : waves) sum += sine((px * wave.across + py * wave.down) / kPixel + wave.phase);
    pixel = colours(sum / 64);
  });
}

void paint_bricks(Canvas& canvas, Random& random) {
  const Palette palette = make_palette(random);
  // Mostly the colours of clay and stone.
  const bool clay = random.chance(65);
  const int hue = random.range(0, 140);
  const int saturation = random.range(60, 190);
  const int value = random.range(110, 215);
  const Colour brick = clay ? hsv(hue, saturation, value) : palette.shapes[0];
  const int grey = random.chance(60) ? random.range(150, 230) : random.range(30, 80);
  const Colour mortar = mix(palette.ground, {grey, grey, grey}, 200);
  const Turned turned(random.chance(50) ? random.range(-70, 70) : random.range(-8, 8));
  const int width = random.range(1500, 3600);
  const int height = width * random.range(80, 140) / 256;
  const int joint = random.range(70, 210);
  const int bevel = random.range(0, 90);
  const int shift_x = random.range(0, width);
  const int shift_y = random.range(0, height);
  const int offset = random.chance(75) ? width / 2 : width / 3;
  const int spread = random.range(10, 110);
  const std::uint64_t seed = random.next();
  for_canvas(canvas, [&](int x, int y, Colour& pixel) {
    // Shifted by whole periods, so that no coordinate is negative.
    const int v = turned.v(x, y) + shift_y + 16 * height;
    const int row = v / height;
    const int u = turned.u(x, y) + shift_x + row % 3 * offset + 8 * width;
    const int column = u / width;
    const int in_row = v - row * height;
    const int in_brick = u - column * width;
    const int inside =
        std::min(std::min(in_row, height - in_row), std::min(in_brick, width - in_brick)) - joint;
    const auto draw =
        static_cast<int>(core::mix_bits(seed + static_cast<std::uint64_t>(row * 64 + column)) & 255) - 128;
    const int tilt = (in_row * 2 - height) * bevel / height;
    const Colour face = lit(brick, 256 + draw * spread / 128 - tilt);
    pixel = mix(mortar, face, clamp_weight(128 + inside));
  });
  NoiseField grain;
  fill_noise(grain, 4, 2, random);
  const int depth = random.range(10, 70);
  for (std::size_t i = 0; i < grain.size(); ++i) {
    canvas.pixels[i] = lit(canvas.pixels[i], 256 + (((grain[i] - 128) * depth) >> 7));
  }
}

}  // namespace warpscope::data
