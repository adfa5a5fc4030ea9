#include "gpu/data/scene_canvas.h"

#include <numeric>
#include <utility>
#include <vector>

namespace warpscope::data {
namespace {

/// sin(pi/2 t) for t in [0, 1], both in units of 16384: the polynomial t (a - t^2 (b - c t^2)) that is 1/2 at
/// t = 1/3, 1 at t = 1 and level there.
constexpr int quarter_sine(int t) {
  constexpr std::int64_t a = 25'728;
  constexpr std::int64_t b = 10'496;
  constexpr std::int64_t c = 1'152;
  const std::int64_t square = std::int64_t{t} * t / kUnit;
  return static_cast<int>(t * (a - square * (b - c * square / kUnit) / kUnit) / kUnit);
}

constexpr std::array<std::int16_t, kTurn> make_sines() {
  std::array<std::int16_t, kTurn> sines{};
  constexpr int quarter = kTurn / 4;
  for (int i = 0; i < kTurn; ++i) {
    const int within = i % quarter;
    const int rising = (i / quarter) % 2 == 0 ? within : quarter - within;
    const int value = quarter_sine(rising * (kUnit / quarter));
    sines[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(i < kTurn / 2 ? value : -value);
  }
  return sines;
}

constexpr std::array<std::int16_t, kTurn> kSines = make_sines();

/// 3 t^2 - 2 t^3 for t in [0, 256].
constexpr int smooth_step(int t) {
  return (t * t * (768 - 2 * t)) >> 16;
}

constexpr int kMostPoints = kSceneSide / 2 + 2;

/// Where a pixel lies in a lattice: after which point, and how far towards the next.
struct Between {
  std::array<std::uint8_t, kSceneSide> point;
  std::array<std::int16_t, kSceneSide> weight;

  Between(int cell, int shift) {
    for (int i = 0; i < kSceneSide; ++i) {
      point[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>((i + shift) / cell);
      weight[static_cast<std::size_t>(i)] =
          static_cast<std::int16_t>(smooth_step((i + shift) % cell * 256 / cell));
    }
  }
};

using LatticeRow = std::array<int, kMostPoints>;

LatticeRow random_row(int points, Random& random) {
  LatticeRow row{};
  std::uint64_t bits = 0;
  for (int i = 0; i < points; ++i) {
    if (i % 8 == 0) bits = random.next();
    row[static_cast<std::size_t>(i)] = static_cast<int>(bits & 255);
    bits >>= 8;
  }
  return row;
}

/// Adds a lattice row, smoothly interpolated, to one row of pixels.
void add_row(std::int16_t* values, const LatticeRow& row, const Between& across, int weight) {
  for (std::size_t x = 0; x < kSceneSide; ++x) {
    const std::size_t point = across.point[x];
    values[x] = static_cast<std::int16_t>(
        values[x] + ((mix(row[point], row[point + 1], across.weight[x]) * weight) >> 8));
  }
}

void add_octave(NoiseField& field, int cell, int weight, Random& random) {
  const int points = kSceneSide / cell + 2;
  std::array<LatticeRow, kMostPoints> lattice;
  for (int i = 0; i < points; ++i) lattice[static_cast<std::size_t>(i)] = random_row(points, random);
  const int shift_x = random.range(0, cell - 1);
  const int shift_y = random.range(0, cell - 1);
  const Between across(cell, shift_x);
  const Between down(cell, shift_y);
  for (std::size_t y = 0; y < kSceneSide; ++y) {
    const LatticeRow& above = lattice[down.point[y]];
    const LatticeRow& below = lattice[down.point[y] + 1U];
    LatticeRow row;
    for (std::size_t i = 0; i < static_cast<std::size_t>(points); ++i)
      row[i] = mix(above[i], below[i], down.weight[y]);
    add_row(field.data() + y * kSceneSide, row, across, weight);
  }
}

/// The weight of the first of `octaves` octaves, so that 1, 1/2, 1/4 ... add up to 256.
int first_weight(int octaves) {
  return 256 * (1 << (octaves - 1)) / ((1 << octaves) - 1);
}

}  // namespace

int dealt_class(std::uint64_t seed, std::int64_t image, int classes) {
  Random random(core::mix_bits(seed - static_cast<std::uint64_t>(image / classes) - 1));
  std::vector<int> order(static_cast<std::size_t>(classes));
  std::iota(order.begin(), order.end(), 0);
  for (int i = classes - 1; i > 0; --i) std::swap(order[i], order[random.range(0, i)]);
  return order[image % classes];
}

int sine(int angle) {
  return kSines[static_cast<std::size_t>(angle & (kTurn - 1))];
}

Colour hsv(int hue, int saturation, int value) {
  hue = ((hue % 1536) + 1536) % 1536;
  const int within = hue & 255;
  const int low = value * (255 - saturation) / 255;
  const int rising = low + ((value - low) * within >> 8);
  const int falling = value - ((value - low) * within >> 8);
  const std::array<Colour, 6> sixths{Colour{value, rising, low}, Colour{falling, value, low},
                                     Colour{low, value, rising}, Colour{low, falling, value},
                                     Colour{rising, low, value}, Colour{value, low, falling}};
  return sixths[static_cast<std::size_t>(hue >> 8)];
}

Palette make_palette(Random& random) {
  const int hue = random.range(0, 1535);
  // Ground and shapes: opposite, a third apart, near, or anywhere.
  constexpr std::array kSteps{768, 512, 200, 640};
  const int step = kSteps[static_cast<std::size_t>(random.range(0, 3))];
  const bool dark = random.chance(50);
  const int ground_saturation = random.range(30, dark ? 200 : 130);
  const int ground_value = dark ? random.range(25, 95) : random.range(165, 240);
  Palette palette;
  palette.ground = hsv(hue, ground_saturation, ground_value);
  const int turned = hue + random.range(-180, 180);
  const int far_value = std::clamp(ground_value + random.range(-45, 45), 15, 250);
  palette.far_ground = hsv(turned, ground_saturation, far_value);
  int shape_hue = hue + step;
  for (Colour& shape : palette.shapes) {
    const int saturation = random.range(110, 240);
    const int value = dark ? random.range(170, 255) : random.range(70, 200);
    shape = hsv(shape_hue, saturation, value);
    shape_hue += random.range(130, 420);
  }
  return palette;
}

void fill_gradient(Canvas& canvas, Colour from, Colour to, int angle) {
  const int across = cosine(angle);
  const int down = sine(angle);
  for_canvas(canvas, [&](int x, int y, Colour& pixel) {
    const int along = ((x - kSceneSize / 2) * across + (y - kSceneSize / 2) * down) >> kUnitBits;
    pixel = mix(from, to, clamp_weight(128 + along * 13 / 512));
  });
}

void fill_ground(Canvas& canvas, const Palette& palette, Random& random) {
  fill_gradient(canvas, palette.ground, palette.far_ground, random.angle());
  if (!random.chance(45)) return;
  NoiseField noise;
  fill_noise(noise, random.chance(50) ? 16 : 8, 3, random);
  const int depth = random.range(40, 150);
  for (std::size_t i = 0; i < noise.size(); ++i) {
    canvas.pixels[i] = lit(canvas.pixels[i], 256 + (((noise[i] - 128) * depth) >> 7));
  }
}

void fill_noise(NoiseField& field, int cell, int octaves, Random& random) {
  field.fill(0);
  int weight = first_weight(octaves);
  for (int octave = 0; octave < octaves && cell >= 2; ++octave) {
    add_octave(field, cell, weight, random);
    cell /= 2;
    weight /= 2;
  }
}

NoiseLine make_noise_line(int cell, int octaves, Random& random) {
  NoiseLine line{};
  int weight = first_weight(octaves);
  for (int octave = 0; octave < octaves && cell >= 2; ++octave) {
    const LatticeRow row = random_row(kSceneSide / cell + 2, random);
    const int shift = random.range(0, cell - 1);
    add_row(line.data(), row, Between(cell, shift), weight);
    cell /= 2;
    weight /= 2;
  }
  return line;
}

}  // namespace warpscope::data
