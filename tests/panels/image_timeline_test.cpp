#include "ui/panels/image_timeline.h"

#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::image_timeline_test {
namespace {

TEST(ImageTimeline, AStepStandsAtTheLastKeptOneThatIsNotAfterIt) {
  const std::vector<std::uint64_t> steps{0, 3, 10, 40};
  EXPECT_EQ(kept_index(steps, 0), 0u);
  EXPECT_EQ(kept_index(steps, 2), 0u);
  EXPECT_EQ(kept_index(steps, 3), 1u);
  EXPECT_EQ(kept_index(steps, 39), 2u);
  EXPECT_EQ(kept_index(steps, 4000), 3u);
  EXPECT_EQ(kept_index({5, 6}, 1), 0u) << "before the first";
}

TEST(ImageTimeline, TheNewestPicturesSayHowOldTheyAre) {
  EXPECT_EQ(age_text(446, 446), "now");
  EXPECT_EQ(age_text(446, 412), "34 steps ago, step 412");
  EXPECT_EQ(age_text(2001, 2000), "1 step ago, step 2,000");
  EXPECT_EQ(age_text(3, 5), "now") << "the pictures come before the snapshot";
}

}  // namespace
}  // namespace warpscope::ui::image_timeline_test
