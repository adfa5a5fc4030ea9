#include "ui/panels/curves/curves_csv.h"

#include <cmath>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

namespace warpscope::ui::curves_csv_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(CurvesCsv, HasARowForEachXAndAColumnForEachCurve) {
  plot::Series train, test;
  train.append(1, 0.5f);
  train.append(2, kNaN);
  train.append(3, 0.1f);
  test.append(2.5, 4e-8f);
  test.append(3, 1234567);
  const std::vector<CsvCurve> curves{{"loss train", &train}, {"a, \"b\"", &test}};
  const CsvText csv = curves_csv(curves, "step", {1, 3}, 100);
  EXPECT_EQ(csv.text,
            "step,loss train,\"a, \"\"b\"\"\"\n"
            "1,0.5,\n"
            "2.5,,4e-08\n"
            "3,0.1,1234567\n");
  EXPECT_EQ(csv.rows, 3u);
  EXPECT_FALSE(csv.thinned);
}

TEST(CurvesCsv, HoldsTheVisiblePartAlone) {
  plot::Series series;
  for (int i = 0; i < 100; ++i) series.append(i, static_cast<float>(i));
  const std::vector<CsvCurve> curves{{"y", &series}};
  EXPECT_EQ(curves_csv(curves, "x", {40, 42}, 100).text, "x,y\n40,40\n41,41\n42,42\n");
  EXPECT_EQ(curves_csv(curves, "x", {200, 300}, 100).text, "x,y\n");
  EXPECT_EQ(curves_csv({}, "x", {0, 1}, 100).text, "x\n");
}

TEST(CurvesCsv, NumbersReadBackToTheSameFloats) {
  plot::Series series;
  float value = 0.1f;
  for (int i = 1; i <= 200; ++i) series.append(i / 3.0, value = value * 1.37f - 1e-3f);
  const std::vector<CsvCurve> curves{{"y", &series}};
  std::istringstream text(curves_csv(curves, "x", {0, 1000}, 1000).text);
  std::string line;
  std::getline(text, line);
  for (std::size_t i = 0; i < series.size(); ++i) {
    ASSERT_TRUE(std::getline(text, line));
    EXPECT_EQ(std::stod(line), series.x(i));
    EXPECT_EQ(std::stof(line.substr(line.find(',') + 1)), series.y(i));
  }
}

TEST(CurvesCsv, OfALongCurveEveryExtremeStays) {
  plot::Series series;
  for (int i = 0; i < 100000; ++i) {
    series.append(i, i == 54321 ? 50.0f : i == 70007 ? -50.0f : i % 10 == 0 ? kNaN : 1.0f);
  }
  const std::vector<CsvCurve> curves{{"y", &series}};
  const CsvText csv = curves_csv(curves, "x", {0, 1e9}, 1000);
  EXPECT_TRUE(csv.thinned);
  EXPECT_LE(csv.rows, 1000u);
  EXPECT_GE(csv.rows, 250u);
  EXPECT_NE(csv.text.find("\n54321,50\n"), std::string::npos);
  EXPECT_NE(csv.text.find("\n70007,-50\n"), std::string::npos);
}

}  // namespace
}  // namespace warpscope::ui::curves_csv_test
