#include "ui/paint/painter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/paint/double_raster.h"

namespace warpscope::ui::paint::painter_test {
namespace {

constexpr std::uint32_t kBlack = 0xff000000u, kWhite = 0xffffffffu;
constexpr std::uintptr_t kPlain = 1, kNearest = 2, kLinear = 3;

class PainterTest : public testing::Test {
 protected:
  void SetUp() override {
    store_.put(kPlain, 1, 1, false, &kWhite);
    std::vector<std::uint32_t> texels(7 * 5);
    for (std::uint32_t& texel : texels) texel = number();
    store_.put(kNearest, 7, 5, false, texels.data());
    store_.put(kLinear, 5, 7, true, texels.data());
  }

  std::uint32_t number() { return static_cast<std::uint32_t>(random_()); }
  float between(float low, float high) { return std::uniform_real_distribution<float>(low, high)(random_); }

  static Triangles empty_scene(int width, int height) {
    Triangles scene;
    scene.width = width;
    scene.height = height;
    scene.names = {kPlain, kNearest, kLinear};
    return scene;
  }

  static void add_command(Triangles& scene, Command command) {
    command.first_index = static_cast<std::uint32_t>(scene.indices.size());
    scene.commands.push_back(command);
  }

  /// To the last command.
  static void add_triangle(Triangles& scene, const Vertex (&corners)[3]) {
    for (const Vertex& vertex : corners) {
      scene.indices.push_back(static_cast<std::uint32_t>(scene.vertices.size()));
      scene.vertices.push_back(vertex);
    }
    ++scene.commands.back().triangles;
  }

  static void add_rectangle(Triangles& scene, int left, int top, int right, int bottom,
                            std::uint32_t colour) {
    const auto l = static_cast<float>(left), t = static_cast<float>(top), r = static_cast<float>(right),
               b = static_cast<float>(bottom);
    add_triangle(scene, {{l, t, 0, 0, colour}, {r, t, 0, 0, colour}, {r, b, 0, 0, colour}});
    add_triangle(scene, {{l, t, 0, 0, colour}, {r, b, 0, 0, colour}, {l, b, 0, 0, colour}});
  }

  void add_random_triangle(Triangles& scene) {
    const float size = std::exp(between(-2, 5));
    const float x = between(-10, static_cast<float>(scene.width) + 10),
                y = between(-10, static_cast<float>(scene.height) + 10);
    const bool on_grid = random_() % 4 == 0, plain = random_() % 3 == 0;
    const float u = between(-0.2f, 1.2f), v = between(-0.2f, 1.2f);
    Vertex corners[3];
    for (Vertex& corner : corners) {
      corner = {x + between(-size, size), y + between(-size, size), plain ? u : between(-0.2f, 1.2f),
                plain ? v : between(-0.2f, 1.2f), number()};
      if (!on_grid) continue;
      corner.x = std::round(corner.x * 2) / 2;  // centres of pixels lie on edges
      corner.y = std::round(corner.y * 2) / 2;
    }
    if (on_grid) {  // level and upright edges
      corners[1].y = corners[0].y;
      corners[2].x = corners[1].x;
    }
    add_triangle(scene, corners);
  }

  /// As Dear ImGui makes them, some begun at another corner, now and then with one corner moved.
  void add_random_rectangle(Triangles& scene) {
    const float left = between(-10, 70), top = between(-10, 50), right = left + between(0.3f, 30),
                bottom = top + between(0.3f, 30);
    const std::uint32_t colour = number();
    Vertex corners[4] = {{left, top, 0, 0, colour},
                         {right, top, 0, 0, colour},
                         {right, bottom, 0, 0, colour},
                         {left, bottom, 0, 0, colour}};
    if (random_() % 2 == 0) {
      for (Vertex& corner : corners) {
        corner.x = std::round(corner.x) + 0.5f;  // edges on centres of pixels
        corner.y = std::round(corner.y) + 0.5f;
      }
    }
    std::rotate(corners, corners + random_() % 2, corners + 4);
    if (random_() % 8 == 0) corners[random_() % 4].x += 2;
    if (random_() % 8 == 0) corners[random_() % 4].colour ^= 0xff;
    add_triangle(scene, {corners[0], corners[1], corners[2]});
    add_triangle(scene, {corners[0], corners[2], corners[3]});
  }

  std::vector<std::uint32_t> paint(const Triangles& scene, std::uint32_t background = kBlack) {
    Painter painter;
    return paint(painter, scene, background);
  }

  std::vector<std::uint32_t> paint(Painter& painter, const Triangles& scene, std::uint32_t background) {
    const std::uint32_t* pixels = painter.paint(scene, store_, background).pixels;
    return {pixels, pixels + static_cast<std::ptrdiff_t>(scene.width) * scene.height};
  }

