// Scenes of the open air: stars and landscapes.
#include <array>

#include "gpu/data/scenes.h"

namespace warpscope::data {
namespace {

void add_light(Colour& pixel, Colour light, int weight) {
  pixel.red = std::min(pixel.red + (light.red * weight >> 8), 255);
  pixel.green = std::min(pixel.green + (light.green * weight >> 8), 255);
  pixel.blue = std::min(pixel.blue + (light.blue * weight >> 8), 255);
}

/// A star: a soft spot, and a cross of rays if `rays` is above 0.
void add_star(Canvas& canvas, int x, int y, int radius, int rays, Colour colour, int brightness) {
  for_square(canvas, x, y, std::max(radius, rays), [&](int dx, int dy, Colour& pixel) {
    const int near = std::max(256 - (dx * dx + dy * dy) / (radius * radius / 256), 0);
    int weight = near * near >> 8;
    if (rays > 0) {
      const int thin = std::min(std::abs(dx), std::abs(dy));
      const int along = std::max(std::abs(dx), std::abs(dy));
      weight += clamp_weight(256 - thin) * std::max(rays - along, 0) / rays / 2;
    }
    add_light(pixel, colour, std::min(weight, 256) * brightness >> 8);
  });
}

void add_nebula(Canvas& canvas, int hue, Random& random) {
  NoiseField gas;
  NoiseField tint;
  fill_noise(gas, 16, 4, random);
  fill_noise(tint, 16, 1, random);
  const Colour warm = hsv(hue, random.range(120, 220), 255);
  const Colour cold = hsv(hue + random.range(200, 700), 200, 255);
  const int depth = random.range(80, 300);
  const int threshold = random.range(70, 130);
  for (std::size_t i = 0; i < gas.size(); ++i) {
    const int dense = std::max(gas[i] - threshold, 0);
    add_light(canvas.pixels[i], mix(warm, cold, tint[i]), dense * depth / 160);
  }
}

/// A planet lit from one side: a disc less a shifted disc.
void add_planet(Canvas& canvas, Random& random) {
  const int radius = random.range(700, 2000);
  const int x = random.range(5, 27) * kPixel;
  const int y = random.range(5, 27) * kPixel;
  const int angle = random.angle();
  const int hue = random.range(0, 1535);
  const Colour colour = hsv(hue, random.range(0, 140), 235);
  const int lx = cosine(angle) / 64;
  const int ly = sine(angle) / 64;
  for_square(canvas, x, y, radius + kPixel, [&](int dx, int dy, Colour& pixel) {
    const int weight = coverage(length(dx, dy) - radius);
    const int towards = (dx * lx + dy * ly) / radius;
    pixel = mix(pixel, lit(colour, std::clamp(90 + towards, 8, 256)), weight);
  });
}

struct Sky {
  Colour zenith;
  Colour horizon;
  Colour sun;
  Colour land;
};

Sky make_sky(Random& random) {
  // Day, dawn, dusk, night.
  constexpr std::array<Sky, 4> kSkies{{
      {{50, 125, 225}, {200, 230, 250}, {255, 250, 215}, {60, 125, 40}},
      {{95, 125, 205}, {255, 200, 150}, {255, 240, 195}, {95, 90, 70}},
      {{85, 45, 125}, {255, 130, 50}, {255, 225, 120}, {60, 35, 55}},
      {{12, 20, 60}, {75, 95, 160}, {240, 243, 250}, {18, 34, 44}},
  }};
  const auto& base = kSkies[static_cast<std::size_t>(random.range(0, 3))];
  const Palette palette = make_palette(random);
  const int strange = random.range(0, 70);
  return {mix(base.zenith, palette.far_ground, strange), mix(base.horizon, palette.ground, strange), base.sun,
          mix(base.land, palette.shapes[0], random.range(0, 110))};
}

/// A ridge line: its height at each column, in 1/256 pixel, from three octaves of noise.
std::array<int, kSceneSide> make_ridge(int base, int depth, Random& random) {
  const NoiseLine noise = make_noise_line(random.chance(60) ? 16 : 8, 3, random);
  std::array<int, kSceneSide> ridge;
  for (std::size_t x = 0; x < ridge.size(); ++x) ridge[x] = base - noise[x] * depth / 256;
  return ridge;
}

void paint_ridges(Canvas& canvas, const Sky& sky, int horizon, Random& random) {
  const int ridges = random.range(1, 3);
  for (int i = 0; i < ridges; ++i) {
    const int depth = random.range(6, 20) * kPixel * (ridges - i + 1) / (ridges + 1);
    const auto ridge = make_ridge(horizon + i * 2 * kPixel, depth, random);
    const Colour hazy = mix(sky.horizon, sky.land, 256 * (i + 1) / (ridges + 1));
    for_canvas(canvas, [&](int x, int y, Colour& pixel) {
      const int from_ridge = ridge[static_cast<std::size_t>(x / kPixel)] - y;
      if (from_ridge > kPixel || y > horizon + kPixel) return;
      pixel = mix(pixel, lit(hazy, 256 + from_ridge / 48), coverage(from_ridge));
    });
  }
}

void paint_ground(Canvas& canvas, const Sky& sky, int horizon, Random& random) {
  NoiseField grass;
  fill_noise(grass, 4, 2, random);
  const int depth = random.range(20, 110);
  for_canvas(canvas, [&](int x, int y, Colour& pixel) {
    if (y < horizon) return;
    const auto i = static_cast<std::size_t>(y / kPixel * kSceneSide + x / kPixel);
    const int near = clamp_weight((y - horizon) / 12);
    const Colour earth = mix(mix(sky.horizon, sky.land, 150), sky.land, near);
    pixel = lit(earth, 256 + ((grass[i] - 128) * depth >> 7));
  });
}

/// Water mirrors what is above the horizon, darker and broken by waves.
void paint_water(Canvas& canvas, const Sky& sky, int horizon, Random& random) {
  const int depth = random.range(100, 700);
  const int frequency = random.range(60, 150);
  const int phase = random.angle();
  for_canvas(canvas, [&](int x, int y, Colour& pixel) {
    if (y < horizon) return;
    const int wave = sine(y * frequency / 256 + phase) * depth / kUnit;
    const int from = std::clamp((x + wave) / kPixel, 0, kSceneSide - 1);
    const int row = std::clamp((2 * horizon - y) / kPixel, 0, kSceneSide - 1);
    const Colour mirrored = canvas.at(from, row);
    pixel = lit(mix(mirrored, sky.zenith, 70), 215 + wave * 40 / depth);
  });
}

}  // namespace

void paint_stars(Canvas& canvas, Random& random) {
  const int hue = random.range(700, 1300);
  const int dark = random.range(8, 45);
  const int turn = random.range(-250, 250);
  const Colour above = hsv(hue, random.range(120, 230), dark);
  const Colour below = hsv(hue + turn, 190, random.range(20, 85));
  fill_gradient(canvas, above, below, random.angle());
  add_nebula(canvas, hue, random);
  const int count = random.range(14, 70);
  for (int i = 0; i < count; ++i) {
    const int x = random.range(0, kSceneSize - 1);
    const int y = random.range(0, kSceneSize - 1);
    const bool bright = i < 4 && random.chance(60);
    const int radius = bright ? random.range(350, 620) : random.range(180, 300);
    const int rays = bright && random.chance(60) ? random.range(700, 1600) : 0;
    const int warmth = random.range(150, 255);
    const int brightness = bright ? 256 : random.range(60, 240);
    add_star(canvas, x, y, radius, rays, {warmth, 225, 405 - warmth}, brightness);
  }
  if (random.chance(30)) add_planet(canvas, random);
}

void paint_landscape(Canvas& canvas, Random& random) {
  const Sky sky = make_sky(random);
  const int horizon = random.range(13, 25) * kPixel;
  for_canvas(canvas, [&](int, int y, Colour& pixel) {
    pixel = mix(sky.zenith, sky.horizon, clamp_weight(y * 256 / horizon));
  });
  const int x = random.range(3, 29) * kPixel;
  const int y = horizon - random.range(0, 12) * kPixel;
  const int radius = random.range(450, 1300);
  const int halo = random.range(2500, 6500);
  for_canvas(canvas, [&](int px, int py, Colour& pixel) {
    const int distance = length(px - x, py - y);
    const int glow = std::max(256 - distance * 256 / halo, 0);
    pixel = mix(pixel, sky.sun, glow * glow >> 8);
    pixel = mix(pixel, sky.sun, coverage(distance - radius));
  });
  paint_ridges(canvas, sky, horizon, random);
  if (random.chance(45)) {
    paint_water(canvas, sky, horizon, random);
  } else {
    paint_ground(canvas, sky, horizon, random);
  }
}

}  // namespace warpscope::data
