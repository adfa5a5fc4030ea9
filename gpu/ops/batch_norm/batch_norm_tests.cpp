#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "gpu/ops/norm_draw.h"
#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"
#include "gpu/ops/update_draw.h"

namespace warpscope::ops::batch_norm {
namespace {

/// One position, whose variance is 0, one channel, many channels, and the long sums of a whole batch, which a
/// GPU's variants split, with as many rest positions as can be.
std::vector<OpShape> shapes() {
  auto list = test_shapes::images();
  const auto add = [&](std::int64_t batch, int height, int width, int channels) {
    list.push_back(test_shapes::image(batch, height, width, channels));
  };
  add(1, 1, 1, 1), add(1, 1, 1, 19), add(2, 1, 1, 40), add(257, 1, 1, 5), add(33, 3, 1, 64);
  add(2, 3, 1, 1000), add(7, 1, 3, 1027), add(64, 32, 32, 3), add(31, 23, 13, 8), add(1, 127, 129, 1);
  return list;
}

/// With a pooling around: known and other windows, a single one, rows and columns that fill none, channels in whole
/// vectors and not, and as many windows as a GPU's variants split.
std::vector<OpShape> pooled_shapes() {
  using test_shapes::image;
  using test_shapes::pooled;
  return {pooled(image(1, 2, 2, 1), 2, 2),     pooled(image(3, 7, 9, 19), 2, 2),
          pooled(image(2, 8, 6, 256), 2, 2),   pooled(image(5, 33, 31, 40), 2, 2),
          pooled(image(1, 1, 3, 19), 1, 3),    pooled(image(3, 1, 14, 40), 1, 3),
          pooled(image(2, 2, 12, 256), 1, 3),  pooled(image(2, 3, 3, 40), 3, 3),
          pooled(image(2, 11, 10, 256), 3, 3), pooled(image(1, 130, 127, 1), 3, 3),
          pooled(image(2, 5, 7, 1), 1, 2),     pooled(image(3, 4, 9, 40), 1, 2),
          pooled(image(2, 8, 5, 19), 3, 2),    pooled(image(2, 7, 8, 40), 2, 3),
          pooled(image(2, 9, 4, 256), 2, 1)};
}

/// The same, and with a convolution before it: 1 to 4 channels; filters that fill warps and blocks or not; one
/// position, images smaller than a tile, that tiles fill or not, and more of them than parts that sums are taken in.
std::vector<OpShape> chain_shapes() {
  using test_shapes::convolved;
  using test_shapes::image;
  std::vector<OpShape> list = pooled_shapes();
  list.insert(list.end(), {convolved(image(1, 1, 1, 32), 3), convolved(image(3, 2, 1, 64), 1),
                           convolved(image(2, 8, 16, 32), 3), convolved(image(2, 7, 9, 64), 3),
                           convolved(image(1, 5, 33, 96), 4), convolved(image(3, 9, 6, 128), 1),
                           convolved(image(1, 17, 18, 32), 2), convolved(image(2, 3, 4, 256), 3),
                           convolved(image(1, 10, 20, 288), 3), convolved(image(2, 9, 17, 256), 4),
                           convolved(image(600, 1, 1, 256), 3), convolved(image(600, 2, 3, 160), 3),
                           convolved(image(550, 3, 2, 64), 4), convolved(image(40, 32, 32, 64), 3)});
  return list;
}

constexpr OpShape kSmall{.batch = 2, .height = 3, .width = 2, .in_channels = 3};

void fit_forward(const Draw& draw) {
  norm_draw::fit_input(draw, norm_draw::Over::positions_of_a_channel);
}

/// One of three draws has a channel that is not finite. Means point where the running ones do, so that
/// nothing cancels. Where a chain computes the statistics, none are drawn, and running means are larger than a tenth of
/// those that it may find near zero.
void fit_track(const Draw& draw) {
  update_draw::settings(draw);
  norm_draw::fit_deviations(draw);
  draw.edit(Name::running_variance, update_draw::square);
  const std::vector<double> statistics = draw.values(Name::statistics);
  if (statistics.empty()) {
    draw.edit(Name::running_mean, [](std::vector<double>& means) {
      for (double& mean : means) mean = std::abs(mean) + 1.0;
    });
    return;
  }
  draw.edit(Name::running_mean, [&](std::vector<double>& means) {
    for (std::size_t c = 0; c < means.size(); ++c) means[c] = std::copysign(means[c], statistics[c]);
  });
  constexpr double kNotFinite[] = {std::numeric_limits<double>::quiet_NaN(),
                                   std::numeric_limits<double>::infinity(), 0.0};  // the last is 1 / infinity
  draw.edit(Name::statistics, [&](std::vector<double>& values) {
    if (!update_draw::one_in(draw.random, 3)) return;
    const std::size_t channels = values.size() / 2;
    const auto kind = draw.random() % 3;
    const std::size_t place = draw.random() % channels;
    values[kind == 1 ? place : channels + place] = kNotFinite[kind];
  });
}

/// Variances are not negative.
void fit_merge(const Draw& draw) {
  draw.edit(Name::moments, [](std::vector<double>& values) {
    for (std::size_t i = values.size() / 2; i < values.size(); ++i) values[i] *= values[i];
  });
}

/// At the first position both sums point where what they are taken from does not, so that a single number does not
/// cancel.
void fit_backward_input(const Draw& draw) {
  norm_draw::fit_backward(draw);
  const std::vector<double> x = draw.values(Name::input);
  const std::vector<double> dy = draw.values(Name::output_gradient);
  const std::vector<double> means = draw.values(Name::statistics);
  draw.edit(Name::bias_gradient, [&](std::vector<double>& sums) {
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] = std::copysign(sums[c], -dy[c]);
  });
  draw.edit(Name::weights_gradient, [&](std::vector<double>& sums) {
    for (std::size_t c = 0; c < sums.size(); ++c) {
      sums[c] = std::copysign(sums[c], (x[c] - means[c]) * -dy[c]);
    }
  });
}

/// Shapes of a sum over ranks. A proof has one rank; tests/training has several.
std::vector<OpShape> channel_shapes() {
  std::vector<OpShape> list;
  for (const int channels : {1, 3, 40, 1027})
    list.push_back({.in_channels = channels, .linked = true, .peers = true});
  return list;
}
OpShape random_channels(Random& random) {
  return {.in_channels = test_shapes::channels(random), .linked = true, .peers = true};
}

Derivative derivative(Name variable, Name result) {
  return {Op::batch_norm_forward, kSmall, variable, result};
}

}  // namespace