  std::mt19937 random_{20261122};
  TextureStore store_;
};

// The exact place decides which texel is nearest: a pixel whose texture place falls between two texels may take
// either.
double apart(std::uint32_t pixel, const Channels& wanted) {
  double most = 0;
  for (std::size_t c = 0; c < 4; ++c) most = std::max(most, std::abs((pixel >> (8 * c) & 255) - wanted[c]));
  return most;
}

TEST_F(PainterTest, DrawsRandomTrianglesAsDoublePrecisionDoes) {
  int far = 0, all = 0;
  for (const auto& [width, height] : {std::pair{1, 1}, {16, 16}, {17, 33}, {77, 53}, {130, 5}}) {
    Triangles scene = empty_scene(width, height);
    for (int command = 0; command < 6; ++command) {
      const bool clipped = command % 2 == 1;
      add_command(scene, {clipped ? width / 4 : 0, clipped ? height / 3 : 0, clipped ? width / 2 + 1 : width,
                          height, command % 3});
      for (int i = 0; i < 45; ++i) add_random_triangle(scene);
    }
    const std::uint32_t background = number();
    const std::vector<std::uint32_t> painted = paint(scene, background);
    const std::vector<Channels> wanted = double_picture(scene, store_, background);
    for (std::size_t i = 0; i < painted.size(); ++i) {
      ++all;
      far += apart(painted[i], wanted[i]) > 1.0;
    }
  }
  EXPECT_LE(far, all / 500) << "of " << all << " pixels";
}

TEST_F(PainterTest, DrawsPlainTrianglesAsDoublePrecisionDoesInEveryPixel) {
  Triangles scene = empty_scene(77, 53);
  add_command(scene, {0, 0, 77, 53, 0});
  for (int i = 0; i < 300; ++i) {
    add_random_triangle(scene);
    if (i % 3 == 0) add_random_rectangle(scene);
  }
  const std::vector<std::uint32_t> painted = paint(scene, 0x80402010u);
  const std::vector<Channels> wanted = double_picture(scene, store_, 0x80402010u);
  for (std::size_t i = 0; i < painted.size(); ++i)
    EXPECT_LE(apart(painted[i], wanted[i]), 1.0) << "pixel " << i;
}

TEST_F(PainterTest, NeighboursNeitherOverlapNorLeaveAGap) {
  constexpr int kCells = 9, kSide = 90;
  Triangles scene = empty_scene(kSide, kSide);
  add_command(scene, {0, 0, kSide, kSide, 0});
  Vertex grid[kCells + 1][kCells + 1];
  for (int i = 0; i <= kCells; ++i) {
    for (int j = 0; j <= kCells; ++j) {
      const bool rim = i == 0 || j == 0 || i == kCells || j == kCells;
      // Half of the places on centres of pixels.
      const auto at = [&](int k) {
        return static_cast<float>(10 * k) + (rim                ? 0
                                             : (i + j) % 2 == 0 ? std::floor(between(-3, 3)) + 0.5f
                                                                : between(-3, 3));
      };
      grid[i][j] = {at(j), at(i), 0, 0, 0x80ffffffu};
    }
  }
  for (int i = 0; i < kCells; ++i) {
    for (int j = 0; j < kCells; ++j) {
      add_triangle(scene, {grid[i][j], grid[i][j + 1], grid[i + 1][j]});
      add_triangle(scene, {grid[i + 1][j + 1], grid[i][j + 1], grid[i + 1][j]});
    }
  }
  for (const std::uint32_t pixel : paint(scene))
    ASSERT_EQ(pixel & 0xffffffu, 0x808080u) << "drawn once, not more or less often";
}

TEST_F(PainterTest, DrawsThousandsInTheirOrder) {
  constexpr int kWidth = 120, kHeight = 70;
  Triangles scene = empty_scene(kWidth, kHeight);
  std::vector<std::uint32_t> wanted(kWidth * kHeight, kBlack);
  for (int i = 0; i < 6000; ++i) {  // 12,000 triangles
    if (i % 500 == 0) add_command(scene, {0, 0, kWidth, kHeight, 0});
    const int left = static_cast<int>(random_() % kWidth), top = static_cast<int>(random_() % kHeight);
    const int right = std::min<int>(kWidth, left + 1 + static_cast<int>(random_() % 12));
    const int bottom = std::min<int>(kHeight, top + 1 + static_cast<int>(random_() % 12));
    const std::uint32_t colour = number() | 0xff000000u;
    add_rectangle(scene, left, top, right, bottom, colour);
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) wanted[static_cast<std::size_t>(y * kWidth + x)] = colour;
    }
  }
  EXPECT_EQ(paint(scene), wanted);
}

