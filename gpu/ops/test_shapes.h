#pragma once
// Shapes, random sizes and what else the tests of several ops share (OpTests).

#include <cstdint>
#include <vector>

#include "gpu/ops/op_tests.h"

namespace warpscope::ops::test_shapes {

OpShape image(std::int64_t batch, int height, int width, int channels);

/// `image` for calls that cover a pooling in windows of rows x columns (OpShape::window_height).
OpShape pooled(OpShape image, int rows, int columns);

/// `image` for calls that cover a convolution before their own op, of so many channels (OpShape::patch_channels).
OpShape convolved(OpShape image, int patch_channels);

/// Even and odd images of at least 2x2, which every op takes that keeps the channels.
std::vector<OpShape> images();

/// Numbers of parameters, each with a batch.
std::vector<OpShape> parameters();

/// Uniform, both ends included.
int between(Random& random, int low, int high);

/// 1 to 513: as many below 23 as above; one of four is next to a power of two.
int channels(Random& random);

/// A height or width up to 19; three of four are odd.
int extent(Random& random, int low = 1);

/// 1 to 5; one of three is 1.
int small_batch(Random& random);

/// 1 to 130,000, as many below 360 as above.
std::int64_t count(Random& random);

/// The derivative of an op with one input and one output, both images.
Derivative image_derivative(Op forward);

/// Makes `name` bytes / 255 (ops/symbols.h), as batch.gather does: three of four are 1 to `most`, the others any.
void draw_symbols(const Draw& draw, Name name, int most);

/// Puts the control block of a gather at any position of the order.
void any_position(const Draw& draw);

OpShape random_image(Random& random);
OpShape random_parameters(Random& random);

}  // namespace warpscope::ops::test_shapes
