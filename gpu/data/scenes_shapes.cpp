// Scenes of shapes on a ground: discs, rings, polygons, blobs.
#include <array>

#include "gpu/data/scenes.h"

namespace warpscope::data {
namespace {

struct Ball {
  int x;
  int y;
  int radius;
  Colour colour;
};

/// A unit vector towards the light, in 1/256.
struct Light {
  int x;
  int y;
  int z;
};

Light make_light(Random& random) {
  const int angle = random.angle();
  const int flat = random.range(100, 190);
  return {cosine(angle) * flat / kUnit, sine(angle) * flat / kUnit, integer_sqrt(65'536 - flat * flat)};
}

void paint_shadow(Canvas& canvas, const Ball& ball, const Light& light) {
  const int x = ball.x - light.x * ball.radius / 400;
  const int y = ball.y - light.y * ball.radius / 400;
  const int reach = ball.radius * 5 / 4;
  for_square(canvas, x, y, reach, [&](int dx, int dy, Colour& pixel) {
    const int inside = clamp_weight((reach - length(dx, dy)) * 512 / reach);
    pixel = lit(pixel, 256 - (inside * 130 >> 8));
  });
}

void paint_ball(Canvas& canvas, const Ball& ball, const Light& light, int gloss) {
  for_square(canvas, ball.x, ball.y, ball.radius + kPixel, [&](int dx, int dy, Colour& pixel) {
    const int distance = length(dx, dy);
    const int weight = coverage(distance - ball.radius);
    if (weight == 0) return;
    // The normal of the sphere over this pixel, in 1/256; on the rim it lies flat.
    const int rim = std::max(distance, ball.radius);
    const int nx = dx * 256 / rim;
    const int ny = dy * 256 / rim;
    const int nz = integer_sqrt(std::max(65'536 - nx * nx - ny * ny, 0));
    const int lambert = std::clamp((nx * light.x + ny * light.y + nz * light.z) >> 8, 0, 256);
    int highlight = lambert;
    for (int i = 0; i < 4; ++i) highlight = highlight * highlight >> 8;
    const Colour shaded = lit(ball.colour, 70 + (lambert * 210 >> 8));
    pixel = mix(pixel, mix(shaded, {255, 255, 255}, highlight * gloss >> 8), weight);
  });
}

void paint_ring(Canvas& canvas, const Ball& ring, int half_width, bool round) {
  for_square(canvas, ring.x, ring.y, ring.radius + half_width + kPixel, [&](int dx, int dy, Colour& pixel) {
    const int from_line = std::abs(length(dx, dy) - ring.radius);
    const int weight = coverage(from_line - half_width);
    const int shade = round ? 290 - std::min(from_line, half_width) * 150 / half_width : 256;
    pixel = mix(pixel, lit(ring.colour, shade), weight);
  });
}

void paint_target(Canvas& canvas, const Palette& palette, Random& random) {
  const int x = random.range(4, 28) * kPixel;
  const int y = random.range(4, 28) * kPixel;
  const int width = random.range(450, 1100);
  const int edge = random.range(5, 14) * width;
  const int flattened = random.range(256, 400);
  for_canvas(canvas, [&](int px, int py, Colour& pixel) {
    const int distance = length(px - x, (py - y) * flattened / 256);
    const int band = distance / width;
    const int within = distance - band * width;
    const Colour& inner = palette.shapes[static_cast<std::size_t>(band % 3)];
    const Colour& outer = palette.shapes[static_cast<std::size_t>((band + 1) % 3)];
    const Colour bands = mix(inner, outer, clamp_weight(within - width + kPixel / 2));
    pixel = mix(pixel, bands, coverage(distance - edge));
  });
}

/// A convex polygon: the pixels with normal . (x, y) <= offset for each edge. Normals in 1/16384.
struct Polygon {
  struct Edge {
    int normal_x;
    int normal_y;
    int offset;
  };
  std::array<Edge, 6> edges;
  int count;
};

Polygon make_polygon(int corners, int radius, Random& random) {
  Polygon polygon;
  polygon.count = corners;
  const int start = random.angle();
  const int wobble = kTurn / (corners * 6);
  const int squeeze = random.range(160, 256);
  const int turn = random.angle();
  std::array<std::array<int, 2>, 6> points;
  for (int i = 0; i < corners; ++i) {
    const int angle = start + i * kTurn / corners + random.range(-wobble, wobble);
    // A squeezed circle keeps the polygon convex.
    const int u = cosine(angle) * radius / kUnit;
    const int v = sine(angle) * radius / kUnit * squeeze / 256;
    points[static_cast<std::size_t>(i)] = {(u * cosine(turn) - v * sine(turn)) / kUnit,
                                           (u * sine(turn) + v * cosine(turn)) / kUnit};
  }
  for (int i = 0; i < corners; ++i) {
    const auto& from = points[static_cast<std::size_t>(i)];
    const auto& to = points[static_cast<std::size_t>((i + 1) % corners)];
    const int dx = to[0] - from[0];
    const int dy = to[1] - from[1];
    const int size = std::max(length(dx, dy), 1);
    const int nx = dy * kUnit / size;
    const int ny = -dx * kUnit / size;
    polygon.edges[static_cast<std::size_t>(i)] = {nx, ny, (from[0] * nx + from[1] * ny) / kUnit};
  }
  return polygon;
}

int distance(const Polygon& polygon, int x, int y) {
  int most = -kSceneSize;
  for (int i = 0; i < polygon.count; ++i) {
    const Polygon::Edge& edge = polygon.edges[static_cast<std::size_t>(i)];
    most = std::max(most, ((edge.normal_x * x + edge.normal_y * y) >> kUnitBits) - edge.offset);
  }
  return most;
}

}  // namespace

void paint_discs(Canvas& canvas, Random& random) {
  const Palette palette = make_palette(random);
  fill_ground(canvas, palette, random);
  const Light light = make_light(random);
  const int gloss = random.range(0, 256);
  const int count = random.range(1, 5);
  std::array<Ball, 5> balls;
  for (int i = 0; i < count; ++i) {
    const int radius = random.range(count > 2 ? 600 : 1100, count > 2 ? 1700 : 2900);
    const int x = random.range(3 * kPixel, 29 * kPixel);
    const int y = random.range(3 * kPixel, 29 * kPixel);
    balls[static_cast<std::size_t>(i)] = {x, y, radius, palette.shapes[static_cast<std::size_t>(i)]};
  }
  for (int i = 0; i < count; ++i) paint_shadow(canvas, balls[static_cast<std::size_t>(i)], light);
  for (int i = 0; i < count; ++i) paint_ball(canvas, balls[static_cast<std::size_t>(i)], light, gloss);
}

void paint_rings(Canvas& canvas, Random& random) {
  const Palette palette = make_palette(random);
  fill_ground(canvas, palette, random);
  if (random.chance(40)) {
    paint_target(canvas, palette, random);
    return;
  }
  const bool round = random.chance(60);
  const int count = random.range(1, 4);
  for (int i = 0; i < count; ++i) {
    const int radius = random.range(900, count > 2 ? 2200 : 3300);
    const int half_width = random.range(170, 520);
    const int x = random.range(5 * kPixel, 27 * kPixel);
    const int y = random.range(5 * kPixel, 27 * kPixel);
    paint_ring(canvas, {x, y, radius, palette.shapes[static_cast<std::size_t>(i)]}, half_width, round);
  }
}

void paint_polygons(Canvas& canvas, Random& random) {
  const Palette palette = make_palette(random);
  fill_ground(canvas, palette, random);
  const int count = random.range(1, 4);
  const bool outlined = random.chance(40);
  const int outline = random.range(200, 420);
  const int shadow = random.range(0, 400);
  for (int i = 0; i < count; ++i) {
    const int corners = random.range(3, 6);
    const int radius = random.range(count > 2 ? 1100 : 1700, count > 2 ? 2400 : 3600);
    const int x = random.range(6 * kPixel, 26 * kPixel);
    const int y = random.range(6 * kPixel, 26 * kPixel);
    const int slope = random.range(-90, 90);
    const Polygon polygon = make_polygon(corners, radius, random);
    const Colour inside = palette.shapes[static_cast<std::size_t>(i)];
    const Colour border = lit(palette.shapes[static_cast<std::size_t>(i + 1)], 150);
    for_square(canvas, x, y, radius + kPixel + shadow, [&](int dx, int dy, Colour& pixel) {
      pixel = lit(pixel, 256 - (coverage(distance(polygon, dx - shadow, dy - shadow) / 2) * 90 >> 8));
      const int from_edge = distance(polygon, dx, dy);
      Colour fill = lit(inside, 256 + dy * slope / radius);
      if (outlined) fill = mix(border, fill, coverage(from_edge + outline));
      pixel = mix(pixel, fill, coverage(from_edge));
    });
  }
}

void paint_blobs(Canvas& canvas, Random& random) {
  constexpr int kMost = 6;
  const Palette palette = make_palette(random);
  fill_ground(canvas, palette, random);
  const int count = random.range(3, kMost);
  std::array<Ball, kMost> drops;
  for (int i = 0; i < count; ++i) {
    const int radius = random.range(1900, 3600);
    const int x = random.range(6 * kPixel, 26 * kPixel);
    const int y = random.range(6 * kPixel, 26 * kPixel);
    drops[static_cast<std::size_t>(i)] = {x, y, radius, palette.shapes[static_cast<std::size_t>(i % 2)]};
  }
  const int glow = random.range(60, 200);
  for_canvas(canvas, [&](int px, int py, Colour& pixel) {
    // Each drop adds (1 - d^2 / r^2)^2 (the field of G. Wyvill's soft objects, one degree lower).
    int field = 0;
    int second = 0;
    for (int i = 0; i < count; ++i) {
      const Ball& drop = drops[static_cast<std::size_t>(i)];
      const int dx = (px - drop.x) / 4;
      const int dy = (py - drop.y) / 4;
      const int near = 1024 - (dx * dx + dy * dy) / (drop.radius * drop.radius / 16'384);
      if (near <= 0) continue;
      const int part = near * near / 1024;
      field += part;
      if (i % 2 == 1) second += part;
    }
    if (field == 0) return;
    const Colour drop = mix(palette.shapes[0], palette.shapes[1], second * 256 / field);
    const int shade = 190 + clamp_weight((field - 300) / 4) * glow / 256;
    pixel = mix(pixel, lit(drop, shade), clamp_weight((field - 300) * 2));
  });
}

}  // namespace warpscope::data
