#include "ui/text/tour.h"

#include <string>

#include <gtest/gtest.h>

#include "ui/panels/panel_table.h"

namespace warpscope::ui::tour_test {
namespace {

TEST(Tour, HasSevenStopsAboutPanelsThatThereAre) {
  ASSERT_EQ(tour_stops().size(), 7U);
  for (const TourStop& stop : tour_stops()) {
    if (!stop.panel.empty()) {
      EXPECT_NE(find_panel(stop.panel), nullptr) << stop.panel;
    }
    EXPECT_EQ(stop.text.back(), '.') << stop.title;
  }
}

TEST(Tour, GoesForthAndBackAndEnds) {
  Tour tour;
  EXPECT_EQ(tour.stop(), nullptr);
  tour.next();
  EXPECT_FALSE(tour.is_under_way());
  tour.start();
  tour.back();
  EXPECT_EQ(tour.place(), 0U);
  tour.next();
  EXPECT_EQ(tour.stop(), &tour_stops()[1]);
  tour.back();
  EXPECT_EQ(tour.place(), 0U);
  for (std::size_t i = 0; i < tour_stops().size(); ++i) tour.next();
  EXPECT_FALSE(tour.is_under_way());
}

TEST(Tour, IsSkippedAndTakenAgain) {
  Tour tour;
  tour.start();
  tour.next();
  tour.end();
  EXPECT_EQ(tour.stop(), nullptr);
  tour.start();
  EXPECT_EQ(tour.place(), 0U);
}

TEST(Tour, OfOtherStopsGoesThroughThoseAndTheTourIsTheSameAfterwards) {
  Tour tour;
  tour.start({{"one", "First.", "kernels"}, {"two", "Second.", "own_kernels", "1_naive.cpp"}});
  ASSERT_EQ(tour.stops().size(), 2u);
  EXPECT_EQ(tour.stop()->title, "one");
  tour.next();
  EXPECT_EQ(tour.stop()->example, "1_naive.cpp");
  tour.next();
  EXPECT_FALSE(tour.is_under_way());
  tour.start();
  EXPECT_EQ(tour.stop(), &tour_stops()[0]);
}

}  // namespace
}  // namespace warpscope::ui::tour_test
