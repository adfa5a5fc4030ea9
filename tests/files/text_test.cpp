#include "gpu/files/text.h"

#include <gtest/gtest.h>

namespace warpscope::files {
namespace {

TEST(Text, EditDistanceCountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("lerning_rate", "learning_rate"), 1);
}

}  // namespace
}  // namespace warpscope::files