TEST_F(PainterTest, TheNextPictureHasNothingOfTheOneBefore) {
  Painter painter;
  Triangles first = empty_scene(90, 60);
  add_command(first, {0, 0, 90, 60, 2});
  for (int i = 0; i < 500; ++i) add_random_triangle(first);
  const std::vector<std::uint32_t> once = paint(painter, first, kWhite);
  Triangles nothing = empty_scene(33, 70);
  EXPECT_EQ(paint(painter, nothing, 0xff102030u), std::vector<std::uint32_t>(33 * 70, 0xff102030u));
  EXPECT_EQ(paint(painter, first, kWhite), once) << "the same bits each time";
}

TEST_F(PainterTest, APictureOfAnotherSizeIsPaintedWholeThoughItsTilesAreTheSame) {
  Painter painter;
  for (const auto& [width, height] : {std::pair{64, 48}, {48, 64}, {64, 48}}) {
    Triangles scene = empty_scene(width, height);
    add_command(scene, {0, 0, width, height, 0});
    add_rectangle(scene, 3, 2, 14, 13, kWhite);
    EXPECT_EQ(paint(painter, scene, kBlack), paint(scene, kBlack)) << width << " x " << height;
  }
}

TEST_F(PainterTest, PlacesFarAwayOrNotNumbersDoNoHarm) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kNan = std::numeric_limits<float>::quiet_NaN();
  Triangles scene = empty_scene(40, 40);
  add_command(scene, {0, 0, 40, 40, 0});
  add_triangle(scene, {{kNan, kNan, 0, 0, kWhite}, {kNan, kNan, 0, 0, kWhite}, {kNan, kNan, 0, 0, kWhite}});
  add_triangle(scene, {{-1e30f, 5, 0, 0, kWhite}, {-kInfinity, 6, 0, 0, kWhite}, {-1e30f, 7, 0, 0, kWhite}});
  add_triangle(scene, {{50, -1e30f, 0, 0, kWhite}, {60, kInfinity, 0, 0, kWhite}, {55, 1e30f, 0, 0, kWhite}});
  add_rectangle(scene, -30000, 10, 30000, 12, 0xff0000ffu);
  const std::vector<std::uint32_t> painted = paint(scene);
  for (int y = 0; y < 40; ++y) {
    for (int x = 0; x < 40; ++x) {
      EXPECT_EQ(painted[static_cast<std::size_t>(y * 40 + x)], y == 10 || y == 11 ? 0xff0000ffu : kBlack)
          << x << ", " << y;
    }
  }
}

// As of a curve that is looked at from very near.
TEST_F(PainterTest, LinesThatLeaveThePictureFarBehindKeepTheirSlope) {
  Triangles scene = empty_scene(300, 210);
  add_command(scene, {0, 0, 300, 210, 0});
  const auto add_line = [&](float x0, float y0, float x1, float y1) {
    const float length = std::hypot(x1 - x0, y1 - y0), across = 2 * (y1 - y0) / length,
                down = -2 * (x1 - x0) / length;
    const Vertex a{x0 + across, y0 + down, 0, 0, kWhite}, b{x1 + across, y1 + down, 0, 0, kWhite},
        c{x1, y1, 0, 0, 0x00ffffffu}, d{x0, y0, 0, 0, 0x00ffffffu};
    add_triangle(scene, {a, b, c});
    add_triangle(scene, {a, c, d});
  };
  add_line(-1e6f, 20, 200, 190);
  add_line(-60000, 10, 1500, 180);
  add_line(150, -1e6f, 170, 1e6f);
  const std::vector<std::uint32_t> painted = paint(scene);
  const std::vector<Channels> wanted = double_picture(scene, store_, kBlack);
  int far = 0, lit = 0;
  for (std::size_t i = 0; i < painted.size(); ++i) {
    far += apart(painted[i], wanted[i]) > 3.0;
    lit += wanted[i][0] > 60;
  }
  EXPECT_GT(lit, 1000);
  EXPECT_LE(far, lit / 100) << "of " << lit << " pixels";
}

TEST_F(PainterTest, TheWidestPictureIsPaintedToItsLastColumn) {
  constexpr int kWidest = 32752, kHeight = 3;
  Triangles scene = empty_scene(kWidest, kHeight);
  add_command(scene, {0, 0, kWidest, kHeight, 0});
  add_rectangle(scene, kWidest - 20, 1, kWidest + 50, 2, kWhite);
  const std::vector<std::uint32_t> painted = paint(scene);
  for (int x = kWidest - 40; x < kWidest; ++x) {
    EXPECT_EQ(painted[static_cast<std::size_t>(kWidest + x)], x < kWidest - 20 ? kBlack : kWhite) << x;
  }
}

