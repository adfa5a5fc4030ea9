#include "tests/ops/op_shapes.h"

#include <random>

namespace warpscope::tests {
namespace {

using ops::Op;
using ops::OpShape;

OpShape image(std::int64_t batch, int height, int width, int channels) {
  return {.batch = batch, .height = height, .width = width, .in_channels = channels};
}

OpShape conv(std::int64_t batch, int height, int width, int in, int out, int kernel_height,
             int kernel_width) {
  return {.batch = batch,
          .height = height,
          .width = width,
          .in_channels = in,
          .out_channels = out,
          .kernel_height = kernel_height,
          .kernel_width = kernel_width};
}

std::vector<OpShape> conv_shapes() {
  std::vector<OpShape> shapes{
      conv(1, 1, 1, 1, 1, 1, 1),     conv(1, 3, 3, 1, 1, 3, 3),     conv(2, 5, 7, 3, 8, 3, 3),
      conv(1, 8, 8, 8, 3, 3, 3),     conv(3, 7, 5, 33, 17, 3, 3),   conv(2, 6, 9, 5, 70, 1, 1),
      conv(1, 9, 4, 16, 33, 5, 5),   conv(2, 7, 7, 4, 6, 7, 7),     conv(1, 2, 2, 3, 4, 7, 7),
      conv(2, 11, 3, 70, 1, 3, 5),   conv(1, 4, 6, 2, 3, 1, 3),     conv(1, 1, 13, 9, 12, 7, 1),
      conv(2, 4, 4, 128, 256, 3, 3), conv(2, 8, 8, 256, 128, 3, 3), conv(1, 16, 16, 256, 3, 3, 3),
      conv(2, 16, 16, 3, 256, 3, 3), conv(3, 4, 4, 128, 128, 3, 3)};
  std::mt19937 random(20240917);
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int i = 0; i < 8; ++i) {
    const int kernel_height = 1 + 2 * between(0, 3);
    const int kernel_width = 1 + 2 * between(0, 3);
    shapes.push_back(conv(between(1, 4), between(1, 12), between(1, 12), between(1, 70), between(1, 70),
                          kernel_height, kernel_width));
  }
  return shapes;
}

/// Even and odd images of at least 2x2, which every channel-preserving op takes.
std::vector<OpShape> image_shapes() {
  return {image(1, 2, 2, 1),  image(2, 3, 5, 1),  image(3, 7, 4, 3),   image(1, 9, 9, 33),
          image(2, 8, 8, 70), image(5, 6, 10, 8), image(2, 4, 4, 256), image(3, 2, 2, 128)};
}

std::vector<OpShape> gather_shapes() {
  auto shapes = image_shapes();
  std::int64_t count = 1;  // less than a batch too: the order is then walked more than once
  for (OpShape& shape : shapes) shape.count = (count = 2 * count + 1);
  return shapes;
}

}  // namespace

std::vector<OpShape> shapes_of(Op op) {
  switch (op) {
    case Op::conv2d_forward:
    case Op::conv2d_backward_input:
    case Op::conv2d_backward_weights:
      return conv_shapes();
    case Op::conv2d_backward_bias: {
      auto shapes = conv_shapes();
      shapes.push_back(conv(64, 32, 32, 1, 3, 3, 3));
      return shapes;
    }
    case Op::batch_gather:
      return gather_shapes();
    case Op::sgd_update:
    case Op::step_record: {
      std::vector<OpShape> shapes;
      for (const int count : {1, 3, 255, 256, 1000, 100003})
        shapes.push_back({.batch = count % 7 + 1, .count = count});
      return shapes;
    }
    case Op::relu_forward: {
      auto shapes = image_shapes();
      shapes.push_back(image(1, 1, 1, 1));
      shapes.push_back(image(3, 32, 32, 90));
      return shapes;
    }
    case Op::mse_forward: {
      auto shapes = image_shapes();
      shapes.push_back(image(64, 32, 32, 3));
      return shapes;
    }
    default:
      return image_shapes();
  }
}

std::vector<OpShape> large_shapes_of(Op op) {
  switch (op) {
    case Op::conv2d_forward:
      return {conv(4, 32, 32, 3, 1024, 1, 1), conv(4, 32, 32, 16, 1024, 1, 1),
              conv(2, 32, 32, 3, 1024, 1, 1), conv(2, 32, 32, 16, 1024, 1, 1),
              conv(1, 32, 32, 3, 512, 1, 1),  conv(1, 32, 32, 16, 512, 1, 1)};
    case Op::conv2d_backward_input:
      return {conv(4, 32, 32, 1024, 3, 1, 1), conv(4, 32, 32, 1024, 16, 1, 1),
              conv(2, 32, 32, 1024, 3, 1, 1), conv(2, 32, 32, 1024, 16, 1, 1),
              conv(1, 32, 32, 512, 3, 1, 1),  conv(1, 32, 32, 512, 16, 1, 1)};
    case Op::conv2d_backward_weights:
      return {conv(1, 4, 4, 128, 1024, 3, 3), conv(2, 32, 32, 3, 1024, 1, 1), conv(2, 32, 32, 1024, 3, 1, 1)};
    default:
      return {};
  }
}

}  // namespace warpscope::tests
