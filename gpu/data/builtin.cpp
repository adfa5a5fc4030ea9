#include "gpu/data/builtin.h"

#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/data/scenes.h"

namespace warpscope::data {
namespace {

constexpr std::int64_t kMostImages = 10'000'000;
constexpr int kImageBytes = 3 * kScenePixels;
constexpr std::int64_t kPieceImages = 100;
constexpr std::int64_t kClassCount = kSceneClasses.size();

// Far apart, so that no image of one set has the seed of one of the other.
constexpr std::uint64_t kTrainSeed = 0x7761'7270'0000'0000ULL;
constexpr std::uint64_t kTestSeed = 0x7363'6f70'0000'0000ULL;

/// Images 10 n to 10 n + 9 are a permutation of the classes.
std::uint8_t label_of(std::uint64_t seed, std::int64_t image) {
  Random random(core::mix_bits(seed - static_cast<std::uint64_t>(image / kClassCount) - 1));
  std::array<std::uint8_t, kClassCount> order;
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint8_t>(i);
  for (int i = kClassCount - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.range(0, i))]);
  }
  return order[static_cast<std::size_t>(image % kClassCount)];
}

/// What the camera adds to a scene: exposure, light that falls off to one side and to the corners, and sensor
/// noise.
struct Camera {
  int exposure;
  int light_x;
  int light_y;
  int vignette;
  int grain;
  int colour_grain;
  std::uint64_t seed;

  explicit Camera(Random& random) {
    exposure = random.range(230, 330);
    const int angle = random.angle();
    const int strength = random.range(0, 70);
    light_x = cosine(angle) * strength / kUnit;
    light_y = sine(angle) * strength / kUnit;
    vignette = random.range(0, 50);
    grain = random.range(2, 14);
    colour_grain = random.range(0, 6);
    seed = random.next();
  }
};

/// Writes the canvas as bytes, seen by a random camera.
void expose(const Canvas& canvas, Random& random, std::uint8_t* bytes) {
  const Camera camera(random);
  const auto to_byte = [](int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); };
  for (int i = 0; i < kScenePixels; ++i) {
    // Twice the place from the middle, in pixels: -31 to 31.
    const int x = 2 * (i % kSceneSide) - kSceneSide + 1;
    const int y = 2 * (i / kSceneSide) - kSceneSide + 1;
    const int light = camera.exposure + ((x * camera.light_x + y * camera.light_y) >> 5) -
                      ((x * x + y * y) * camera.vignette >> 10);
    const std::uint64_t bits =
        core::mix_bits(camera.seed + static_cast<std::uint64_t>(i) * core::kGoldenGamma);
    // Each byte of the random bits gives a number in [-128, 127]; the sum of two is a triangle, nearly a
    // bell.
    const auto draw = [bits](int byte) { return static_cast<int>(bits >> (8 * byte) & 255) - 128; };
    const int grain = (draw(0) + draw(1)) * camera.grain;
    const Colour& colour = canvas.pixels[static_cast<std::size_t>(i)];
    bytes[3 * i] = to_byte((colour.red * light + grain + draw(2) * camera.colour_grain + 128) >> 8);
    bytes[3 * i + 1] = to_byte((colour.green * light + grain + draw(3) * camera.colour_grain + 128) >> 8);
    bytes[3 * i + 2] = to_byte((colour.blue * light + grain + draw(4) * camera.colour_grain + 128) >> 8);
  }
}

ImageSet make_set(std::int64_t count, std::uint64_t seed, int threads) {
  if (count < 0 || count > kMostImages) {
    throw core::BadInput(
        fmt::format("the built-in data set can have 0 to {} images, not {}", kMostImages, count));
  }
  ImageSet set;
  set.height = kSceneSide;
  set.width = kSceneSide;
  set.channels = 3;
  set.count = count;
  set.pixels.resize(static_cast<std::size_t>(count * kImageBytes));
  set.labels.resize(static_cast<std::size_t>(count));
  core::parallel_for(count, kPieceImages, threads, [&](std::int64_t begin, std::int64_t end) {
    Canvas canvas;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint8_t label = label_of(seed, i);
      Random random(core::mix_bits(seed + static_cast<std::uint64_t>(i)));
      kSceneClasses[label].paint(canvas, random);
      expose(canvas, random, set.pixels.data() + i * kImageBytes);
      set.labels[static_cast<std::size_t>(i)] = label;
    }
  });
  return set;
}

}  // namespace

std::vector<std::string> scene_classes() {
  std::vector<std::string> names;
  for (const SceneClass& scene : kSceneClasses) names.emplace_back(scene.name);
  return names;
}

DataSet make_builtin(std::int64_t train, std::int64_t test, int threads) {
  DataSet set;
  set.classes = scene_classes();
  set.train = make_set(train, kTrainSeed, threads);
  set.test = make_set(test, kTestSeed, threads);
  return set;
}

}  // namespace warpscope::data
