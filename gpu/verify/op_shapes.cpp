#include "gpu/verify/op_shapes.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace warpscope::verify {
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
  return {conv(1, 1, 1, 1, 1, 1, 1),     conv(1, 3, 3, 1, 1, 3, 3),     conv(2, 5, 7, 3, 8, 3, 3),
          conv(1, 8, 8, 8, 3, 3, 3),     conv(3, 7, 5, 33, 17, 3, 3),   conv(2, 6, 9, 5, 70, 1, 1),
          conv(1, 9, 4, 16, 33, 5, 5),   conv(2, 7, 7, 4, 6, 7, 7),     conv(1, 2, 2, 3, 4, 7, 7),
          conv(2, 11, 3, 70, 1, 3, 5),   conv(1, 4, 6, 2, 3, 1, 3),     conv(1, 1, 13, 9, 12, 7, 1),
          conv(2, 4, 4, 128, 256, 3, 3), conv(2, 8, 8, 256, 128, 3, 3), conv(1, 16, 16, 256, 3, 3, 3),
          conv(2, 16, 16, 3, 256, 3, 3), conv(3, 4, 4, 128, 128, 3, 3)};
}

OpShape block(OpShape shape, bool upsample, bool relu, bool pool) {
  shape.upsample = upsample;
  shape.relu = relu;
  shape.pool = pool;
  shape.masked = relu != pool;
  return shape;
}

/// The layers of the models, small, and everything around a convolution in all combinations.
std::vector<OpShape> block_shapes() {
  std::vector<OpShape> shapes{block(conv(3, 32, 32, 3, 256, 3, 3), false, true, true),
                              block(conv(2, 16, 16, 256, 128, 3, 3), false, true, true),
                              block(conv(3, 8, 8, 128, 128, 3, 3), false, true, false),
                              block(conv(3, 8, 8, 128, 256, 3, 3), true, true, false),
                              block(conv(2, 16, 16, 256, 3, 3, 3), true, false, false),
                              block(conv(1, 16, 16, 64, 64, 3, 3), false, true, true),
                              block(conv(5, 4, 4, 64, 192, 3, 3), true, true, false),
                              block(conv(3, 16, 16, 24, 3, 3, 3), true, false, false),
                              block(conv(1, 8, 12, 3, 8, 3, 3), false, true, true)};
  for (int flags = 0; flags < 8; ++flags) {
    shapes.push_back(block(conv(2, 5, 6, 3, 7, 3, 3), flags & 1, flags & 2, flags & 4));
    shapes.push_back(block(conv(1, 4, 3, 9, 5, 5, 1), flags & 1, flags & 2, flags & 4));
  }
  return shapes;
}

OpShape linear(std::int64_t batch, int in, int out) {
  return {.batch = batch, .in_channels = in, .out_channels = out};
}

std::vector<OpShape> linear_shapes() {
  return {linear(1, 1, 1),     linear(1, 7, 3),     linear(2, 3, 513),   linear(3, 513, 1),
          linear(5, 129, 65),  linear(64, 128, 10), linear(65, 33, 127), linear(16, 1024, 128),
          linear(128, 64, 16), linear(4, 8192, 128)};
}

/// Even and odd images of at least 2x2, which every channel-preserving op takes.
std::vector<OpShape> image_shapes() {
  return {image(1, 2, 2, 1),  image(2, 3, 5, 1),  image(3, 7, 4, 3),   image(1, 9, 9, 33),
          image(2, 8, 8, 70), image(5, 6, 10, 8), image(2, 4, 4, 256), image(3, 2, 2, 128)};
}

/// Logits: each size of the groups that a GPU's variants work in, and more images than fit at once.
std::vector<OpShape> logits_shapes() {
  std::vector<OpShape> shapes;
  const auto add = [&](std::int64_t batch, int classes) {
    shapes.push_back({.batch = batch, .in_channels = classes});
  };
  add(1, 1), add(1, 2), add(7, 3), add(33, 8), add(5, 9), add(2100, 10), add(17, 16), add(64, 17), add(3, 32);
  add(9, 33), add(2, 64), add(11, 65), add(300, 100), add(1, 255), add(40, 256);
  return shapes;
}

/// A batch longer than the data set walks the order more than once.
std::vector<OpShape> labels_shapes() {
  return {{.batch = 1, .count = 1},     {.batch = 5, .count = 3},       {.batch = 255, .count = 1000},
          {.batch = 256, .count = 256}, {.batch = 2100, .count = 2099}, {.batch = 100, .count = 60000}};
}

std::vector<OpShape> gather_shapes() {
  auto shapes = image_shapes();
  std::int64_t count = 1;  // less than a batch too: the order is then walked more than once
  for (OpShape& shape : shapes) shape.count = (count = 2 * count + 1);
  return shapes;
}

/// Every rule at every count; of the faulty update one sample alone, and several only where their order changes nothing.
std::vector<OpShape> update_shapes(Op op) {
  std::vector<OpShape> shapes;
  for (int rule = 0; rule < ops::kUpdateRuleCount; ++rule) {
    for (const int count : {1, 3, 255, 1024, 1025, 100003}) {
      shapes.push_back({.count = count, .rule = static_cast<ops::UpdateRule>(rule)});
    }
  }
  if (op == Op::optimizer_update_per_sample) {
    for (const int count : {1, 259, 5000}) shapes.push_back({.batch = 5, .count = count});
  }
  return shapes;
}

