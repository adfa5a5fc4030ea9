// What a frame of a large plot costs, as the vertices of its draw lists: they follow the pixels, not the
// points. How long a frame takes is measured where nothing else runs (tests/timing/curve_frames.cpp).

#include <vector>

#include "tests/plot/plot_frames.h"

namespace warpscope::ui::plot::speed_test {
namespace {

class PlotCost : public tests::PlotFrames {};

TEST_F(PlotCost, AHundredThousandPointsOfFourCurvesTakeNoMoreVerticesThanTenThousand) {
  const auto vertices_of = [this](int points, bool log_x) {
    std::vector<Series> all;
    for (unsigned i = 0; i < 4; ++i) all.push_back(tests::noisy_curve(i, points));
    std::vector<Line> lines;
    for (std::size_t i = 0; i < all.size(); ++i)
      lines.push_back(
          {.name = "run", .series = &all[i], .beneath = i == 0 ? &all[3] : nullptr, .dots = true});
    const Content content{.lines = lines, .markers = {}, .x_label = "step", .logarithmic = true};
    view_ = {};
    set_log_x(view_, log_x);
    frame(content, ImVec2(400, 300));  // finds the range
    frame(content, ImVec2(400, 300));
    return PlotFrames::vertices();
  };
  const int of_ten_thousand = vertices_of(10'000, false), of_a_hundred_thousand = vertices_of(100'000, false);
  EXPECT_GT(of_ten_thousand, 4 * 500) << "the curves are drawn";
  EXPECT_LT(of_a_hundred_thousand, 1.1 * of_ten_thousand);
  EXPECT_LT(vertices_of(100'000, true), 1.1 * of_ten_thousand) << "on a logarithmic axis too";
}

}  // namespace
}  // namespace warpscope::ui::plot::speed_test
