#include "gpu/export/svg_bars.h"

#include <algorithm>
#include <regex>

#include <gtest/gtest.h>

namespace warpscope::runs::svg_bars_test {
namespace {

/// The values of an attribute of all elements of a class, in their order.
std::vector<double> attribute(const std::string& svg, const std::string& class_name,
                              const std::string& name) {
  const std::regex pattern("class=\"" + class_name + "\"[^>]* " + name + "=\"([0-9.]+)\"");
  std::vector<double> values;
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), pattern); at != std::sregex_iterator(); ++at) {
    values.push_back(std::stod((*at)[1]));
  }
  return values;
}

int height(const std::string& svg) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(svg, found, std::regex("height=\"([0-9]+)\"")));
  return std::stoi(found[1]);
}

BarChart chart(std::vector<ChartBar> bars) {
  BarChart chart;
  chart.title = "times";
  chart.groups.push_back({"group", std::move(bars)});
  return chart;
}

TEST(SvgBarsTest, BarsAreAsLongAsTheirValues) {
  const std::string svg = svg_of(chart({{.name = "a", .value = 100}, {.name = "b", .value = 25}}));
  const auto widths = attribute(svg, "bar", "width");
  ASSERT_EQ(widths.size(), 2u);
  EXPECT_NEAR(widths[0], 4 * widths[1], 0.2);
}

TEST(SvgBarsTest, LogarithmicBarsGrowWithTheRatio) {
  BarChart logarithmic =
      chart({{.name = "a", .value = 5}, {.name = "b", .value = 50}, {.name = "c", .value = 500}});
  logarithmic.logarithmic = true;
  const auto widths = attribute(svg_of(logarithmic), "bar", "width");
  ASSERT_EQ(widths.size(), 3u);
  EXPECT_NEAR(widths[2] - widths[1], widths[1] - widths[0], 0.2);
}

TEST(SvgBarsTest, LabelsOfALogarithmicAxisDoNotOverlap) {
  BarChart logarithmic = chart({{.name = "a", .value = 12}, {.name = "b", .value = 90'000}});
  logarithmic.logarithmic = true;
  const std::string svg = svg_of(logarithmic);
  const std::regex pattern(R"re(class="tick" x="([0-9.]+)" y="[0-9]+" text-anchor="middle">([0-9,.]+)<)re");
  double end = 0;
  std::vector<std::string> labels;
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), pattern); at != std::sregex_iterator(); ++at) {
    const double half = 3 * static_cast<double>((*at)[2].length());
    EXPECT_GT(std::stod((*at)[1]) - half, end) << (*at)[2];
    end = std::stod((*at)[1]) + half;
    labels.push_back((*at)[2]);
  }
  for (const char* power : {"10", "100", "1,000", "10,000"})
    EXPECT_NE(std::find(labels.begin(), labels.end(), power), labels.end()) << power;
  EXPECT_EQ(std::find(labels.begin(), labels.end(), "20,000"), labels.end()) << "too near 10,000";
  EXPECT_GT(attribute(svg, "grid", "x1").size(), labels.size()) << "every tick keeps its line";
}

TEST(SvgBarsTest, TheMarkStandsAtItsValue) {
  const std::string svg =
      svg_of(chart({{.name = "a", .value = 100, .mark = 50}, {.name = "b", .value = 50}}));
  const auto marks = attribute(svg, "mark", "x1");
  const auto starts = attribute(svg, "bar", "x");
  const auto widths = attribute(svg, "bar", "width");
  ASSERT_EQ(marks.size(), 1u);
  ASSERT_EQ(widths.size(), 2u);
  EXPECT_NEAR(marks[0], starts[1] + widths[1], 0.2);
}

TEST(SvgBarsTest, AMarkBeyondAllBarsIsOnThePage) {
  const auto marks = attribute(svg_of(chart({{.name = "a", .value = 1, .mark = 30}})), "mark", "x1");
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_LT(marks[0], 960);
}

TEST(SvgBarsTest, ThePageGrowsWithTheBars) {
  const int one = height(svg_of(chart({{.name = "a", .value = 1}})));
  const int three = height(
      svg_of(chart({{.name = "a", .value = 1}, {.name = "b", .value = 1}, {.name = "c", .value = 1}})));
  EXPECT_GT(three, one);
  EXPECT_EQ((three - one) % 2, 0);
}

TEST(SvgBarsTest, TextOfAnyContentStaysText) {
  const std::string svg = svg_of(chart({{.name = "<a> & \"b\"\n", .value = 1, .text = "1 < 2"}}));
  EXPECT_NE(svg.find("&lt;a&gt; &amp; &quot;b&quot;"), std::string::npos);
  EXPECT_NE(svg.find("1 &lt; 2"), std::string::npos);
}

TEST(SvgBarsTest, LongNamesAreCut) {
  const std::string svg = svg_of(chart({{.name = std::string(200, 'n'), .value = 1}}));
  EXPECT_EQ(svg.find(std::string(100, 'n')), std::string::npos);
  EXPECT_NE(svg.find("\u2026"), std::string::npos);
}

TEST(SvgBarsTest, AChartWithoutBarsHasAnAxis) {
  const std::string svg = svg_of(BarChart{});
  EXPECT_NE(svg.find("class=\"grid\""), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace warpscope::runs::svg_bars_test