std::vector<OpShape> step_record_shapes() {
  std::vector<OpShape> shapes{{.batch = 0, .count = 5}};  // as a step of micro-batches ends
  for (const int slots : {1, 3, 255, 1000}) shapes.push_back({.batch = slots % 7 + 1, .count = slots});
  return shapes;
}

using Random = std::mt19937_64;

int between(Random& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// 1 to 513: as many below 23 as above; one of four is next to a power of two.
int channels(Random& random) {
  if (random() % 4 == 0) return (1 << between(random, 1, 9)) + between(random, -1, 1);
  return std::clamp(static_cast<int>(std::exp2(static_cast<double>(random() % 9005) / 1000.0)), 1, 513);
}

/// Three of four are odd.
int extent(Random& random, int low, int high) {
  const int drawn = between(random, low, high);
  return random() % 2 == 0 && drawn < high ? drawn | 1 : drawn;
}

OpShape random_shape(Op op, Random& random) {
  OpShape shape;
  shape.batch = random() % 3 == 0 ? 1 : between(random, 2, 5);
  shape.in_channels = channels(random);
  shape.out_channels = channels(random);
  shape.count = 1 + static_cast<std::int64_t>(std::exp2(static_cast<double>(random() % 17000) / 1000.0));
  switch (op) {
    case Op::weights_cast:
    case Op::gradients_accumulate:
    case Op::gradients_keep:
    case Op::gradients_norm:
    case Op::micro_batch_record:
    case Op::step_record:
      shape.in_channels = shape.out_channels = 1;
      return shape;
    case Op::optimizer_update:
    case Op::optimizer_update_per_sample:
      shape.in_channels = shape.out_channels = 1;
      shape.rule = static_cast<ops::UpdateRule>(between(random, 0, ops::kUpdateRuleCount - 1));
      if (shape.rule != ops::UpdateRule::sgd)
        shape.batch = 1;  // more samples have an order, and results with it
      return shape;
    case Op::linear_forward:
    case Op::linear_backward_input:
    case Op::linear_backward_weights:
    case Op::linear_backward_bias:
      shape.batch = random() % 3 == 0 ? 1 : between(random, 2, 130);
      shape.count = 1;
      return shape;
    case Op::labels_gather:
      return {.batch = between(random, 1, 2100), .count = between(random, 1, 3000)};
    case Op::cross_entropy_forward:
    case Op::cross_entropy_backward:
      return {.batch = between(random, 1, 2100), .in_channels = std::min(channels(random), 256)};
    case Op::batch_gather:
      shape.count = between(random, 1, 40);
      break;
    default:
      shape.count = 1;
  }
  const bool windows = op == Op::maxpool2d_forward || op == Op::maxpool2d_backward;
  shape.height = extent(random, windows ? 2 : 1, 19);
  shape.width = extent(random, windows ? 2 : 1, 19);
  shape.kernel_height = 2 * between(random, 0, 3) + 1;
  shape.kernel_width = random() % 2 == 0 ? shape.kernel_height : 2 * between(random, 0, 3) + 1;
  if (ops::is_block(op)) {
    shape.upsample = random() % 2 == 0;
    shape.relu = random() % 2 == 0;
    shape.pool = random() % 2 == 0 && shape.height > 1 && shape.width > 1;
    shape.masked = random() % 2 == 0;
  }
  return shape;
}

/// Smaller images, then a smaller batch, then fewer channels, then fewer parameters, until it costs no more than
/// `most_flops` or is as small as can be.
OpShape within(Op op, OpShape shape, double most_flops) {
  while (ops::contract(op).flops(shape) > most_flops) {
    if (shape.height * shape.width > 9) {
      (shape.height > shape.width ? shape.height : shape.width) -= 2;
    } else if (shape.batch > 1) {
      shape.batch = (shape.batch + 1) / 2;
    } else if (std::max(shape.in_channels, shape.out_channels) > 1) {
      (shape.in_channels > shape.out_channels ? shape.in_channels : shape.out_channels) /= 2;
    } else if (shape.count > 1) {
      shape.count /= 2;
    } else {
      break;
    }
  }
  return shape;
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
    case Op::block_forward:
    case Op::block_backward_weights:
    case Op::block_backward_input:
      return block_shapes();
    case Op::batch_gather:
      return gather_shapes();
    case Op::labels_gather:
      return labels_shapes();
    case Op::cross_entropy_forward:
    case Op::cross_entropy_backward:
      return logits_shapes();
    case Op::linear_forward:
    case Op::linear_backward_input:
    case Op::linear_backward_weights:
    case Op::linear_backward_bias:
      return linear_shapes();
    case Op::optimizer_update:
    case Op::optimizer_update_per_sample:
      return update_shapes(op);
    case Op::step_record:
      return step_record_shapes();
    case Op::weights_cast:
    case Op::gradients_accumulate:
    case Op::gradients_keep:
    case Op::gradients_norm:
    case Op::micro_batch_record: {
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

std::vector<OpShape> random_shapes_of(Op op, int count, std::uint64_t seed, double most_flops) {
  std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(op));
  std::vector<OpShape> shapes;
  for (int i = 0; i < count; ++i) shapes.push_back(within(op, random_shape(op, random), most_flops));
  return shapes;
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

}  // namespace warpscope::verify
