#include "gpu/data/sets.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::data::sets_test {
namespace {

TEST(Sets, AreToldApartByNameAndFolder) {
  std::set<std::string_view> names{"builtin"};  // what --data takes beside names
  std::set<std::string_view> folders;
  for (const SetRow& row : sets()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.name.find_first_of(":/"), std::string_view::npos) << row.name;
    EXPECT_EQ(find_set(row.name), &row);
    for (const std::string_view folder : row.folders) EXPECT_TRUE(folders.insert(folder).second) << folder;
  }
  EXPECT_EQ(find_set("builtin"), nullptr);
  EXPECT_EQ(find_set(""), nullptr);
}

TEST(Sets, SayAllThatTheirUseNeeds) {
  for (const SetRow& row : sets()) {
    EXPECT_FALSE(row.title.empty()) << row.name;
    EXPECT_EQ(row.any_shape(), row.classes.empty() || row.texts) << row.name;
    EXPECT_TRUE(row.any_shape() || !row.texts) << row.name;
    EXPECT_NE(row.load, nullptr) << row.name;
    EXPECT_EQ(row.drawn(), row.holds == nullptr) << row.name;
    EXPECT_EQ(row.published(), row.is_complete != nullptr) << row.name;
    EXPECT_EQ(row.drawn() + row.published() + row.own(), 1) << row.name;
    EXPECT_FALSE(row.published() && row.classes.empty()) << row.name;
    if (row.classes.empty()) continue;
    EXPECT_GT(row.texts + row.shape.height * row.shape.width * row.shape.channels, 0) << row.name;
    EXPECT_GE(row.classes.size(), 2U) << row.name;
    EXPECT_LE(row.classes.size(), kMostClasses) << row.name;
  }
}

TEST(Sets, OfEachShapeOneIsDrawnForMachinesWithoutData) {
  for (const SetRow& row : sets()) {
    EXPECT_TRUE(std::any_of(sets().begin(), sets().end(), [&](const SetRow& other) {
      return other.drawn() && other.texts == row.texts && (other.any_shape() || other.shape == row.shape);
    })) << row.name;
  }
}

TEST(Sets, DrawnOnesLoadAsTheirRowsSay) {
  for (const SetRow& row : sets()) {
    if (!row.drawn()) continue;
    const ImageShape shape = row.texts         ? ImageShape{1, 64, 1}
                             : row.any_shape() ? ImageShape{192, 256, 1}
                                               : row.shape;
    const DataSet loaded = row.load(row, {}, {shape, 10, "mine", row.texts ? "abc" : ""}, {});
    EXPECT_EQ(loaded.classes.size(), row.texts ? 4U : 10U) << row.name;
    EXPECT_EQ(loaded.train.shape(), shape) << row.name;
    EXPECT_EQ(loaded.test.shape(), shape) << row.name;
  }
}

TEST(Sets, TheClassesOfCifar100AreAHundredNamesInOrder) {
  const std::vector<std::string>& classes = find_set("cifar100")->classes;
  ASSERT_EQ(classes.size(), 100U);
  EXPECT_TRUE(std::is_sorted(classes.begin(), classes.end()));
  EXPECT_EQ(std::set<std::string>(classes.begin(), classes.end()).size(), 100U);
  EXPECT_EQ(classes[0], "apple");
  EXPECT_EQ(classes[58], "pickup_truck");
  EXPECT_EQ(classes[99], "worm");
}

}  // namespace
}  // namespace warpscope::data::sets_test
