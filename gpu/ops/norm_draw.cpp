#include "gpu/ops/norm_draw.h"

#include <cmath>

#include "gpu/ops/update_draw.h"

namespace warpscope::ops::norm_draw {
namespace {

constexpr double kFarOff = 1000;

void add_to(const Draw& draw, Name name, double offset, std::size_t divisor = 1) {
  draw.edit(name, [&](std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size() / divisor; ++i) values[i] += offset;
  });
}

/// Half of the means have equal values.
void make_equal(const Draw& draw, Over over) {
  const auto channels = static_cast<std::size_t>(draw.shape.in_channels);
  draw.edit(Name::input, [&](std::vector<double>& values) {
    const bool by_position = over == Over::channels_of_a_position;
    const std::size_t means = by_position ? values.size() / channels : channels;
    std::vector<bool> equal(means);
    for (std::size_t i = 0; i < means; ++i) equal[i] = update_draw::one_in(draw.random, 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t mean = by_position ? i / channels : i % channels;
      if (equal[mean]) values[i] = values[by_position ? mean * channels : mean];
    }
  });
}

}  // namespace

void fit_input(const Draw& draw, Over over) {
  const auto kind = draw.random() % 4;
  if (!draw.far_means) return;
  if (kind == 0) add_to(draw, Name::input, kFarOff);
  if (kind == 1) make_equal(draw, over);
}

void fit_deviations(const Draw& draw) {
  draw.edit(Name::statistics, [&](std::vector<double>& values) {
    for (std::size_t i = values.size() / 2; i < values.size(); ++i) {
      values[i] = update_draw::uniform(draw.random, 0.5, 2.0);
    }
  });
}

void fit_backward(const Draw& draw) {
  fit_deviations(draw);
  if (update_draw::one_in(draw.random, 4) && draw.far_means) {
    add_to(draw, Name::input, kFarOff);
    add_to(draw, Name::statistics, kFarOff, 2);
  }
  // A sum of few values may cancel by chance, and then no error is small beside it.
  add_to(draw, Name::statistics, -1.5, 2);
  add_to(draw, Name::output_gradient, 1.5);
}

void fit_running(const Draw& draw) {
  draw.edit(Name::running_variance, update_draw::square);
  const std::vector<double> input = draw.values(Name::input);
  const std::vector<double> means = draw.values(Name::running_mean);
  const std::vector<double> gamma = draw.values(Name::weights);
  draw.edit(Name::bias, [&](std::vector<double>& beta) {
    for (std::size_t c = 0; c < beta.size() && !input.empty(); ++c) {
      beta[c] = std::copysign(beta[c], (input[c] - means[c]) * gamma[c]);
    }
  });
  if (!update_draw::one_in(draw.random, 4) || !draw.far_means) return;
  add_to(draw, Name::input, kFarOff);
  add_to(draw, Name::running_mean, kFarOff);
}

void smooth(const Draw& draw) {
  std::normal_distribution<double> normal(0.0, 2.0);
  draw.edit(Name::input, [&](std::vector<double>& values) {
    for (double& value : values) value = normal(draw.random);
  });
  draw.edit(Name::weights, [](std::vector<double>& values) {
    for (double& value : values) value += std::copysign(1.0, value);
  });
}

}  // namespace warpscope::ops::norm_draw