OpTests forward_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .chain_shapes = chain_shapes,
          .fit = fit_forward,
          .smooth = norm_draw::smooth,
          .no_derivative = kForwardOp};
}

OpTests infer_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .chain_shapes = chain_shapes,
          .fit = norm_draw::fit_running,
          .no_derivative = kForwardOp};
}

OpTests backward_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .chain_shapes = chain_shapes,
          .fit = norm_draw::fit_backward,
          .derivative = derivative(Name::input, Name::input_gradient),
          .more_derivatives = {derivative(Name::weights, Name::weights_gradient),
                               derivative(Name::bias, Name::bias_gradient)}};
}

OpTests moments_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .fit = fit_forward,
          .no_derivative = kForwardOp};
}

OpTests allreduce_moments_tests() {
  return {.shapes = channel_shapes,
          .random_shape = random_channels,
          .fit = fit_merge,
          .no_derivative = kNoFunction};
}

OpTests backward_sums_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .fit = norm_draw::fit_backward,
          .derivative = derivative(Name::weights, Name::weights_gradient),
          .more_derivatives = {derivative(Name::bias, Name::bias_gradient)}};
}

OpTests allreduce_sums_tests() {
  return {.shapes = channel_shapes, .random_shape = random_channels, .no_derivative = kNoFunction};
}

OpTests backward_input_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .fit = fit_backward_input,
          .no_derivative = "a piece of batch_norm.backward, whose sums come from other ops"};
}

OpTests track_tests() {
  return {.shapes = shapes,
          .random_shape = test_shapes::random_image,
          .fit = fit_track,
          .no_derivative = kNoFunction};
}

}  // namespace warpscope::ops::batch_norm