TEST_F(PainterTest, ATextureThatChangesIsSeenAndAnUnknownOneIsWhite) {
  Painter painter;
  Triangles scene = empty_scene(8, 8);
  scene.names = {kNearest};
  add_command(scene, {0, 0, 8, 8, 0});
  add_rectangle(scene, 0, 0, 8, 8, kWhite);
  const std::uint32_t green = 0xff00ff00u, blue = 0xffff0000u;
  store_.put(kNearest, 1, 1, false, &green);
  EXPECT_EQ(paint(painter, scene, kBlack), std::vector<std::uint32_t>(64, green));
  store_.put_part(kNearest, 0, 0, 1, 1, &blue);
  EXPECT_EQ(paint(painter, scene, kBlack), std::vector<std::uint32_t>(64, blue));
  store_.remove(kNearest);
  EXPECT_EQ(paint(painter, scene, kBlack), std::vector<std::uint32_t>(64, kWhite));
}

// Whatever changes, a painter that keeps what did not gives the picture that a new one gives, and tells where
// it differs.
TEST_F(PainterTest, PaintsAnewWhatChangedAndKeepsTheRest) {
  constexpr int kWidth = 150, kHeight = 91;
  Triangles scene = empty_scene(kWidth, kHeight);
  for (int command = 0; command < 3; ++command) {
    add_command(scene, {0, 0, kWidth, kHeight, command});
    if (command == 0) {  // the first two lie over one another
      add_triangle(scene, {{9, 8, 0, 0, 0xff10a0f0u}, {70, 8, 0, 0, kWhite}, {9, 60, 0, 0, kWhite}});
      add_triangle(scene, {{20, 5, 0, 0, 0xffa01020u}, {75, 15, 0, 0, kBlack}, {12, 50, 0, 0, kWhite}});
    }
    for (int i = 0; i < 40; ++i) add_random_triangle(scene);
  }
  std::uint32_t background = kBlack;
  const auto vertex = [&]() -> Vertex& { return scene.vertices[random_() % scene.vertices.size()]; };
  const std::vector<std::pair<std::string, std::function<void()>>> changes = {
      {"nothing", [] {}},
      {"a colour", [&] { vertex().colour ^= 0x10u << (8 * (random_() % 4)); }},
      {"a place", [&] { vertex().x += between(-3, 3); }},
      {"a height", [&] { vertex().y += between(-3, 3); }},
      {"a place in the texture", [&] { vertex().u += 0.3f; }},
      {"a height in the texture", [&] { vertex().v += 0.3f; }},
      {"a rectangle that clips", [&] { scene.commands[random_() % 3].left ^= 21; }},
      {"the texture of a command", [&] { scene.commands[2].texture = 3 - scene.commands[2].texture; }},
      {"the order of two",
       [&] {
         for (int corner = 0; corner < 3; ++corner)
           std::swap(scene.indices[corner], scene.indices[3 + corner]);
       }},
      {"one left out", [&] { scene.commands.back().triangles ^= 8; }},
      {"a texel", [&] { store_.put_part(kNearest, 3, 2, 1, 1, &scene.vertices[random_() % 99].colour); }},
      {"the background", [&] { background ^= 0x00204060u; }},
  };
  Painter painter;
  std::vector<std::uint32_t> before = paint(painter, scene, background);
  std::map<std::string, std::size_t> tiles;
  for (int trial = 0; trial < 96; ++trial) {
    const auto& [name, change] = changes[static_cast<std::size_t>(trial) % changes.size()];
    change();
    const Picture picture = painter.paint(scene, store_, background);
    const std::vector<std::uint32_t> painted(picture.pixels, picture.pixels + before.size());
    ASSERT_EQ(painted, paint(scene, background)) << name;
    for (std::size_t i = 0; i < painted.size(); ++i) {
      const std::size_t tile = i / kWidth / kTile * tiles_along(kWidth) + i % kWidth / kTile;
      ASSERT_TRUE(painted[i] == before[i] || picture.changed[tile] != 0) << name << ", pixel " << i;
    }
    tiles[name] += static_cast<std::size_t>(std::ranges::count(picture.changed, 1));
    before = painted;
  }
  EXPECT_EQ(tiles["nothing"], 0u);
  EXPECT_EQ(tiles["the background"], 8 * tiles_along(kWidth) * tiles_along(kHeight));
  for (const char* name : {"a colour", "a place", "the order of two"}) {
    EXPECT_GT(tiles[name], 0u) << name;
    EXPECT_LT(tiles[name], 5 * tiles_along(kWidth) * tiles_along(kHeight)) << name;
  }
}

TEST_F(PainterTest, APictureWithoutPixelsIsRefused) {
  EXPECT_THROW(paint(empty_scene(0, 10)), core::Error);
  EXPECT_THROW(paint(empty_scene(32753, 10)), core::Error);
}

}  // namespace
}  // namespace warpscope::ui::paint::painter_test
