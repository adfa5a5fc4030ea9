#include "gpu/data/sets.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::data {
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
    EXPECT_GT(row.shape.height * row.shape.width * row.shape.channels, 0) << row.name;
    EXPECT_GE(row.classes.size(), 2U) << row.name;
    EXPECT_NE(row.load, nullptr) << row.name;
    EXPECT_EQ(row.drawn(), row.files.empty()) << row.name;
    EXPECT_EQ(row.drawn(), row.holds == nullptr) << row.name;
    EXPECT_EQ(row.drawn(), row.is_complete == nullptr) << row.name;
  }
}

TEST(Sets, OfEachShapeOneIsDrawnForMachinesWithoutData) {
  for (const SetRow& row : sets()) {
    EXPECT_TRUE(std::any_of(sets().begin(), sets().end(), [&](const SetRow& other) {
      return other.drawn() && other.shape == row.shape;
    })) << row.name;
  }
}

TEST(Sets, DrawnOnesLoadAsTheirRowsSay) {
  for (const SetRow& row : sets()) {
    if (!row.drawn()) continue;
    const DataSet loaded = row.load(row, {});
    EXPECT_EQ(loaded.classes, row.classes) << row.name;
    EXPECT_EQ(loaded.train.shape(), row.shape) << row.name;
    EXPECT_EQ(loaded.test.shape(), row.shape) << row.name;
  }
}

}  // namespace
}  // namespace warpscope::data
