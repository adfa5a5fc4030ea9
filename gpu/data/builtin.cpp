#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/data/own_images.h"
#include "gpu/data/picture.h"
#include "gpu/data/scenes.h"
#include "gpu/data/set_kinds.h"

namespace warpscope::data {
namespace {

constexpr std::int64_t kMostImages = 10'000'000;
constexpr ImageShape kSceneShape{kSceneSide, kSceneSide, 3};
constexpr int kImageBytes = 3 * kScenePixels;
constexpr std::int64_t kPieceImages = 100;
constexpr int kClassCount = static_cast<int>(kSceneClasses.size());

// Far apart, so that no image of one set has the seed of one of the other.
constexpr std::uint64_t kTrainSeed = 0x7761'7270'0000'0000ULL;
constexpr std::uint64_t kTestSeed = 0x7363'6f70'0000'0000ULL;

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

/// A scene as bytes of `shape`.
void expose_as(const ImageShape& shape, const Canvas& canvas, Random& random, std::uint8_t* bytes) {
  if (shape == kSceneShape) return expose(canvas, random, bytes);
  std::vector<std::uint8_t> scene(kImageBytes);
  expose(canvas, random, scene.data());
  if (shape.channels == 1) {
    to_luminance(scene.data(), kScenePixels);
    scene.resize(kScenePixels);
  }
  const std::vector<std::uint8_t> fitted = fit_image(scene, {kSceneSide, kSceneSide, shape.channels}, shape);
  std::copy(fitted.begin(), fitted.end(), bytes);
}

ImageSet make_set(const ImageShape& shape, int classes, std::int64_t count, std::uint64_t seed, int threads) {
  if (count < 0 || count > kMostImages) {
    throw core::BadInput(
        fmt::format("the built-in data set can have 0 to {} images, not {}", kMostImages, count));
  }
  ImageSet set = make_image_set(shape, count);
  core::parallel_for(count, kPieceImages, threads, [&](std::int64_t begin, std::int64_t end) {
    Canvas canvas;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint8_t label = static_cast<std::uint8_t>(dealt_class(seed, i, classes));
      Random random(core::mix_bits(seed + static_cast<std::uint64_t>(i)));
      kSceneClasses[label].paint(canvas, random);
      expose_as(shape, canvas, random, set.pixels.data() + i * set.image_bytes());
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
  return make_scenes({kSceneShape, kClassCount}, train, test, threads);
}

DataSet make_scenes(const Requirements& model, std::int64_t train, std::int64_t test, int threads) {
  if (model.shape.channels != 1 && model.shape.channels != 3) {
    throw core::BadInput(fmt::format("the built-in scenes have one channel or three, but {} takes {}",
                                     model.name, describe(model.shape)));
  }
  const int classes = model.classes > 0 ? std::min(model.classes, kClassCount) : kClassCount;
  DataSet set;
  set.classes = scene_classes();
  set.classes.resize(static_cast<std::size_t>(classes));
  check_memory("the built-in scenes", train + test, model.shape);
  set.train = make_set(model.shape, classes, train, kTrainSeed, threads);
  set.test = make_set(model.shape, classes, test, kTestSeed, threads);
  return set;
}

std::int64_t scenes_to_train_on(const ImageShape& shape) {
  constexpr std::int64_t kMost = 50'000;
  constexpr std::int64_t kLeast = 500;
  const double bytes = static_cast<double>(shape.height) * shape.width * shape.channels;
  return std::clamp(static_cast<std::int64_t>(kMost * (kImageBytes / bytes)) / 50 * 50, kLeast, kMost);
}

DataSet make_scenes(const Requirements& model) {
  const std::int64_t train = scenes_to_train_on(model.shape);
  return make_scenes(model, train, train / 5, 0);
}

}  // namespace warpscope::data
