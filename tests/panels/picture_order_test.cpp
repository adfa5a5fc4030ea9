#include <algorithm>

#include <gtest/gtest.h>

#include "ui/panels/pictures/picture_figures.h"

namespace warpscope::ui::picture_order_test {
namespace {

constexpr std::size_t kNow = index_of(PictureRow::now);

OrderNumbers numbers_of(std::uint64_t step, std::vector<double> psnr) {
  OrderNumbers numbers;
  numbers.figures[kNow] = std::move(psnr);
  numbers.step = step;
  return numbers;
}

OrderChoice worst_first() {
  OrderChoice choice;
  choice.order = PictureOrder::worst;
  choice.count = 3;
  return choice;
}

bool is_sorted(const KeptPictureOrder& order) {
  std::vector<double> shown;
  for (const int image : order.images())
    shown.push_back(order.figures()[kNow][static_cast<std::size_t>(image)]);
  return std::is_sorted(shown.begin(), shown.end());
}

TEST(KeptPictureOrder, TheFiguresThatAreShownAreSortedAtAnyMoment) {
  KeptPictureOrder order;
  order.update(worst_first(), numbers_of(1, {3, 1, 2}), {}, 0, false);
  EXPECT_EQ(order.images(), (std::vector<int>{1, 2, 0}));
  order.update(worst_first(), numbers_of(2, {1, 2, 3}), {}, 0.5, false);
  EXPECT_EQ(order.images(), (std::vector<int>{1, 2, 0})) << "within a second nothing moves";
  EXPECT_EQ(order.step(), 1u);
  EXPECT_TRUE(is_sorted(order));
  ASSERT_TRUE(order.renewal()) << "a training that pauses now makes no other frame";
  order.update(worst_first(), numbers_of(2, {1, 2, 3}), {}, *order.renewal(), false);
  EXPECT_EQ(order.images(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(order.step(), 2u);
  EXPECT_TRUE(is_sorted(order));
  EXPECT_FALSE(order.renewal());
}

TEST(KeptPictureOrder, StaysWhileSomebodyPointsAtTheImages) {
  KeptPictureOrder order;
  order.update(worst_first(), numbers_of(1, {3, 1, 2}), {}, 0, false);
  order.update(worst_first(), numbers_of(2, {1, 2, 3}), {}, 5, true);
  EXPECT_EQ(order.images(), (std::vector<int>{1, 2, 0}));
  EXPECT_TRUE(is_sorted(order));
  EXPECT_FALSE(order.renewal());
}

TEST(KeptPictureOrder, AnotherChoiceCountsAtOnce) {
  KeptPictureOrder order;
  order.update(worst_first(), numbers_of(1, {3, 1, 2}), {}, 0, false);
  OrderChoice best = worst_first();
  best.order = PictureOrder::best;
  order.update(best, numbers_of(2, {1, 2, 3}), {}, 0.1, true);
  EXPECT_EQ(order.images(), (std::vector<int>{2, 1, 0}));
  best.metric = PictureMetric::mse;
  order.update(best, numbers_of(2, {1, 2, 3}), {}, 0.2, false);
  EXPECT_EQ(order.images(), (std::vector<int>{0, 1, 2})) << "a smaller error is better";
}

}  // namespace
}  // namespace warpscope::ui::picture_order_test
