#include "gpu/ops/update_draw.h"

#include <cmath>
#include <limits>

#include "gpu/ops/step/step.h"

namespace warpscope::ops::update_draw {

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

bool one_in(Random& random, unsigned n) {
  return random() % n == 0;
}

void settings(const Draw& draw, bool decays) {
  Random& random = draw.random;
  draw.edit_item<step::StepControl>(Name::control, [&](step::StepControl& control) {
    control.learning_rate = static_cast<float>(std::pow(10.0, uniform(random, -3.0, -1.0)));
    control.first_decay = static_cast<float>(uniform(random, 0.3, 0.99));
    control.second_decay = static_cast<float>(1.0 - std::pow(10.0, uniform(random, -4.0, -0.5)));
    control.epsilon = static_cast<float>(std::pow(10.0, uniform(random, -8.0, -3.0)));
    if (decays && one_in(random, 2)) control.weight_decay = static_cast<float>(uniform(random, 0.0, 0.05));
    control.micro_batches = static_cast<std::uint32_t>(1 + random() % 4);
    control.micro_batch = static_cast<std::uint32_t>(random() % control.micro_batches);
    control.updates = static_cast<std::uint32_t>(one_in(random, 4) ? 0 : random() % 1001);
    control.overflow = one_in(random, 8) ? 1 : 0;
    control.halted = one_in(random, 8) ? 1 : 0;
  });
}

void divide_in_shards(const Draw& draw) {
  draw.edit_item<step::StepControl>(Name::control, [&](step::StepControl& control) {
    const auto shards = static_cast<std::uint32_t>(draw.shape.shards);
    control.micro_batches = shards * static_cast<std::uint32_t>(1 + draw.random() % 3);
    control.micro_batch = static_cast<std::uint32_t>(draw.random() % control.micro_batches);
  });
}

void point_alike(const Draw& draw, Name from, Name to) {
  const std::vector<double> signs = draw.values(from);
  if (signs.empty()) return;
  draw.edit(to, [&](std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::copysign(values[i], signs[i % signs.size()]);
  });
}

void sometimes_lose_the_loss(const Draw& draw) {
  if (!one_in(draw.random, 8)) return;
  draw.edit(Name::metrics, [](std::vector<double>& values) {
    values[step::kLossMetric] = std::numeric_limits<double>::quiet_NaN();
  });
}

void square(std::vector<double>& values) {
  for (double& value : values) value *= value;
}

}  // namespace warpscope::ops::update_draw
