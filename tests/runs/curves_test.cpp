#include "gpu/runs/curves.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/export/export.h"
#include "gpu/runs/text.h"
#include "tests/runs/run_maker.h"

namespace warpscope::runs::curves_test {
namespace {

using tests::marker_line;
using tests::step_line;
using tests::test_line;

runs::Run run_of(const std::string& name, const std::string& lines) {
  const tests::TemporaryFolder folder;
  tests::make_run(folder / name, tests::run_head("finished"), lines);
  return read_run(folder / name);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(CurvesTest, ACurveTakesWhatHasAValueAndAPlace) {
  const runs::Run run = run_of("a", step_line(1, 5) +
                                        R"({"step":2,"epoch":0.2,"loss":null,"seconds":0.5})"
                                        "\n" +
                                        R"({"step":3,"loss":7})"
                                        "\n" +
                                        test_line(4, 9));
  EXPECT_EQ(curve_of(run.points, "train_loss", Over::step).x, (std::vector<double>{1, 3}));
  EXPECT_EQ(curve_of(run.points, "train_loss", Over::step).y, (std::vector<double>{5, 7}));
  EXPECT_EQ(curve_of(run.points, "train_loss", Over::epoch).x, (std::vector<double>{0.1}));
  EXPECT_EQ(curve_of(run.points, "test_loss", Over::seconds).x, (std::vector<double>{1}));
  EXPECT_TRUE(curve_of(run.points, "nonsense", Over::step).x.empty());
  EXPECT_EQ(series_names(run.points),
            (std::vector<std::string>{"train_loss", "scheduled_rate", "images_per_second", "test_loss",
                                      "test_psnr"}));
}

TEST(CurvesTest, AStepHasItsPlaceOnEachAxis) {
  const runs::Run run = run_of("a", step_line(10, 1) + step_line(20, 1));
  EXPECT_EQ(place_of(run.points, 15, Over::step), 15);
  EXPECT_EQ(place_of(run.points, 15, Over::epoch), 2);
  EXPECT_EQ(place_of(run.points, 20, Over::seconds), 5);
  EXPECT_EQ(place_of(run.points, 99, Over::seconds), 5);
  EXPECT_EQ(place_of(run.points, 0, Over::seconds), 0);
}

TEST(CurvesTest, ThinningKeepsEveryExtremeOfEveryColumn) {
  std::mt19937 dice(5);
  std::uniform_real_distribution<double> noise(-1, 1);
  Curve curve;
  for (int i = 0; i < 50'000; ++i) {
    curve.x.push_back(i);
    curve.y.push_back(noise(dice));
  }
  curve.y[31'234] = 50;  // a spike of one step
  constexpr int kColumns = 97;
  const Curve thin = thinned(curve, kColumns);
  EXPECT_LE(thin.x.size(), 4u * kColumns);
  EXPECT_TRUE(std::is_sorted(thin.x.begin(), thin.x.end()));
  EXPECT_EQ(thin.x.front(), 0);
  EXPECT_EQ(thin.x.back(), 49'999);
  const auto extremes = [&](const Curve& of) {
    std::vector<std::pair<double, double>> result(kColumns, {1e9, -1e9});
    for (std::size_t i = 0; i < of.x.size(); ++i) {
      auto& [low, high] = result[std::min<std::size_t>(
          kColumns - 1, static_cast<std::size_t>(of.x[i] / (49'999.0 / kColumns)))];
      low = std::min(low, of.y[i]);
      high = std::max(high, of.y[i]);
    }
    return result;
  };
  EXPECT_EQ(extremes(thin), extremes(curve));
}

TEST(CurvesTest, ThinningLeavesShortCurvesAndOnePlaceAlone) {
  const Curve few{{1, 2, 3}, {3, 2, 1}};
  EXPECT_EQ(thinned(few, 1).x, few.x);
  const Curve same{std::vector<double>(100, 5), std::vector<double>(100, 1)};
  EXPECT_LE(thinned(same, 10).x.size(), 4u);
}

TEST(SvgTest, APlotHasCurvesLegendTitleAndMarks) {
  const runs::Run run = run_of("a", step_line(1, 0.5) + step_line(2, 0.25) + test_line(2, 0.75) +
                                        marker_line(1, "rate: 0.1 -> <0.2> & \"more\"\x01"));
  const Plot plot = plot_of({run}, {});
  ASSERT_EQ(plot.curves.size(), 2u);
  EXPECT_EQ(plot.curves[0].name, "train loss");
  EXPECT_EQ(plot.curves[0].points.y, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(plot.curves[1].name, "test loss");
  EXPECT_NE(plot.curves[0].color, plot.curves[1].color);
  EXPECT_EQ(plot.y_label, "loss");
  PlotChoice speed;
  speed.series = {"images_per_second"};
  EXPECT_EQ(plot_of({run}, speed).y_label, "images/s") << "as on the screen";
  const std::string svg = svg_of(plot);
  EXPECT_EQ(count(svg, "class=\"curve\""), 2u);
  EXPECT_EQ(count(svg, "#0072B2"), 2u) << "curve and legend";
  EXPECT_TRUE(tests::holds(svg, {">a</text>", ">train loss</text>", ">test loss</text>", ">step</text>",
                                 "Inter,", "rate: 0.1 -&gt; &lt;0.2&gt; &amp; &quot;more&quot;\\x01"}));
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
}

TEST(SvgTest, SeveralRunsHaveAColourEach) {
  const std::string lines = step_line(1, 0.5) + step_line(2, 0.25) + test_line(2, 0.75);
  const Plot plot = plot_of({run_of("a", lines), run_of("b", lines)}, {});
  ASSERT_EQ(plot.curves.size(), 4u);
  EXPECT_EQ(plot.curves[0].name, "a: train loss");
  EXPECT_EQ(plot.curves[3].name, "b: test loss");
  EXPECT_EQ(plot.curves[0].color, plot.curves[1].color);
  EXPECT_NE(plot.curves[0].color, plot.curves[2].color);
  EXPECT_EQ(plot.curves[1].dash, plot.curves[3].dash);
  EXPECT_NE(plot.curves[0].dash, plot.curves[1].dash);
  EXPECT_EQ(plot.title, "a, b");
}

TEST(SvgTest, CoordinatesAreThoseOfTheAxes) {
  // With known ends the frame can be computed by hand: x from 80 to 936, y from 484 to 72.
  Plot plot;
  plot.curves.push_back({"a", 0, 0, {{0, 50, 100}, {0, 10, 5}}});
  const std::string svg = svg_of(plot);
  // 4 % of room above and below: y = 484 - 412 * (value + 0.4) / 10.8.
  EXPECT_TRUE(tests::holds(svg, {"M80.00 468.74L508.00 87.26L936.00 278.00\""})) << svg;
}

TEST(SvgTest, ALogarithmicPlotLeavesOutWhatItCannotShow) {
  const runs::Run run = run_of("a", step_line(1, 100) + step_line(2, 0) + step_line(3, -5) + step_line(4, 1));
  Plot plot = plot_of({run}, {{"train_loss"}, Over::step, true, "T"});
  const std::string svg = svg_of(plot);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(count(svg.substr(svg.find("class=\"curve\"")), "L"), 1u) << "two points";
  const runs::Run zero = run_of("a", step_line(1, 0));
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] {
                             plot_of({zero}, {{"train_loss"}, Over::step, true, ""});
                           }),
                           {"above 0"}));
}

TEST(SvgTest, WhatCannotBePlottedIsRefused) {
  const runs::Run run = run_of("a", step_line(1, 1));
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] {
                             plot_of({run}, {{"nonsense"}, Over::step, false, ""});
                           }),
                           {"'nonsense'", "valid: train_loss, scheduled_rate"}));
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { plot_of({run_of("a", "")}, {}); }),
                           {"no points"}));
}

