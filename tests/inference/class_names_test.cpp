#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/inference/image_source.h"

namespace warpscope::inference::class_names_test {
namespace {

using Names = std::vector<std::string>;
using Places = std::vector<int>;

Places of_a_set(const Names& data, const Names& network) {
  return match_classes(data, network, Naming::of_a_set);
}

TEST(ClassNames, OfTheDataAreFoundAmongThoseOfTheNetwork) {
  const Names network{"blue", "gray", "green", "red"};
  EXPECT_EQ(of_a_set({"green", "red"}, network), (Places{2, 3}));
  EXPECT_EQ(of_a_set({"cat", "green"}, network), (Places{-1, 2}));
  EXPECT_EQ(of_a_set({"red", "green", "gray", "blue"}, network), (Places{3, 2, 1, 0}));
  EXPECT_EQ(of_a_set({"3", "7"}, {"1", "3", "5", "7"}), (Places{1, 3}));
  EXPECT_EQ(match_classes({"red", "cat"}, network, Naming::as_they_come), (Places{3, -1}));
}

TEST(ClassNames, ThatCannotTellLeaveTheClassesOfASetTheirPlaces) {
  EXPECT_EQ(of_a_set({"green", "red"}, {}), (Places{0, 1}));
  EXPECT_EQ(of_a_set({"0", "1"}, {"blue", "gray", "green"}), (Places{0, 1}));
  EXPECT_EQ(of_a_set({"1", "2"}, {"blue", "gray"}), (Places{0, 1}));
  EXPECT_EQ(of_a_set({"blue", "gray"}, {"0", "1"}), (Places{0, 1}));
  EXPECT_EQ(of_a_set({"2", "3"}, {"blue", "gray", "green"}), (Places{-1, -1}));
  EXPECT_EQ(match_classes({"0", "1"}, {"blue", "gray"}, Naming::as_they_come), (Places{-1, -1}));
  EXPECT_EQ(match_classes({"green"}, {}, Naming::as_they_come), Places{-1});
}

TEST(ClassNames, AreComparedAsRunJsonKeepsThem) {
  const Names kept{"a\tb", "caf\\xe8", "caf\\xe9"};
  EXPECT_EQ(of_a_set({"caf\xE9", "caf\xE8"}, kept), (Places{2, 1}));
  const Names network{"a\tb", "caf\xEF\xBF\xBD", "new\nline"};
  EXPECT_EQ(of_a_set({"caf\xE9", "new\nline"}, network), (Places{1, 2}));
  EXPECT_EQ(of_a_set({"a b", "a\tb"}, network), (Places{-1, 0}));
  const Names twice{"caf\xEF\xBF\xBD", "caf\xEF\xBF\xBD"};
  EXPECT_EQ(of_a_set({"caf\xE8", "caf\xE9"}, twice), (Places{0, 1}));  // the network's own data
  EXPECT_EQ(of_a_set({"caf\xE8"}, twice), Places{-1});
}

TEST(ClassNames, ThatAreNotKnownAreToldInASentence) {
  const Names data{"blue", "cat", "dog\n"};
  EXPECT_EQ(
      tell_unknown(Places{0, -1, 1, 2, 1}, data, {0, -1, -1}),
      "3 of 4 labels are of classes that the network does not know by their names (cat, dog\\n), so that the "
      "accuracy leaves them out");
  EXPECT_EQ(
      tell_unknown(Places{1}, data, {0, -1, -1}),
      "1 of 1 label is of a class that the network does not know by its name (cat), so that the accuracy "
      "leaves it out");
  EXPECT_EQ(tell_unknown(Places{0, -1}, data, {0, -1, -1}), "");
}

TEST(ClassNames, ThatAreNotKnownAreNotAllToldIfTheyAreMany) {
  const Names data{"a", "b", "c", "d", "e", "f", "g"};
  const Places labels{0, 1, 2, 3, 4, 5, 6};
  EXPECT_NE(tell_unknown(labels, data, Places(7, -1)).find("(a, b, c, d, e, 2 more)"), std::string::npos);
}

}  // namespace
}  // namespace warpscope::inference::class_names_test
