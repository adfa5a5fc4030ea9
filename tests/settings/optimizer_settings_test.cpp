#include "gpu/settings/optimizer_settings.h"

#include <iterator>
#include <limits>
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

/// The numbers of the rule's formula.
std::vector<ops::HyperParameter> own_numbers(const ops::RuleRow& row) {
  std::vector<ops::HyperParameter> own;
  for (const ops::HyperParameter& number : {row.first_decay, row.second_decay, row.epsilon}) {
    if (number.key != nullptr) own.push_back(number);
  }
  return own;
}

/// What `settings` has for a number of the rule; 0 where the rule has none.
float held(const OptimizerSettings& settings, const ops::HyperParameter& number) {
  return number.key == nullptr ? 0 : settings.*find_number(number.key)->field.number;
}

// That the rows hold the usual numbers is what docs/options.md shows.
TEST(OptimizerSettings, HasTheDefaultsOfEachRow) {
  for (const ops::RuleRow& row : ops::kUpdateRules) {
    const OptimizerSettings settings = defaults_of(row.rule);
    OptimizerSettings others = settings;  // what the row says nothing of is as it always begins
    others.rule = OptimizerSettings{}.rule;
    others.learning_rate = OptimizerSettings{}.learning_rate;
    others.weight_decay = OptimizerSettings{}.weight_decay;
    for (const ops::HyperParameter& number : own_numbers(row)) {
      const auto field = find_number(number.key)->field.number;
      EXPECT_EQ(settings.*field, number.standard) << row.name << " " << number.key;
      others.*field = OptimizerSettings{}.*field;
    }
    EXPECT_EQ(others, OptimizerSettings{}) << row.name;
    EXPECT_EQ(settings.rule, row.rule);
    EXPECT_EQ(settings.learning_rate, row.learning_rate);
    EXPECT_EQ(settings.weight_decay, row.weight_decay);
    EXPECT_NO_THROW(check(settings));
  }
  EXPECT_EQ(OptimizerSettings{}, defaults_of(UpdateRule::adam));
}

TEST(OptimizerSettings, ShowsTheFieldsThatMatter) {
  using Keys = std::vector<std::string>;
  for (const ops::RuleRow& row : ops::kUpdateRules) {
    Keys expected{"learning_rate"};
    for (const ops::HyperParameter& number : own_numbers(row)) expected.emplace_back(number.key);
    for (const char* const key : {"weight_decay", "clip_norm", "clip_value", "joint"})
      expected.emplace_back(key);
    EXPECT_EQ(keys_of(row.rule), expected) << row.name;
  }
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
  for (const ops::RuleRow& row : ops::kUpdateRules) {
    const OptimizerSettings settings = distinct(row.rule);
    ops::step::StepControl control;
    control.first_decay = control.second_decay = control.epsilon = 9;
    control.step = 5;
    control.loss_scale = 1024;
    control.updates = 7;
    fill_control(settings, control);
    EXPECT_EQ(control.learning_rate, 0.11f);
    EXPECT_EQ(control.first_decay, held(settings, row.first_decay)) << row.name;
    EXPECT_EQ(control.second_decay, held(settings, row.second_decay)) << row.name;
    EXPECT_EQ(control.epsilon, held(settings, row.epsilon)) << row.name;
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
