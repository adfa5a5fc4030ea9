#include "ui/plot/page.h"

#include <cstdint>
#include <cstdlib>

#include <gtest/gtest.h>

#include "gpu/export/plot_layout.h"

namespace warpscope::ui::plot::page_test {
namespace {

runs::Plot plot_of(const std::string& title) {
  runs::Plot plot;
  plot.title = title;
  plot.curves.push_back({"falling", 0, 0, {{0, 10}, {1, 0}}});
  return plot;
}

std::uint32_t at(const Picture& picture, int x, int y) {
  const auto row = static_cast<std::size_t>(y);
  const unsigned char* const pixel =
      picture.pixels.data() +
      3 * (row * static_cast<std::size_t>(picture.width) + static_cast<std::size_t>(x));
  return static_cast<std::uint32_t>(pixel[0]) << 16 | static_cast<std::uint32_t>(pixel[1]) << 8 | pixel[2];
}

int not_white(const Picture& picture, int left, int top, int right, int bottom) {
  int count = 0;
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) count += at(picture, x, y) != 0xFFFFFF;
  }
  return count;
}

TEST(PageTest, IsTwiceAsLargeAsTheSvg) {
  const Picture picture = draw_page({});
  EXPECT_EQ(picture.width, 2 * runs::kPageWidth);
  EXPECT_EQ(picture.height, 2 * runs::kPageHeight);
  EXPECT_EQ(at(picture, 0, 0), 0xFFFFFFU);
  EXPECT_EQ(encode_png(picture).substr(1, 3), "PNG");
}

TEST(PageTest, HasItsTitleAtTheTopLeft) {
  const int left = 2 * runs::kPlotLeft, bottom = 2 * runs::kTitleBaseline + 8;
  EXPECT_EQ(not_white(draw_page(plot_of("")), 0, 0, 2 * runs::kPageWidth, bottom), 0);
  const Picture picture = draw_page(plot_of("A title"));
  EXPECT_GT(not_white(picture, left, 0, left + 200, bottom), 300);
  EXPECT_EQ(not_white(picture, 0, 0, left - 4, bottom), 0);
}

TEST(PageTest, CurvesLieWhereTheLayoutSays) {
  const runs::Plot plot = plot_of("");
  const runs::PlotLayout layout = runs::layout_of(plot);
  const Picture picture = draw_page(plot);
  // On the line, and 12 pixels above and below it.
  for (const double x : {1.3, 4.7, 8.9}) {
    const int column = static_cast<int>(2 * layout.x.to_pixel(x));
    const int row = static_cast<int>(2 * layout.y.to_pixel(1 - x / 10));
    EXPECT_EQ(at(picture, column, row), runs::color_of(0)) << x;
    EXPECT_NE(at(picture, column, row - 12), runs::color_of(0)) << x;
    EXPECT_NE(at(picture, column, row + 12), runs::color_of(0)) << x;
  }
}

TEST(PageTest, DashesLeaveGaps) {
  runs::Plot plot = plot_of("");
  const auto ink = [](const Picture& picture) {
    int count = 0;
    for (int y = 150; y < picture.height; ++y) {
      for (int x = 0; x < picture.width; ++x) count += at(picture, x, y) == runs::color_of(0);
    }
    return count;
  };
  const int solid = ink(draw_page(plot));
  plot.curves[0].dash = 1;
  const int dashed = ink(draw_page(plot));
  EXPECT_LT(dashed, 0.85 * solid);
  EXPECT_GT(dashed, 0.5 * solid);
}

TEST(PageTest, TextOfMarksRunsUpwards) {
  runs::Plot plot = plot_of("");
  const Picture before = draw_page(plot);
  plot.marks.push_back({5, "a marker with a long text", -1});
  const Picture picture = draw_page(plot);
  const runs::PlacedMark mark = runs::layout_of(plot).marks.at(0);
  const int right = static_cast<int>(2 * mark.text_x), top = static_cast<int>(2 * mark.text_top);
  EXPECT_GT(not_white(picture, right - 18, top, right + 6, top + 260),
            not_white(before, right - 18, top, right + 6, top + 260) + 500);
}

}  // namespace
}  // namespace warpscope::ui::plot::page_test