TEST(SvgTest, LargeAndDegenerateCurvesStayReadable) {
  Curve curve;
  for (int i = 0; i < 200'000; ++i) {
    curve.x.push_back(i);
    curve.y.push_back(std::sin(i));
  }
  Plot plot;
  plot.curves.push_back({"long", 0, 0, curve});
  plot.curves.push_back({"one point", 9, 7, {{5}, {1e-30}}});
  plot.curves.push_back({"none", 2, 1, {}});
  for (int i = 0; i < 500; ++i) plot.marks.push_back({i * 400.0, "mark"});
  const std::string svg = svg_of(plot);
  EXPECT_LT(svg.size(), 400'000u);
  EXPECT_EQ(count(svg, "class=\"mark\""), 500u);
  EXPECT_LT(count(svg, "class=\"small\""), 90u) << "texts that would lie on each other are left out";
  Plot flat;
  flat.curves.push_back({"flat", 0, 0, {{3, 3}, {7, 7}}});
  EXPECT_EQ(svg_of(flat).find("nan"), std::string::npos);
  EXPECT_EQ(svg_of({}).find("nan"), std::string::npos);
}

TEST(SvgTest, TextIsMadeFit) {
  EXPECT_EQ(xml_text("a<b>&\"'\x07\xFF\xEF\xBF\xBF"), "a&lt;b&gt;&amp;&quot;&apos;\\x07\\xff\\uffff");
  EXPECT_EQ(valid_utf8("\xC3\xBC\xC3"), "\xC3\xBC\xEF\xBF\xBD");
}

}  // namespace
}  // namespace warpscope::runs::curves_test
