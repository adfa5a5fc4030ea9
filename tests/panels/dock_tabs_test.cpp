#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "ui/widgets/widgets.h"

namespace warpscope::ui::dock_tabs_test {
namespace {

using Places = std::vector<std::size_t>;

TEST(DockTabs, AreAllSeenWhereTheyFit) {
  const std::vector<float> widths{40, 30, 50};
  EXPECT_EQ(tabs_that_fit(widths, 2, 10, 25, 140), (Places{0, 1, 2}));
  EXPECT_NE(tabs_that_fit(widths, 2, 10, 25, 139), (Places{0, 1, 2}));
}

TEST(DockTabs, TheActiveOneIsAlwaysSeenAndTheFirstBeforeTheOthers) {
  const std::vector<float> widths{40, 30, 50, 20};
  EXPECT_EQ(tabs_that_fit(widths, 0, 10, 25, 120), (Places{0, 1}));
  EXPECT_EQ(tabs_that_fit(widths, 3, 10, 25, 120), (Places{0, 3}));
  EXPECT_EQ(tabs_that_fit(widths, 1, 10, 25, 120), (Places{0, 1}));
  EXPECT_EQ(tabs_that_fit(widths, 2, 10, 25, 5), (Places{2}));
}

TEST(DockTabs, WhatIsSeenFitsBesideTheButton) {
  const std::vector<float> widths{44, 31, 58, 62, 90, 47, 40, 41, 85, 48, 33};
  for (std::size_t active = 0; active < widths.size(); ++active) {
    for (float room = 150; room < 800; room += 7) {
      const Places seen = tabs_that_fit(widths, active, 10, 30, room);
      float taken = 10 * static_cast<float>(seen.size() - 1);
      for (const std::size_t i : seen) taken += widths[i];
      EXPECT_LE(taken + (seen.size() < widths.size() ? 40 : 0), room);
      EXPECT_TRUE(std::find(seen.begin(), seen.end(), active) != seen.end());
    }
  }
}

}  // namespace
}  // namespace warpscope::ui::dock_tabs_test
