#include "gpu/settings/optimizer_settings.h"

#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/settings/setting.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::training::optimizer_settings_test {
namespace {

using core::BadInput;
using nlohmann::json;
using ops::UpdateRule;
using tests::holds;
using tests::message_of;

std::vector<UpdateRule> all_rules() {
  std::vector<UpdateRule> rules;
  for (int i = 0; i < ops::kUpdateRuleCount; ++i) rules.push_back(static_cast<UpdateRule>(i));
  return rules;
}

std::vector<std::string> keys_of(UpdateRule rule, bool per_sample = false) {
  std::vector<std::string> keys;
  for (const Setting* row : numbers_of(rule, per_sample)) keys.emplace_back(row->key);
  return keys;
}

TEST(OptimizerSettings, HasTheUsualDefaultsOfEachRule) {
  struct Expected {
    UpdateRule rule;
    float learning_rate, beta2, weight_decay;
  };
  constexpr Expected kExpected[] = {
      {UpdateRule::sgd, 0.005f, 0.999f, 0},       {UpdateRule::momentum, 0.0005f, 0.999f, 0},
      {UpdateRule::nesterov, 0.0005f, 0.999f, 0}, {UpdateRule::adam, 0.0003f, 0.999f, 0},
      {UpdateRule::adamw, 0.001f, 0.999f, 0.01f}, {UpdateRule::rmsprop, 0.001f, 0.999f, 0},
      {UpdateRule::lion, 1e-4f, 0.99f, 0}};
  static_assert(std::size(kExpected) == ops::kUpdateRuleCount);
  for (const Expected& expected : kExpected) {
    const OptimizerSettings settings = defaults_of(expected.rule);
    EXPECT_EQ(settings.rule, expected.rule);
    EXPECT_EQ(settings.learning_rate, expected.learning_rate);
    EXPECT_EQ(settings.beta2, expected.beta2);
    EXPECT_EQ(settings.weight_decay, expected.weight_decay);
    EXPECT_EQ(settings.momentum, 0.9f);
    EXPECT_EQ(settings.beta1, 0.9f);
    EXPECT_EQ(settings.alpha, 0.99f);
    EXPECT_EQ(settings.epsilon, 1e-8f);
    EXPECT_EQ(settings.clip_norm, 0);
    EXPECT_EQ(settings.clip_value, 0);
    EXPECT_EQ(settings.joint, 0);
    EXPECT_EQ(settings.accumulate, 1);
    EXPECT_FALSE(settings.per_sample);
    EXPECT_NO_THROW(check(settings));
  }
  EXPECT_EQ(OptimizerSettings{}, defaults_of(UpdateRule::adam));
}

TEST(OptimizerSettings, ShowsTheFieldsThatMatter) {
  using Keys = std::vector<std::string>;
  const Keys velocity{"learning_rate", "momentum", "weight_decay", "clip_norm", "clip_value", "joint"};
  const Keys moments{"learning_rate", "beta1",     "beta2",      "epsilon",
                     "weight_decay",  "clip_norm", "clip_value", "joint"};
  const std::map<UpdateRule, Keys> expected{
      {UpdateRule::sgd, {"learning_rate", "weight_decay", "clip_norm", "clip_value", "joint"}},
      {UpdateRule::momentum, velocity},
      {UpdateRule::nesterov, velocity},
      {UpdateRule::adam, moments},
      {UpdateRule::adamw, moments},
      {UpdateRule::rmsprop,
       {"learning_rate", "alpha", "epsilon", "weight_decay", "clip_norm", "clip_value", "joint"}},
      {UpdateRule::lion,
       {"learning_rate", "beta1", "beta2", "weight_decay", "clip_norm", "clip_value", "joint"}}};
  EXPECT_EQ(std::ssize(expected), ops::kUpdateRuleCount);
  for (const auto& [rule, keys] : expected) EXPECT_EQ(keys_of(rule), keys) << ops::to_string(rule);
  EXPECT_EQ(keys_of(UpdateRule::momentum, true),
            (Keys{"learning_rate", "momentum", "weight_decay", "joint"}));
}

TEST(OptimizerSettings, FieldsSuitTheirSliders) {
  for (const UpdateRule rule : all_rules()) {
    const OptimizerSettings defaults = defaults_of(rule);
    for (const Setting* row : numbers_of(rule)) {
      EXPECT_EQ(find_number(row->key), row);
      ASSERT_TRUE(row->slider) << row->key;
      EXPECT_TRUE(!row->slider->logarithmic || row->slider->low > 0) << row->key;
      const auto value = static_cast<double>(defaults.*row->field.number);
      const bool shown = value >= 0.999 * row->slider->low && value <= row->slider->high;
      EXPECT_TRUE(value == 0 || shown) << row->key;
    }
  }
  EXPECT_EQ(find_number("beta3"), nullptr);
}

/// Distinct numbers, so that a mix-up shows.
OptimizerSettings distinct(UpdateRule rule) {
  OptimizerSettings settings;
  settings.rule = rule;
  settings.learning_rate = 0.11f;
  settings.momentum = 0.12f;
  settings.beta1 = 0.13f;
  settings.beta2 = 0.14f;
  settings.alpha = 0.15f;
  settings.epsilon = 0.16f;
  settings.weight_decay = 0.17f;
  settings.clip_norm = 0.18f;
  settings.clip_value = 0.19f;
  settings.joint = 0.21f;
  settings.accumulate = 20;
  return settings;
}

TEST(OptimizerSettings, FillsTheControlWithWhatEachFormulaReads) {
  struct Expected {
    UpdateRule rule;
    float first_decay, second_decay, epsilon;
  };
  constexpr Expected kExpected[] = {{UpdateRule::sgd, 0, 0, 0},
                                    {UpdateRule::momentum, 0.12f, 0, 0},
                                    {UpdateRule::nesterov, 0.12f, 0, 0},
                                    {UpdateRule::adam, 0.13f, 0.14f, 0.16f},
                                    {UpdateRule::adamw, 0.13f, 0.14f, 0.16f},
                                    {UpdateRule::rmsprop, 0, 0.15f, 0.16f},
                                    {UpdateRule::lion, 0.13f, 0.14f, 0}};
  static_assert(std::size(kExpected) == ops::kUpdateRuleCount);
  for (const Expected& expected : kExpected) {
    ops::step::StepControl control;
    control.first_decay = control.second_decay = control.epsilon = 9;
    control.step = 5;
    control.loss_scale = 1024;
    control.updates = 7;
    fill_control(distinct(expected.rule), control);
    EXPECT_EQ(control.learning_rate, 0.11f);
    EXPECT_EQ(control.first_decay, expected.first_decay) << ops::to_string(expected.rule);
    EXPECT_EQ(control.second_decay, expected.second_decay) << ops::to_string(expected.rule);
    EXPECT_EQ(control.epsilon, expected.epsilon) << ops::to_string(expected.rule);
    EXPECT_EQ(control.weight_decay, 0.17f);
    EXPECT_EQ(control.clip_norm, 0.18f);
    EXPECT_EQ(control.clip_value, 0.19f);
    EXPECT_EQ(control.joint, 0.21f);
    EXPECT_EQ(control.step, 5u);
    EXPECT_EQ(control.loss_scale, 1024);
    EXPECT_EQ(control.updates, 7u);
  }
}

TEST(OptimizerSettings, PerSampleClipsNothing) {
  OptimizerSettings settings = distinct(UpdateRule::adam);
  settings.per_sample = true;
  ops::step::StepControl control;
  fill_control(settings, control);
  EXPECT_EQ(control.clip_norm, 0);
  EXPECT_EQ(control.clip_value, 0);
  EXPECT_EQ(control.first_decay, 0.13f);
}

TEST(OptimizerSettings, ASwitchOfTheRuleTakesItsDefaultsAndKeepsTheRest) {
  const OptimizerSettings lion = with_rule(distinct(UpdateRule::adam), UpdateRule::lion);
  OptimizerSettings expected = defaults_of(UpdateRule::lion);
  expected.clip_norm = 0.18f;
  expected.clip_value = 0.19f;
  expected.joint = 0.21f;
  expected.accumulate = 20;
  EXPECT_EQ(lion, expected);
  OptimizerSettings faulty;
  faulty.per_sample = true;
  EXPECT_TRUE(with_rule(faulty, UpdateRule::adam).per_sample);
}

TEST(OptimizerSettings, RefusesValuesOutOfRange) {
  const auto refusal = [](const char* key, float value) {
    OptimizerSettings settings = defaults_of(UpdateRule::adam);
    settings.*find_number(key)->field.number = value;
    return message_of<BadInput>([&] { check(settings); });
  };
  EXPECT_EQ(refusal("momentum", 1), "momentum 1 of the optimizer is not valid; valid: from 0 to below 1");
  EXPECT_TRUE(holds(refusal("learning_rate", -1), {"learning rate -1", "from 0"}));
  EXPECT_TRUE(holds(refusal("epsilon", 0), {"epsilon 0", "from 1e-16 to 1"}));
  for (const char* key : {"beta1", "beta2", "alpha"}) EXPECT_TRUE(holds(refusal(key, 1), {"below 1"}));
  for (const char* key : {"weight_decay", "clip_norm", "clip_value"})
    EXPECT_TRUE(holds(refusal(key, -1), {"from 0"}));
  for (const char* key : {"learning_rate", "momentum", "beta1", "beta2", "alpha", "epsilon", "weight_decay",
                          "clip_norm", "clip_value"}) {
    EXPECT_TRUE(holds(refusal(key, std::numeric_limits<float>::quiet_NaN()), {"nan"}));
    EXPECT_TRUE(holds(refusal(key, std::numeric_limits<float>::infinity()), {"inf"}));
  }
  OptimizerSettings settings;
  settings.learning_rate = 0;
  EXPECT_NO_THROW(check(settings));
  for (const int accumulate : {0, -1, 65537}) {
    settings.accumulate = accumulate;
    EXPECT_TRUE(holds(message_of<BadInput>([&] { check(settings); }), {"micro-batches", "from 1 to 65536"}));
  }
  settings.accumulate = 4;
  EXPECT_NO_THROW(check(settings));
  settings.per_sample = true;
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { check(settings); }), {"4 micro-batches", "per_sample", "valid: 1"}));
}

TEST(OptimizerSettings, NesterovNeedsAVelocity) {
  OptimizerSettings settings = defaults_of(UpdateRule::nesterov);
  settings.momentum = 0;
  EXPECT_TRUE(holds(message_of<BadInput>([&] { check(settings); }), {"nesterov", "momentum 0", "sgd"}));
  settings.rule = UpdateRule::momentum;
  EXPECT_NO_THROW(check(settings));
}

}  // namespace
}  // namespace warpscope::training::optimizer_settings_test
