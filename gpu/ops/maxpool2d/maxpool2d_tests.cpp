#include <algorithm>
#include <cmath>
#include <numeric>

#include "gpu/ops/maxpool2d/maxpool2d.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"
#include "gpu/ops/variant.h"
#include "gpu/ops/view4.h"

namespace warpscope::ops::maxpool2d {

Variant reference_forward();  // maxpool2d_reference.cpp
namespace {

OpShape windowed(OpShape shape, int height, int width) {
  shape.kernel_height = height;
  shape.kernel_width = width;
  return shape;
}

std::vector<OpShape> shapes() {
  std::vector<OpShape> list;
  for (const OpShape& image : test_shapes::images()) list.push_back(windowed(image, 2, 2));
  list.push_back(windowed(test_shapes::image(1, 1, 2, 1), 1, 2));
  list.push_back(windowed(test_shapes::image(2, 1, 11, 5), 1, 3));
  list.push_back(windowed(test_shapes::image(2, 5, 12, 24), 1, 3));
  list.push_back(windowed(test_shapes::image(1, 5, 3, 1), 3, 3));
  list.push_back(windowed(test_shapes::image(2, 9, 10, 33), 3, 3));
  list.push_back(windowed(test_shapes::image(3, 7, 8, 12), 2, 3));
  list.push_back(windowed(test_shapes::image(2, 8, 5, 7), 3, 2));
  list.push_back(windowed(test_shapes::image(2, 6, 3, 4), 2, 1));
  list.push_back(windowed(test_shapes::image(2, 1, 140003, 1), 1, 2));  // more than 2^16 windows of an image
  return list;
}

OpShape random_shape(Random& random) {
  OpShape shape = test_shapes::random_image(random);
  if (random() % 2 == 0) {
    shape = windowed(shape, 2, 2);
  } else {
    shape = windowed(shape, test_shapes::between(random, 1, 3), test_shapes::between(random, 2, 3));
  }
  shape.height = test_shapes::extent(random, shape.kernel_height);
  shape.width = test_shapes::extent(random, shape.kernel_width);
  return shape;
}

Derivative derivative() {
  Derivative made = test_shapes::image_derivative(Op::maxpool2d_forward);
  made.shape = windowed(made.shape, 2, 2);
  return made;
}

void round_to_quarters(std::vector<double>& values) {
  for (double& value : values) value = std::round(4 * value) / 4;
}

/// Windows with ties.
void fit_forward(const Draw& draw) {
  draw.edit(Name::input, round_to_quarters);
}

/// An argmax that the forward reference made.
void fit_backward(const Draw& draw) {
  if (!draw.given(Name::argmax)) return;
  const OpShape& s = draw.shape;
  std::normal_distribution<double> normal;
  std::vector<double> input(static_cast<std::size_t>(s.batch * s.height * s.width * s.in_channels));
  for (double& value : input) value = normal(draw.random);
  round_to_quarters(input);
  std::vector<double> output(draw.operands[Name::argmax].size());
  OpCall call;
  call.shape = s;
  call.precision = core::Precision::fp64;
  call.operands[Name::input] = input.data();
  call.operands[Name::output] = output.data();
  call.operands[Name::argmax] = draw.operands[Name::argmax].data();
  reference_forward().launch(call);
}

/// Values that are all different.
void smooth(const Draw& draw) {
  draw.edit(Name::input, [&](std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01 * static_cast<double>(i);
    std::shuffle(values.begin(), values.end(), draw.random);
  });
}

double root_mean_square(const std::vector<double>& values) {
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Calls body(values, element) with the values of every window, in the order of the codes and of the output.
template <class Body>
void for_each_window(const OpShape& s, const std::vector<double>& values, Body body) {
  const View4<const double> x{values.data(), s.height, s.width, s.in_channels};
  std::vector<double> window(static_cast<std::size_t>(s.kernel_height) *
                             static_cast<std::size_t>(s.kernel_width));
  std::size_t element = 0;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (int i = 0; i < pooled_height(s); ++i) {
      for (int j = 0; j < pooled_width(s); ++j) {
        for (int c = 0; c < s.in_channels; ++c) {
          for (std::size_t code = 0; code < window.size(); ++code) {
            const auto place = static_cast<int>(code);
            window[code] = x(n, s.kernel_height * i + place / s.kernel_width,
                             s.kernel_width * j + place % s.kernel_width, c);
          }
          body(window, element++);
        }
      }
    }
  }
}

/// Windows whose two largest values rounding could swap. Equal ones give the same winner.
double corners(const OpShape& shape, const Operands& before, double margin) {
  const auto values = decode(before[Name::input], core::ElementType::f64);
  const double near = 2 * margin * root_mean_square(values);
  std::int64_t windows = 0;
  std::int64_t ties = 0;
  for_each_window(shape, values, [&](std::vector<double> window, std::size_t) {
    std::sort(window.begin(), window.end());
    const double gap = window.back() - window[window.size() - 2];
    ++windows;
    if (gap > 0 && gap < near) ++ties;
  });
  return static_cast<double>(ties) / static_cast<double>(windows);
}

/// Whether each code points at a value that is the largest of its window but for rounding: eight times the
/// error that the tolerance allows the values on average.
bool accepts(const OpShape& shape, const Operands& before, Name name, std::span<const std::byte> written,
             double tolerance) {
  if (name != Name::argmax) return false;
  const auto values = decode(before[Name::input], core::ElementType::f64);
  const double slack = 8 * tolerance * root_mean_square(values);
  bool right = true;
  for_each_window(shape, values, [&](const std::vector<double>& window, std::size_t element) {
    const auto code = std::to_integer<std::size_t>(written[element]);
    const double largest = *std::max_element(window.begin(), window.end());
    // Numbers far above the others lie farther apart where they are stored.
    const double apart = std::max(slack, 2 * tolerance * std::abs(largest));
    right = right && code < window.size() && window[code] >= largest - apart;
  });
  return right;
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = shapes,
          .random_shape = random_shape,
          .fit = fit_forward,
          .smooth = smooth,
          .no_derivative = kForwardOp,
          .corners = corners,
          .accepts = accepts,
          .lets_nan_through = true};
}

OpTests backward_tests() {
  return {.shapes = shapes, .random_shape = random_shape, .fit = fit_backward, .derivative = derivative()};
}

}  // namespace warpscope::ops::maxpool2d
