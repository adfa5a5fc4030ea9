#include "gpu/data/split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::data::split_test {
namespace {

using core::BadInput;
using tests::holds;
using tests::message_of;

/// Images of 1x2x1 whose bytes are their number; labels by `label_of`.
template <class LabelOf>
DataSet numbered(int count, LabelOf label_of) {
  DataSet set;
  set.name = "numbered";
  set.train = {.height = 1, .width = 2, .channels = 1, .count = count, .pixels = {}, .labels = {}};
  for (int i = 0; i < count; ++i) {
    set.train.pixels.push_back(static_cast<std::uint8_t>(i / 256));
    set.train.pixels.push_back(static_cast<std::uint8_t>(i % 256));
    set.train.labels.push_back(static_cast<std::uint8_t>(label_of(i)));
  }
  set.test = set.train;
  return set;
}

std::vector<int> numbers(const ImageSet& set) {
  EXPECT_EQ(set.pixels.size(), static_cast<std::size_t>(set.count * 2));
  EXPECT_EQ(set.labels.size(), static_cast<std::size_t>(set.count));
  std::vector<int> list;
  for (std::size_t i = 0; i < set.labels.size(); ++i) {
    list.push_back(set.pixels[2 * i] * 256 + set.pixels[2 * i + 1]);
  }
  return list;
}

std::map<int, int> count_classes(const ImageSet& set) {
  std::map<int, int> counts;
  for (const std::uint8_t label : set.labels) ++counts[label];
  return counts;
}

int three_classes(int i) {
  return i % 7 == 0 ? 0 : i % 7 < 3 ? 5 : 255;  // 1/7, 2/7, 4/7
}

TEST(SplitValidation, DividesTheTrainingSetAndKeepsTheOrder) {
  const DataSet set = split_validation(numbered(1000, three_classes), 0.1, 7);
  const std::vector<int> train = numbers(set.train);
  const std::vector<int> validation = numbers(set.validation);
  EXPECT_EQ(train.size(), 900u);
  EXPECT_EQ(validation.size(), 100u);
  EXPECT_EQ(set.validation.shape(), set.train.shape());
  EXPECT_EQ(set.test.count, 1000);
  EXPECT_TRUE(std::is_sorted(train.begin(), train.end()));
  EXPECT_TRUE(std::is_sorted(validation.begin(), validation.end()));
  std::set<int> all(train.begin(), train.end());
  all.insert(validation.begin(), validation.end());
  EXPECT_EQ(all.size(), 1000u);
  for (const ImageSet* images : {&set.train, &set.validation}) {
    const std::vector<int> list = numbers(*images);
    for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(images->labels[i], three_classes(list[i]));
  }
}

TEST(SplitValidation, TakesTheSameShareOfEachClass) {
  // 143, 286 and 571 images: of 10 % that is 14.3, 28.6 and 57.1; the one image left goes to the largest
  // remainder.
  const DataSet set = split_validation(numbered(1000, three_classes), 0.1, 7);
  EXPECT_EQ(count_classes(set.validation), (std::map<int, int>{{0, 14}, {5, 29}, {255, 57}}));
  // Ten classes of three images: a third of a class each, and the remainders are equal: the lower classes
  // first.
  const DataSet even = split_validation(numbered(30, [](int i) { return i % 10; }), 0.1, 7);
  EXPECT_EQ(count_classes(even.validation), (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}}));
}

TEST(SplitValidation, RoundsTheWholeToTheNearest) {
  for (const double share : {0.004, 0.005, 0.0149, 0.25, 1.0 / 3, 0.5, 0.51, 0.9}) {
    const DataSet set = split_validation(numbered(333, three_classes), share, 1);
    EXPECT_EQ(set.validation.count, std::llround(share * 333)) << share;
    EXPECT_EQ(set.train.count + set.validation.count, 333);
  }
}

TEST(SplitValidation, DependsOnTheSeedAlone) {
  const auto drawn = [](std::uint64_t seed) {
    return numbers(split_validation(numbered(500, three_classes), 0.2, seed).validation);
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  EXPECT_EQ(numbers(split_validation(numbered(20, [](int) { return 0; }), 0.25, 42).validation),
            (std::vector<int>{4, 6, 10, 14, 19}));
}

TEST(SplitValidation, DrawsEveryImageAlikeOften) {
  constexpr int kImages = 20;
  constexpr int kSeeds = 2000;
  std::array<int, kImages> drawn{};
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const DataSet set = split_validation(numbered(kImages, [](int) { return 3; }), 0.25, seed);
    for (const int i : numbers(set.validation)) ++drawn[static_cast<std::size_t>(i)];
  }
  // Binomial, 2000 draws of 1/4: 500, standard deviation 19.4.
  for (const int times : drawn) EXPECT_NEAR(times, 500, 5 * 19.4);
}

TEST(SplitValidation, ChangesNothingForAShareOfZero) {
  const DataSet set = split_validation(numbered(10, three_classes), 0, 1);
  EXPECT_EQ(set.train.count, 10);
  EXPECT_EQ(set.validation.count, 0);
}

TEST(SplitValidation, RefusesSharesThatCannotBe) {
  for (const double share :
       {-0.1, 1.0, 1.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    DataSet set = numbered(10, three_classes);
    EXPECT_TRUE(holds(message_of<BadInput>([&] { split_validation(std::move(set), share, 1); }),
                      {"0 to less than 1"}));
    EXPECT_EQ(set.train.count, 10);
  }
}

TEST(SplitValidation, RefusesToLeaveASetEmpty) {
  DataSet few = numbered(10, three_classes);
  EXPECT_TRUE(holds(message_of<BadInput>([&] { split_validation(std::move(few), 0.04, 1); }),
                    {"0.04", "10 training images", "no image for validation"}));
  EXPECT_EQ(few.train.count, 10);
  EXPECT_TRUE(holds(message_of<BadInput>([] { split_validation(numbered(1, three_classes), 0.5, 1); }),
                    {"no image for training"}));
  EXPECT_THROW(split_validation(DataSet{}, 0.1, 1), BadInput);
}

TEST(SplitValidation, SplitsOnce) {
  DataSet set = split_validation(numbered(10, three_classes), 0.2, 1);
  set.name = "mine";
  EXPECT_EQ(message_of<BadInput>([&] { split_validation(std::move(set), 0.2, 1); }),
            "mine has validation data of its own, 2 of them; leave --validation away, or take them out of "
            "its folder");
}

}  // namespace
}  // namespace warpscope::data::split_test
