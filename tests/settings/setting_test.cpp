// The table of settings: every row is reachable from everywhere, and says what it is.

#include "gpu/settings/setting.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/settings/configuration.h"

namespace warpscope::training::setting_test {
namespace {

const core::DeviceInfo kDevice = [] {
  core::DeviceInfo device;
  device.multiprocessors = 2;
  return device;
}();

/// A valid value that is not the default.
Value other_value(const Setting& row) {
  const Configuration known = resolve({}, &kDevice);
  const Value& standard = *known.find(row.name);
  switch (row.field.kind) {
    case Kind::boolean:
      return !std::get<bool>(standard);
    case Kind::integer:
      return std::get<std::int64_t>(standard) + 3;
    case Kind::real: {
      const double least = std::max(row.range.least, 1e-3);
      const double half = (least + std::min(row.range.most, 1.0)) / 2;
      return half == std::get<double>(standard) ? half / 2 : half;
    }
    case Kind::text:
      return std::string(row.example);
  }
  throw std::logic_error("unknown kind");
}

Configuration with_one(const Setting& row) {
  Configuration one;
  one.set(row.name, other_value(row));
  return one;
}

class EverySetting : public testing::TestWithParam<std::size_t> {
 protected:
  const Setting& row() const { return settings()[GetParam()]; }
};
INSTANTIATE_TEST_SUITE_P(Table, EverySetting, testing::Range(std::size_t{0}, settings().size()),
                         [](const auto& which) { return std::string(settings()[which.param].name); });

TEST_P(EverySetting, SaysWhatItIs) {
  for (const char* text : {row().table, row().key, row().name, row().meaning, row().unit}) {
    ASSERT_NE(text, nullptr);
  }
  EXPECT_GT(std::string_view(row().meaning).size(), 6u);
  EXPECT_EQ(std::string_view(row().meaning).find('\n'), std::string_view::npos);
  ASSERT_NE(row().field.get, nullptr);
  ASSERT_NE(row().field.set, nullptr);
  EXPECT_LT(row().range.least, row().range.most);
  EXPECT_TRUE(row().standard == nullptr || *row().standard_text != '\0')
      << "says what its default depends on";
  EXPECT_TRUE(row().field.kind != Kind::text || *row().example != '\0');
  if (!row().slider) return;
  EXPECT_GE(row().slider->low, row().range.least);
  EXPECT_LE(row().slider->high, row().range.most);
  EXPECT_LT(row().slider->low, row().slider->high);
}

TEST_P(EverySetting, ComesThroughTheCommandLine) {
  const Value value = other_value(row());
  if (row().field.kind == Kind::boolean) return;  // a flag
  Value read = parse_value(row(), to_string(value));
  EXPECT_EQ(check_value(row(), read), "");
  EXPECT_EQ(read, value);
}

TEST_P(EverySetting, ComesThroughTomlAndRunJson) {
  const Configuration one = with_one(row());
  EXPECT_EQ(parse_toml(to_toml(one, kDevice), "file.toml"), one);
  EXPECT_EQ(from_json(nlohmann::json::parse(to_json(one).dump()), "run.json"), one);
}

TEST_P(EverySetting, FillsAFieldOfItsOwn) {
  TrainingSettings fields;
  apply(resolve({}, &kDevice), fields);
  Configuration expected = configuration_of(fields);
  const Value before = *expected.find(row().name);
  apply(with_one(row()), fields);
  const Configuration after = configuration_of(fields);
  EXPECT_NE(*after.find(row().name), before) << "the field is not filled";
  expected.put(row(), *after.find(row().name));
  EXPECT_EQ(after, expected) << "another setting changed with it";
  TrainingSettings again;
  apply(resolve({}, &kDevice), again);
  row().field.set(again, *row().field.get(fields));
  EXPECT_EQ(row().field.get(again), row().field.get(fields)) << "what is read cannot be written";
}

TEST_P(EverySetting, IsDocumented) {
  const std::string page = options_markdown();
  EXPECT_NE(page.find(fmt::format("`--{}", option_of(row()))), std::string::npos);
  EXPECT_NE(page.find(fmt::format("`{}` |", row().key)), std::string::npos);
}

TEST(Settings, HaveNamesOptionsAndPlacesOfTheirOwn) {
  std::set<std::string> names, options, places;
  for (const Setting& row : settings()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(options.insert(option_of(row)).second) << row.name;
    EXPECT_TRUE(places.insert(fmt::format("{}.{}", row.table, row.key)).second) << row.name;
  }
}

TEST(Settings, HaveAValueEachOnceTheDeviceIsKnown) {
  const Configuration known = resolve({}, &kDevice);
  for (const Setting& row : settings()) EXPECT_TRUE(known.has(row.name)) << row.name;
}

TEST(Settings, FieldsBeginAsTheTableSays) {
  TrainingSettings fields, completed;
  apply(resolve({}, &kDevice), fields);
  complete(completed, kDevice);
  EXPECT_EQ(configuration_of(fields), configuration_of(completed));
}

TEST(Settings, OfTheOptimizerAreThoseItsRowsName) {
  for (const ops::RuleRow& rule : ops::kUpdateRules) {
    for (const ops::HyperParameter& parameter : {rule.first_decay, rule.second_decay, rule.epsilon}) {
      if (parameter.key == nullptr) continue;
      const Setting* const row = find_number(parameter.key);
      ASSERT_NE(row, nullptr) << rule.name << " names a setting that there is not: " << parameter.key;
      Value standard = static_cast<double>(parameter.standard);
      EXPECT_EQ(check_value(*row, standard), "") << rule.name;
    }
  }
}

/// Undo takes these back without the weights.
TEST(Settings, ThatOnlySayWhenToStopTestOrSaveShapeNoWeights) {
  std::set<std::string> beside;
  for (const Setting& row : settings()) {
    if (row.changes == Changes::while_training && !row.shapes_weights) beside.insert(row.name);
  }
  EXPECT_EQ(beside,
            (std::set<std::string>{"checkpoint_every", "early_stop", "epochs", "leap", "steps",
                                   "target_accuracy", "target_loss", "test_every", "time", "zscore"}));
}

TEST(Settings, ReadFiguresOnlyWhereAllOfTheTextIsOne) {
  EXPECT_EQ(parse_value(setting("batch"), "64"), Value(std::int64_t{64}));
  EXPECT_EQ(parse_value(setting("batch"), "64x"), Value("64x"));
  EXPECT_EQ(parse_value(setting("learning_rate"), "1e-3"), Value(0.001));
  EXPECT_EQ(parse_value(setting("device"), "3"), Value("3"));
}

TEST(Settings, OfTheTableAloneCanBeLookedUp) {
  EXPECT_EQ(find_setting("lerning_rate"), nullptr);
  EXPECT_THROW(setting("lerning_rate"), std::logic_error);
  Configuration c;
  EXPECT_THROW(c.set("lerning_rate", 1.0), std::logic_error);
  EXPECT_THROW(c.set("learning_rate", -1.0), core::BadInput);
  EXPECT_THROW(c.text("learning_rate"), std::logic_error);
}

}  // namespace
}  // namespace warpscope::training::setting_test
