#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::conv2d {
namespace {

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

/// Not plain.
OpShape general(OpShape shape, int stride, int dilation = 1, bool valid = false) {
  shape.stride = stride;
  shape.dilation = dilation;
  shape.valid = valid;
  return shape;
}

/// Even and odd images, kernels that reach over the whole image, outputs of one pixel, one dimension.
std::vector<OpShape> general_shapes() {
  return {general(conv(2, 5, 7, 3, 8, 3, 3), 2),
          general(conv(1, 6, 8, 8, 3, 3, 3), 2),
          general(conv(2, 7, 6, 5, 70, 1, 1), 2),
          general(conv(1, 9, 10, 3, 70, 7, 7), 3),
          general(conv(1, 4, 5, 3, 6, 3, 3), 1, 3),
          general(conv(1, 3, 2, 70, 1, 5, 5), 2, 3),
          general(conv(2, 9, 8, 16, 33, 5, 3), 1, 2, true),
          general(conv(2, 5, 3, 70, 4, 5, 3), 1, 1, true),
          general(conv(1, 6, 11, 1, 5, 3, 5), 2, 2, true),
          general(conv(3, 1, 41, 1, 12, 1, 7), 2, 1, true),
          general(conv(1, 1, 37, 9, 5, 1, 7), 1, 4),
          general(conv(2, 1, 64, 16, 32, 1, 7), 2),
          general(conv(3, 1, 19, 64, 128, 1, 3), 1, 1, true),
          general(conv(11, 1, 23, 128, 64, 1, 7), 1, 1, true),
          conv(9, 1, 21, 64, 192, 1, 5),
          general(conv(2, 8, 7, 64, 64, 3, 3), 2),
          general(conv(2, 9, 10, 32, 48, 3, 3), 2, 2, true)};
}

std::vector<OpShape> shapes() {
  std::vector<OpShape> list = {
      conv(1, 1, 1, 1, 1, 1, 1),     conv(1, 3, 3, 1, 1, 3, 3),     conv(2, 5, 7, 3, 8, 3, 3),
      conv(1, 8, 8, 8, 3, 3, 3),     conv(3, 7, 5, 33, 17, 3, 3),   conv(2, 6, 9, 5, 70, 1, 1),
      conv(1, 9, 4, 16, 33, 5, 5),   conv(2, 7, 7, 4, 6, 7, 7),     conv(1, 2, 2, 3, 4, 7, 7),
      conv(2, 11, 3, 70, 1, 3, 5),   conv(1, 4, 6, 2, 3, 1, 3),     conv(1, 1, 13, 9, 12, 7, 1),
      conv(2, 4, 4, 128, 256, 3, 3), conv(2, 8, 8, 256, 128, 3, 3), conv(1, 16, 16, 256, 3, 3, 3),
      conv(2, 16, 16, 3, 256, 3, 3), conv(3, 4, 4, 128, 128, 3, 3), conv(2, 5, 6, 16, 37, 1, 1),
      conv(3, 1, 8, 131, 8, 5, 3)};
  const auto more = general_shapes();
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

/// First layers, for `few_channels`: kernels of one tap and of as many as fit, filters that no slab divides, images
/// smaller and larger than a tile, and more tiles than run at once.
std::vector<OpShape> few_channels_shapes() {
  return {conv(2, 9, 14, 3, 72, 1, 1),
          conv(1, 33, 7, 1, 8, 7, 7),
          conv(3, 5, 6, 2, 40, 5, 3),
          conv(2, 3, 130, 3, 136, 3, 5),
          conv(17, 64, 65, 3, 8, 5, 5),
          conv(2, 1, 61, 1, 24, 1, 9),
          conv(2, 32, 32, 3, 64, 9, 9),
          conv(1, 20, 20, 3, 32, 11, 11),
          general(conv(2, 33, 30, 3, 64, 7, 7), 2),
          general(conv(1, 19, 22, 2, 16, 3, 5), 3, 2),
          general(conv(2, 17, 18, 3, 48, 5, 5), 1, 2),
          general(conv(3, 12, 11, 1, 128, 3, 3), 2, 1, true),
          general(conv(9, 65, 64, 3, 200, 3, 3), 2, 3, true)};
}

/// For `patches`: each number of fragments, odd and even numbers of chunks and of their pairs, tiles of several images
/// and of parts of one, images smaller than the kernel, and more tiles than run at once with one patch in shared memory
/// and with two.
std::vector<OpShape> patches_shapes() {
  return {conv(2, 9, 10, 8, 8, 3, 3),
          conv(3, 7, 5, 24, 16, 5, 5),
          conv(1, 13, 11, 40, 8, 3, 5),
          conv(2, 9, 8, 16, 48, 3, 3),
          conv(1, 11, 33, 64, 24, 3, 3),
          conv(1, 14, 15, 24, 24, 7, 7),
          conv(2, 1, 1, 24, 8, 3, 3),
          conv(1, 3, 2, 16, 24, 7, 3),
          general(conv(2, 1, 300, 8, 24, 1, 7), 1, 1, true),
          general(conv(1, 12, 10, 8, 40, 5, 3), 1, 1, true),
          general(conv(2, 11, 12, 24, 32, 3, 3), 1, 2),
          conv(661, 5, 4, 24, 24, 3, 3),
          conv(67, 33, 17, 16, 64, 3, 3),
          conv(68, 17, 33, 64, 8, 3, 3)};
}

/// The same, those of few_channels_shapes() and patches_shapes(), and for `hopper_general` channels that no slice,
/// step or tile of its divides (112 bytes of the summed ones among them), strides whose remainders have no taps or no
/// pixels, images that reach beyond both ends.
std::vector<OpShape> slice_shapes() {
  std::vector<OpShape> list = shapes();
  const std::vector<OpShape> more = {conv(1, 5, 6, 56, 72, 1, 1),
                                     conv(1, 4, 5, 40, 56, 5, 3),
                                     conv(1, 1, 35, 120, 112, 1, 9),
                                     general(conv(2, 8, 7, 48, 96, 3, 3), 2),
                                     general(conv(2, 1, 1, 64, 32, 3, 3), 2),
                                     general(conv(1, 5, 4, 40, 32, 5, 5), 2, 2),
                                     general(conv(1, 10, 16, 32, 88, 3, 5), 2, 3, true),
                                     general(conv(1, 13, 11, 56, 64, 3, 3), 1, 4, true),
                                     conv(3, 9, 8, 8, 16, 3, 3),
                                     conv(2, 17, 9, 24, 8, 1, 1),
                                     general(conv(2, 15, 16, 16, 24, 3, 3), 2),
                                     conv(1, 12, 10, 40, 8, 5, 5)};
  list.insert(list.end(), more.begin(), more.end());
  for (const std::vector<OpShape>& others : {few_channels_shapes(), patches_shapes()}) {
    list.insert(list.end(), others.begin(), others.end());
  }
  return list;
}

/// The same, and for `hopper_general_turned`, whose lanes are images: as many as fill them, and more than that with
/// strides, dilation and one dimension; no strips, unlike those of the few images before.
std::vector<OpShape> weights_shapes() {
  std::vector<OpShape> list = slice_shapes();
  list.push_back(conv(64, 3, 2, 72, 64, 3, 3));
  list.push_back(general(conv(35, 5, 4, 64, 72, 5, 5), 2));
  list.push_back(general(conv(66, 1, 9, 64, 136, 1, 7), 1, 2));
  return list;
}

std::vector<OpShape> bias_shapes() {
  auto list = shapes();
  list.push_back(conv(64, 32, 32, 1, 3, 3, 3));
  return list;
}

/// The layers of the models with small batches, and sizes that no tile divides. The last is for slim tiles of `hopper`:
/// so many patches that on 132 multiprocessors the large ones are chosen.
std::vector<OpShape> chain_shapes() {
  return {conv(3, 32, 32, 3, 256, 3, 3),   conv(2, 16, 16, 256, 128, 3, 3), conv(3, 8, 8, 128, 128, 3, 3),
          conv(3, 16, 16, 128, 256, 3, 3), conv(2, 32, 32, 256, 3, 3, 3),   conv(1, 16, 16, 64, 64, 3, 3),
          conv(5, 8, 8, 64, 192, 3, 3),    conv(3, 32, 32, 24, 3, 3, 3),    conv(1, 8, 12, 3, 8, 3, 3),
          conv(2, 5, 6, 3, 7, 3, 3),       conv(2, 10, 12, 3, 7, 3, 3),     conv(1, 4, 3, 9, 5, 5, 1),
          conv(1, 8, 6, 9, 5, 5, 1),       conv(9, 4, 4, 64, 64, 3, 3),     conv(17, 4, 4, 64, 192, 3, 3),
          conv(3, 3, 2, 64, 64, 3, 3),     conv(8, 2, 4, 128, 64, 3, 3),    conv(1, 1, 1, 64, 64, 3, 3),
          conv(3, 9, 13, 64, 128, 3, 3),   conv(2, 11, 17, 192, 64, 3, 3),  conv(3, 7, 10, 64, 64, 3, 3),
          conv(331, 10, 2, 64, 64, 3, 3),  conv(2, 9, 10, 3, 24, 5, 5),     conv(3, 16, 18, 1, 64, 7, 7),
          conv(1, 6, 7, 2, 8, 1, 1),       conv(2, 7, 12, 3, 72, 3, 3)};
}

/// The same, and for units of all taps of `hopper`: so many patches of bundles and of lines that on 132 multiprocessors
/// a split has more of them than its ring has stages, and channels of several units.
std::vector<OpShape> weights_chain_shapes() {
  std::vector<OpShape> list = chain_shapes();
  list.push_back(conv(2641, 1, 5, 64, 64, 3, 3));
  list.push_back(conv(19, 6, 9, 128, 192, 3, 3));
  list.push_back(conv(9, 4, 4, 512, 256, 3, 3));
  list.push_back(general(conv(9505, 1, 7, 64, 64, 1, 7), 1, 1, true));
  list.push_back(general(conv(5, 1, 30, 192, 128, 1, 7), 1, 1, true));
  list.push_back(conv(3, 1, 18, 128, 64, 1, 5));
  return list;
}

/// For calls that cover a pooling in windows of so many columns.
OpShape pooled(OpShape shape, int columns) {
  shape.window_width = columns;
  return shape;
}

/// For norms behind `hopper_general`: channels that no tile divides, in several tiles and with half a quarter at a
/// tile's end; strides, dilation and no padding; windows that leave something over; of the last so many pixels that on
/// 132 multiprocessors blocks have several tiles, the last one in part.
std::vector<OpShape> general_chain_shapes() {
  return {general(conv(2, 9, 14, 48, 96, 3, 3), 2),
          conv(3, 5, 7, 40, 72, 1, 1),
          conv(2, 11, 9, 32, 200, 5, 5),
          general(conv(2, 13, 11, 56, 112, 3, 3), 1, 2, true),
          general(pooled(conv(3, 17, 19, 64, 64, 3, 3), 3), 2),
          conv(2, 1, 35, 120, 48, 1, 9),
          conv(31, 38, 41, 32, 88, 1, 1)};
}

/// The same, and lines of characters: those of the models, outputs of one position, numbers of positions and filters
/// that no tile divides; with pooling, lines that windows fill or not, and more than run at once. Two are for
/// calls that cover a norm: windows that leave something over, and so many patches that blocks of `hopper_normed` have
/// several tiles.
std::vector<OpShape> forward_chain_shapes() {
  std::vector<OpShape> list = chain_shapes();
  const auto add = [&](OpShape shape, bool valid) { list.push_back(general(shape, 1, 1, valid)); };
  add(conv(2, 1, 41, 70, 256, 1, 7), true);
  add(conv(3, 1, 23, 69, 72, 1, 7), false);
  add(conv(1, 1, 7, 95, 64, 1, 7), true);
  add(conv(1, 1, 530, 5, 256, 1, 7), true);
  add(conv(2, 1, 37, 5, 24, 1, 3), false);
  add(conv(5, 1, 1, 1, 8, 1, 3), false);
  add(conv(1, 1, 33, 70, 64, 1, 5), true);
  add(conv(2, 3, 19, 95, 72, 1, 5), false);
  add(conv(3, 1, 17, 69, 8, 1, 1), false);
  add(conv(1, 1, 25, 70, 24, 1, 9), true);
  add(conv(2, 1, 13, 69, 64, 1, 9), false);
  add(pooled(conv(2, 1, 58, 72, 256, 1, 7), 2), true);
  add(pooled(conv(3, 1, 65, 70, 136, 1, 7), 3), false);
  add(pooled(conv(2, 3, 29, 86, 64, 1, 5), 2), false);
  add(pooled(conv(240, 1, 400, 5, 8, 1, 3), 3), true);
  // As many characters as the table of `shared_rows_normed` holds.
  add(pooled(conv(2, 1, 31, 106, 256, 1, 7), 3), true);
  add(pooled(conv(2, 1, 27, 142, 256, 1, 5), 2), true);
  add(pooled(conv(2, 1, 23, 215, 256, 1, 3), 3), false);
  list.push_back(pooled(conv(2, 9, 14, 64, 192, 3, 3), 3));
  list.push_back(conv(600, 5, 1, 64, 192, 3, 3));
  // For `hopper_pooled`, whose patches are eight windows of eight texts; the last makes more tiles than run at once.
  add(pooled(conv(2, 1, 64, 256, 256, 1, 7), 3), true);
  add(pooled(conv(9, 1, 29, 64, 192, 1, 7), 3), false);
  add(pooled(conv(17, 1, 26, 128, 64, 1, 5), 3), true);
  add(pooled(conv(3, 1, 49, 64, 128, 1, 3), 3), false);
  add(pooled(conv(1, 1, 6389, 64, 64, 1, 3), 3), true);
  const auto general_ones = general_chain_shapes();
  list.insert(list.end(), general_ones.begin(), general_ones.end());
  return list;
}

/// The same, and lines for `hopper_unpooled`; of the last two it has more tiles of either size than run at once. Then
/// images for the tiles of `hopper` that add a gradient: so many patches that on 132 multiprocessors the large ones are
/// chosen, of the last more than run at once.
std::vector<OpShape> backward_input_chain_shapes() {
  std::vector<OpShape> list = chain_shapes();
  list.push_back(general(conv(2, 1, 22, 256, 256, 1, 7), 1, 1, true));
  list.push_back(conv(9, 1, 14, 192, 64, 1, 7));
  list.push_back(general(conv(17, 1, 9, 64, 128, 1, 5), 1, 1, true));
  list.push_back(conv(3, 1, 17, 128, 64, 1, 3));
  list.push_back(general(conv(1, 1, 4301, 64, 64, 1, 3), 1, 1, true));
  list.push_back(conv(1, 1, 6389, 64, 64, 1, 3));
  list.push_back(conv(150, 10, 2, 128, 64, 3, 3));
  list.push_back(conv(1060, 1, 3, 128, 64, 3, 3));
  list.push_back(conv(1056, 1, 5, 128, 64, 3, 3));
  return list;
}

OpShape random_shape(Random& random) {
  OpShape shape = test_shapes::random_image(random);
  shape.out_channels = test_shapes::channels(random);
  shape.kernel_height = 2 * test_shapes::between(random, 0, 3) + 1;
  shape.kernel_width = random() % 2 == 0 ? shape.kernel_height : 2 * test_shapes::between(random, 0, 3) + 1;
  if (random() % 8 == 0) {
    shape.in_channels = test_shapes::between(random, 1, 3);
    shape.out_channels = 8 * test_shapes::between(random, 1, 16);
  } else if (random() % 8 == 0) {
    shape.in_channels = 8 * test_shapes::between(random, 4, 16);
    shape.out_channels = 8 * test_shapes::between(random, 4, 16);
  }
  if (random() % 3 != 0) return shape;
  shape.stride = test_shapes::between(random, 1, 3);
  shape.dilation = test_shapes::between(random, 1, 3);
  shape.valid = random() % 2 == 0;
  if (output_height(shape) == 0) shape.height = static_cast<int>(kernel_reach(shape, shape.kernel_height));
  if (output_width(shape) == 0) shape.width = static_cast<int>(kernel_reach(shape, shape.kernel_width));
  return shape;
}

/// With a channel count that takes the scalar path and one that takes the vector path; then one with more tiles of
/// `hopper_general` than run at once; the others are for tiles of `pipelined` that fewer pixels do not take.
std::vector<OpShape> large_forward() {
  return {conv(4, 32, 32, 3, 1024, 1, 1),
          conv(4, 32, 32, 16, 1024, 1, 1),
          conv(2, 32, 32, 3, 1024, 1, 1),
          conv(2, 32, 32, 16, 1024, 1, 1),
          conv(1, 32, 32, 3, 512, 1, 1),
          conv(1, 32, 32, 16, 512, 1, 1),
          general(conv(4, 63, 64, 3, 1024, 1, 1), 2),
          general(conv(2, 36, 32, 16, 512, 3, 1), 1, 2, true),
          conv(23, 38, 40, 32, 32, 1, 1),
          conv(17, 32, 32, 4, 64, 1, 1),
          conv(17, 32, 32, 4, 48, 1, 1),
          conv(17, 32, 32, 4, 24, 1, 1),
          conv(17, 32, 32, 4, 16, 1, 1),
          general(conv(65, 32, 32, 3, 128, 1, 1), 2),
          general(conv(65, 32, 32, 3, 93, 1, 1), 2),
          general(conv(65, 33, 33, 3, 64, 1, 1), 2),
          general(conv(65, 33, 33, 3, 45, 1, 1), 2),
          general(conv(65, 33, 33, 3, 31, 1, 1), 2),
          general(conv(65, 33, 33, 3, 24, 1, 1), 2),
          general(conv(65, 33, 33, 16, 21, 1, 1), 2)};
}

std::vector<OpShape> large_backward_input() {
  return {conv(4, 32, 32, 1024, 3, 1, 1),
          conv(4, 32, 32, 1024, 16, 1, 1),
          conv(2, 32, 32, 1024, 3, 1, 1),
          conv(2, 32, 32, 1024, 16, 1, 1),
          conv(1, 32, 32, 512, 3, 1, 1),
          conv(1, 32, 32, 512, 16, 1, 1),
          general(conv(4, 32, 32, 1024, 3, 3, 1), 2),
          general(conv(2, 32, 36, 512, 16, 1, 3), 1, 2, true),
          general(conv(23, 76, 80, 32, 32, 1, 1), 2),
          general(conv(33, 16, 16, 96, 4, 1, 1), 4),
          general(conv(65, 16, 16, 48, 4, 1, 1), 4),
          general(conv(33, 16, 16, 126, 3, 1, 1), 4),
          general(conv(65, 16, 16, 62, 3, 1, 1), 4),
          general(conv(65, 16, 16, 30, 3, 1, 1), 4),
          general(conv(33, 16, 16, 94, 12, 1, 1), 4),
          general(conv(65, 16, 16, 46, 12, 1, 1), 4)};
}

/// The splits of `hopper_general` for the sixth to eighth have more stages than its ring: of one unit and of many, and
/// where the taps are in columns; for the next one those of `hopper_general_turned`. The others are for tiles of
/// `pipelined` that fewer pixels do not take.
std::vector<OpShape> large_backward_weights() {
  return {conv(1, 4, 4, 128, 1024, 3, 3),
          conv(2, 32, 32, 3, 1024, 1, 1),
          conv(2, 32, 32, 1024, 3, 1, 1),
          general(conv(1, 7, 8, 128, 1024, 3, 3), 2),
          general(conv(2, 63, 64, 3, 1024, 1, 1), 2),
          conv(64, 34, 34, 32, 32, 1, 1),
          general(conv(8, 31, 32, 256, 264, 3, 3), 2),
          general(conv(9, 17, 16, 40, 448, 3, 3), 1, 2, true),
          conv(32, 17, 16, 64, 64, 3, 3),
          general(conv(9, 16, 16, 4, 128, 1, 1), 2),
          general(conv(9, 16, 16, 16, 48, 3, 3), 2),
          general(conv(65, 16, 16, 4, 32, 1, 1), 2),
          general(conv(9, 16, 16, 3, 126, 1, 1), 2),
          general(conv(9, 16, 16, 3, 93, 1, 1), 2),
          general(conv(1, 24, 24, 16, 45, 3, 3), 1, 2),
          general(conv(65, 16, 16, 3, 31, 1, 1), 2)};
}

OpShape differentiated() {
  return conv(2, 4, 3, 2, 3, 3, 5);
}

std::vector<OpShape> differentiated_too() {
  return {general(conv(1, 5, 4, 2, 3, 3, 5), 2, 3), general(conv(1, 6, 5, 2, 2, 3, 3), 2, 1, true)};
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = slice_shapes,
          .random_shape = random_shape,
          .large_shapes = large_forward,
          .chain_shapes = forward_chain_shapes,
          .no_derivative = kForwardOp};
}

OpTests backward_input_tests() {
  return {.shapes = slice_shapes,
          .random_shape = random_shape,
          .large_shapes = large_backward_input,
          .chain_shapes = backward_input_chain_shapes,
          .derivative = Derivative{Op::conv2d_forward, differentiated(), Name::input, Name::input_gradient,
                                   differentiated_too()}};
}

OpTests backward_weights_tests() {
  return {.shapes = weights_shapes,
          .random_shape = random_shape,
          .large_shapes = large_backward_weights,
          .chain_shapes = weights_chain_shapes,
          .derivative = Derivative{Op::conv2d_forward, differentiated(), Name::weights,
                                   Name::weights_gradient, differentiated_too()}};
}

OpTests backward_bias_tests() {
  return {
      .shapes = bias_shapes,
      .random_shape = random_shape,
      .derivative = Derivative{Op::bias_forward, conv(2, 5, 4, 3, 3, 1, 1), Name::bias, Name::bias_gradient}};
}

}  // namespace warpscope::ops::conv2d
