#include "ui/panels/pictures/image_timeline.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/messages/image_history.h"
#include "ui/input/cursor.h"

namespace warpscope::ui::image_timeline_test {
namespace {

TEST(ImageTimeline, AStepStandsAtTheNearestThatIsKept) {
  const std::vector<std::uint64_t> steps{0, 3, 10, 40};
  EXPECT_EQ(kept_index(steps, 0), 0u);
  EXPECT_EQ(kept_index(steps, 1), 0u);
  EXPECT_EQ(kept_index(steps, 2), 1u);
  EXPECT_EQ(kept_index(steps, 3), 1u);
  EXPECT_EQ(kept_index(steps, 39), 3u);
  EXPECT_EQ(kept_index(steps, 4000), 3u);
  EXPECT_EQ(kept_index({5, 6}, 1), 0u) << "before the first";
}

TEST(ImageTimeline, TheNewestPicturesSayHowOldTheyAre) {
  EXPECT_EQ(age_text(446, 446), "now");
  EXPECT_EQ(age_text(446, 412), "34 steps ago, step 412");
  EXPECT_EQ(age_text(2001, 2000), "1 step ago, step 2,000");
  EXPECT_EQ(age_text(3, 5), "now") << "the pictures come before the snapshot";
  EXPECT_EQ(age_text(3, std::nullopt), "-") << "there are none yet";
}

TEST(ImageTimeline, APersonsOwnPicturesAreAlwaysTheNewest) {
  const training::Snapshot snapshot;
  const std::function<void(training::Command)> send;
  const Fonts fonts;
  const Palette palette{};
  Frame frame{snapshot, send, fonts, palette};
  frame.history = std::make_shared<training::ImageHistory>();
  EXPECT_EQ(past_step(frame, false), std::nullopt);
  Cursor cursor;
  frame.cursor = &cursor;
  EXPECT_EQ(past_step(frame, false), std::nullopt);
  cursor.step = 560;
  EXPECT_EQ(past_step(frame, false), 560u);
  EXPECT_EQ(past_step(frame, true), std::nullopt) << "no history keeps them";
  frame.history = nullptr;
  EXPECT_EQ(past_step(frame, false), std::nullopt);
}

}  // namespace
}  // namespace warpscope::ui::image_timeline_test
