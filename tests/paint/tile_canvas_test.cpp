#include "ui/paint/tile_canvas.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::paint::tile_canvas_test {
namespace {

constexpr int kLeft = 32, kTop = 48, kWidth = 45, kHeight = 70;  // the tile leaves the picture on the right

bool meet(const Bounds& a, const Bounds& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

std::uint32_t pack(const Colour& c) {
  const auto byte = [](float value) {
    return static_cast<std::uint32_t>(floor_to_int(clamp_to_unit(value) * 255.0f + 0.5f));
  };
  return byte(c.r) | byte(c.g) << 8 | byte(c.b) << 16 | byte(c.a) << 24;
}

/// Draws the piece's part of pixel (x, y) of the tile: what TileCanvas::draw() does, for one pixel.
void draw(const Scene& scene, const Piece& piece, int x, int y, Colour& pixel) {
  const int column = kLeft + x, row = kTop + y;
  if (column < piece.bounds.left || column >= piece.bounds.right || row < piece.bounds.top ||
      row >= piece.bounds.bottom)
    return;
  for (int i = 0; i < 3; ++i) {
    if (piece.edge[i] + x * piece.edge_right[i] + y * piece.edge_down[i] < 0) return;
  }
  Colour c{clamp_to_unit(piece.r.at(x, y)), clamp_to_unit(piece.g.at(x, y)), clamp_to_unit(piece.b.at(x, y)),
           clamp_to_unit(piece.a.at(x, y))};
  if (piece.texture >= 0) {
    const Colour s = sample(scene.textures[piece.texture], piece.u.at(x, y), piece.v.at(x, y));
    c = {c.r * s.r, c.g * s.g, c.b * s.b, c.a * s.a};
  }
  const float rest = 1.0f - c.a;
  pixel = {c.r * c.a + pixel.r * rest, c.g * c.a + pixel.g * rest, c.b * c.a + pixel.b * rest,
           c.a + pixel.a * rest};
}

/// A scene of one triangle after the other, very narrow ones among them, over a tile drawn pixel by pixel and
/// four at a time.
class TileCanvasTest : public testing::Test {
 protected:
  TileCanvasTest() {
    for (std::uint32_t& texel : texels_) texel = static_cast<std::uint32_t>(random_());
    for (std::uint32_t& texel : wide_) texel = static_cast<std::uint32_t>(random_());
    textures_ = {{texels_, 7, 5, true, 1}, {texels_, 5, 7, false, 2}, {wide_, kWide, 2, true, 3}};
    scene_.vertices = corners_;
    scene_.textures = textures_.data();
    scene_.width = kWidth;
    scene_.height = kHeight;
    canvas_.clear(background_);
    std::fill(std::begin(wanted_), std::end(wanted_), background_);
  }

  float between(float low, float high) { return std::uniform_real_distribution<float>(low, high)(random_); }

  /// An area of 1/65536 of a pixel; one edge goes through a pixel's centre. Beside it places in the texture
  /// are far away.
  void make_narrow() {
    const auto side = [&] { return random_() % 2 == 0 ? 1.0f / kSteps : -1.0f / kSteps; };
    const float right = side(), down = side(), length = 1 + static_cast<float>(random_() % 4000);
    const float x = kLeft + static_cast<float>(random_() % kTile) + 0.5f,
                y = kTop + static_cast<float>(random_() % kTile) + 0.5f;
    corners_[0].x = x - right;
    corners_[0].y = y - down;
    corners_[1].x = x + right;
    corners_[1].y = y + down;
    corners_[2].x = x + right * length;
    corners_[2].y = y + down * (length - 1);
  }

  void add_triangle() {
    const bool plain = random_() % 2 == 0, flat = random_() % 2 == 0, huge = random_() % 4 == 0,
               narrow = random_() % 8 == 0;
    const float size = huge ? 400 : 20;
    for (Vertex& corner : corners_) {
      corner = {kLeft + 8 + between(-size, size), kTop + 8 + between(-size, size), between(-0.2f, 1.2f),
                between(-0.2f, 1.2f), static_cast<std::uint32_t>(random_())};
      if (random_() % 2 == 0) corner.x = std::round(corner.x) + 0.5f;
      if (plain) corner.u = corners_[0].u, corner.v = corners_[0].v;
      if (flat) corner.colour = corners_[0].colour | (random_() % 2 == 0 ? 0u : 0xff000000u);
    }
    if (narrow) make_narrow();
    if (flat) corners_[0].colour = corners_[1].colour = corners_[2].colour;
    const Command command{0, 0, kWidth, kHeight - static_cast<int>(random_() % 12),
                          static_cast<int>(random_() % 3)};
    const Place places[3] = {snap(corners_[0]), snap(corners_[1]), snap(corners_[2])};
    const Bounds bounds = bounds_of(places, command, kWidth, kHeight);
    if (!meet(bounds, {kLeft, kTop, kLeft + kTile, kTop + kTile})) return;
    Tint tint;
    Piece piece;
    if (!make_piece(scene_, indices_, command, bounds, kLeft, kTop, tint, piece)) return;
    ++drawn_;
    canvas_.draw(scene_, piece, kLeft, kTop);
    for (int y = 0; y < kTile; ++y) {
      for (int x = 0; x < kTile; ++x) draw(scene_, piece, x, y, wanted_[y * kTile + x]);
    }
  }

  /// The most that a channel of the picture is apart; outside the tile nothing may be written.
  int apart() const {
    constexpr std::uint32_t kUntouched = 0x01020304u;
    std::vector<std::uint32_t> pixels(static_cast<std::size_t>(kWidth) * kHeight, kUntouched);
    canvas_.write(pixels.data(), kWidth, kHeight, kLeft, kTop);
    int most = 0;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const std::uint32_t got = pixels[static_cast<std::size_t>(y) * kWidth + static_cast<std::size_t>(x)];
        const bool inside = x >= kLeft && y >= kTop && x < kLeft + kTile && y < kTop + kTile;
        const std::uint32_t want = inside ? pack(wanted_[(y - kTop) * kTile + x - kLeft]) : kUntouched;
        for (int shift = 0; shift < 32; shift += 8) {
          most = std::max(
              most, std::abs(static_cast<int>(got >> shift & 255) - static_cast<int>(want >> shift & 255)));
        }
      }
    }
    return most;
  }

  std::mt19937 random_{5};
  const Colour background_{0.1f, 0.2f, 0.3f, 1};
  static constexpr int kWide = 2048;
  std::uint32_t texels_[35] = {};
  std::uint32_t wide_[2 * kWide] = {};
  std::vector<Texture> textures_;
  Vertex corners_[3] = {};
  const std::uint32_t indices_[3] = {0, 1, 2};
  Scene scene_{};
  TileCanvas canvas_;
  Colour wanted_[kTile * kTile];
  int drawn_ = 0;
};

TEST_F(TileCanvasTest, FourPixelsAtOnceAreAsOneAfterTheOther) {
  for (int i = 0; i < 4000; ++i) {
    add_triangle();
    ASSERT_LE(apart(), 1) << "after triangle " << i;
  }
  EXPECT_GT(drawn_, 1000);
}

}  // namespace
}  // namespace warpscope::ui::paint::tile_canvas_test
