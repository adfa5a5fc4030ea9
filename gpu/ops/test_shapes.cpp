#include "gpu/ops/test_shapes.h"

#include <algorithm>
#include <cmath>

#include "gpu/ops/step/step.h"

namespace warpscope::ops::test_shapes {

OpShape image(std::int64_t batch, int height, int width, int channels) {
  return {.batch = batch, .height = height, .width = width, .in_channels = channels};
}

OpShape pooled(OpShape image, int rows, int columns) {
  image.window_height = rows;
  image.window_width = columns;
  return image;
}

OpShape convolved(OpShape image, int patch_channels) {
  image.patch_channels = patch_channels;
  return image;
}

std::vector<OpShape> images() {
  return {image(1, 2, 2, 1),  image(2, 3, 5, 1),  image(3, 7, 4, 3),   image(1, 9, 9, 33),
          image(2, 8, 8, 70), image(5, 6, 10, 8), image(2, 4, 4, 256), image(3, 2, 2, 128)};
}

std::vector<OpShape> parameters() {
  std::vector<OpShape> shapes;
  for (const int count : {1, 3, 255, 256, 1000, 100003}) {
    shapes.push_back({.batch = count % 7 + 1, .count = count});
  }
  return shapes;
}

int between(Random& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
}

int channels(Random& random) {
  if (random() % 4 == 0) return (1 << between(random, 1, 9)) + between(random, -1, 1);
  return std::clamp(static_cast<int>(std::exp2(static_cast<double>(random() % 9005) / 1000.0)), 1, 513);
}

int extent(Random& random, int low) {
  constexpr int kMost = 19;
  const int drawn = between(random, low, kMost);
  return random() % 2 == 0 && drawn < kMost ? drawn | 1 : drawn;
}

int small_batch(Random& random) {
  return random() % 3 == 0 ? 1 : between(random, 2, 5);
}

std::int64_t count(Random& random) {
  return 1 + static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 17000) / 1000.0));
}

Derivative image_derivative(Op forward) {
  return {forward, image(2, 5, 4, 3), Name::input, Name::input_gradient};
}

void draw_symbols(const Draw& draw, Name name, int most) {
  draw.edit(name, [&](std::vector<double>& values) {
    for (double& value : values) {
      const int byte = draw.random() % 4 == 0 ? between(draw.random, 0, 255) : between(draw.random, 1, most);
      value = byte / 255.0;
    }
  });
}

void any_position(const Draw& draw) {
  draw.edit_item<step::StepControl>(Name::control, [&](step::StepControl& control) {
    control.position =
        static_cast<std::uint32_t>(draw.random() % static_cast<std::uint64_t>(draw.shape.count));
  });
}

OpShape random_image(Random& random) {
  return image(small_batch(random), extent(random), extent(random), channels(random));
}

OpShape random_parameters(Random& random) {
  return {.batch = small_batch(random), .count = count(random)};
}

}  // namespace warpscope::ops::test_shapes
