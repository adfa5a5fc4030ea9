#pragma once
// Checkpoints for tests: every number differs, so that nothing can be mixed up.

#include <bit>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/models/model.h"
#include "gpu/runs/checkpoint.h"

namespace warpscope::tests {

/// A buffer of the model whose i-th element of each parameter, in the order of (K, R, S, C), is `first` +
/// `by` i; padding is zero.
inline std::vector<float> counting_buffer(const models::Model& model, float first, float by = 1.0f) {
  const models::ParameterLayout layout = models::parameter_layout(model);
  std::vector<float> values(layout.elements, 0.0f);
  for (const models::Parameter& parameter : layout.parameters) {
    for (std::size_t i = 0; i < parameter.elements; ++i)
      values[parameter.offset + i] = first + by * static_cast<float>(i);
  }
  return values;
}

inline training::Checkpoint sample_checkpoint(const models::Model& model, ops::UpdateRule rule,
                                              std::uint64_t step = 123) {
  training::Checkpoint checkpoint;
  checkpoint.model = model.name;
  checkpoint.step = step;
  checkpoint.epochs = static_cast<double>(step) / 7;
  checkpoint.generation = 2;
  checkpoint.weights = counting_buffer(model, static_cast<float>(step));
  checkpoint.rule = rule;
  float first = 0.5f;
  for (const std::string& name : training::state_names(rule)) {
    checkpoint.optimizer.push_back({name, counting_buffer(model, first, 0.25f)});
    first += 1.0f;
  }
  checkpoint.control = {1024.0f, 17, 2000, 121};
  checkpoint.order = {40, 0xFEDCBA9876543210ull, 3, 24, 8, true};
  checkpoint.training = {{"schedule", {{"kind", "cosine"}, {"best", 0.1}}},
                         {"selection", "all=loops \"fp32\""},
                         {"seconds", 12.345678901234567}};
  return checkpoint;
}

inline std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

inline void expect_same(const training::Checkpoint& a, const training::Checkpoint& b) {
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.epochs, b.epochs);
  EXPECT_EQ(a.generation, b.generation);
  EXPECT_TRUE(bits_of(a.weights) == bits_of(b.weights));
  EXPECT_EQ(a.rule, b.rule);
  ASSERT_EQ(a.optimizer.size(), b.optimizer.size());
  for (std::size_t i = 0; i < a.optimizer.size(); ++i) {
    EXPECT_EQ(a.optimizer[i].name, b.optimizer[i].name);
    EXPECT_TRUE(bits_of(a.optimizer[i].values) == bits_of(b.optimizer[i].values));
  }
  EXPECT_TRUE(a.control == b.control);
  EXPECT_TRUE(a.order == b.order);
  EXPECT_EQ(a.training, b.training);
}

}  // namespace warpscope::tests
