#include "gpu/data/notices.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"

namespace warpscope::data::notices_test {
namespace {

/// Images of no size.
ImageSet labelled(std::vector<std::uint8_t> labels) {
  ImageSet set{0, 0, 0, static_cast<std::int64_t>(labels.size()), {}, {}, {}};
  set.labels = std::move(labels);
  return set;
}

TEST(Notices, TellClassesWithTheirSizes) {
  DataSet set;
  set.classes = {"cat", "dog"};
  set.train = labelled(std::vector<std::uint8_t>(1200, 0));
  set.train.labels.push_back(1);
  set.test = labelled({0, 1, 1});
  EXPECT_EQ(tell_classes(set), "2 classes, training/test images: cat 1,200/1, dog 1/2");
  set.classes[0] = "a\nb";
  EXPECT_TRUE(tests::holds(tell_classes(set), {": a\\nb 1,200/1, "}));
  set.classes[0] = "cat";
  set.validation = labelled({1});
  set.train.texts = {"so that these are texts"};
  EXPECT_EQ(tell_classes(set), "2 classes, training/validation/test texts: cat 1,200/0/1, dog 1/1/2");
}

TEST(Notices, TellWhichClassesAreInOneHalfAlone) {
  DataSet set;
  set.classes = {"a", "b", "c"};
  set.train = labelled({0, 0, 1});
  set.test = labelled({1, 2});
  EXPECT_EQ(tell_classes(set),
            "3 classes, training/test images: a 2/0, b 1/1, c 0/1; only to train on: a; not to train on: c");
}

TEST(Notices, OfManyClassesTellTheFirstAndTheExtremes) {
  DataSet set;
  for (int i = 0; i < 200; ++i) {
    set.classes.push_back("class" + std::to_string(i));
    set.train.labels.push_back(static_cast<std::uint8_t>(i));
    set.test.labels.push_back(static_cast<std::uint8_t>(i));
    if (i != 150) set.train.labels.push_back(static_cast<std::uint8_t>(i));
  }
  set.train.labels.push_back(160);
  const std::string told = tell_classes(set);
  EXPECT_TRUE(tests::holds(told, {"200 classes", "class0 2/1, ", "188 more; the smallest is class150 1/1",
                                  "the largest class160 3/1"}))
      << told;
  EXPECT_LT(told.size(), 400U);
}

TEST(Notices, JoinSentences) {
  std::string notice;
  add_notice("", notice);
  EXPECT_EQ(notice, "");
  add_notice("one", notice);
  add_notice("", notice);
  add_notice("two", notice);
  EXPECT_EQ(notice, "one; two");
}

}  // namespace
}  // namespace warpscope::data::notices_test
