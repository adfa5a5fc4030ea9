#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "gpu/runs/run_points.h"

namespace warpscope::runs::metrics_line_test {
namespace {

using Kind = MetricsLine::Kind;

MetricsLine parsed(const std::string& text) {
  MetricsLine line;
  EXPECT_EQ(parse_metrics_line(text, line), "") << text;
  return line;
}

std::map<std::string, double> values(const MetricsLine& line) {
  return {line.values.begin(), line.values.end()};
}

using Values = std::map<std::string, double>;

TEST(MetricsLineTest, AStepHasItsScalarsUnderTheirNames) {
  const MetricsLine line = parsed(
      R"({"step":7,"epoch":0.5,"loss":0.384648204,"learning_rate":0.1,"seconds":2.5,"loss_scale":65536,)"
      R"("skipped":true,"gradient_norm":3,"update_ratio":1e-3,"accuracy":0.25})");
  EXPECT_EQ(line.kind, Kind::step);
  EXPECT_EQ(line.step, 7u);
  EXPECT_EQ(line.epoch, 0.5);
  EXPECT_EQ(line.seconds, 2.5);
  EXPECT_EQ(values(line), (Values{{"train_loss", 0.384648204},
                                  {"scheduled_rate", 0.1},
                                  {"loss_scale", 65536},
                                  {"skipped", 1},
                                  {"gradient_norm", 3},
                                  {"update_ratio", 1e-3},
                                  {"train_accuracy", 0.25}}));
}

TEST(MetricsLineTest, ASpeedThatWasNotMeasuredIsNone) {
  const MetricsLine line = parsed(R"({"step":1,"loss":0.5,"images_per_second":0,"update_ratio":0})");
  EXPECT_TRUE(std::isnan(values(line).at("images_per_second")));
  EXPECT_EQ(values(line).at("update_ratio"), 0);
}

TEST(MetricsLineTest, FiguresOfAHeadAreNamedByTheirSplit) {
  MetricsLine line = parsed(R"({"step":7,"loss":0.5,"head_loss":2.25,"head_accuracy":0.125})");
  EXPECT_EQ(line.kind, Kind::step);
  EXPECT_EQ(values(line),
            (Values{{"train_loss", 0.5}, {"train_head_loss", 2.25}, {"train_head_accuracy", 0.125}}));
  line = parsed(R"({"step":7,"head_loss":2.25,"head_accuracy":0.125,"test_loss":0.5})");
  EXPECT_EQ(line.kind, Kind::test);
  EXPECT_EQ(values(line),
            (Values{{"test_loss", 0.5}, {"test_head_loss", 2.25}, {"test_head_accuracy", 0.125}}));
}

TEST(MetricsLineTest, ATestIsNamedByItsSplit) {
  MetricsLine line = parsed(R"({"step":7,"test_loss":0.5,"psnr":12,"accuracy":0.75,"seconds":1})");
  EXPECT_EQ(line.kind, Kind::test);
  EXPECT_EQ(values(line), (Values{{"test_loss", 0.5}, {"test_psnr", 12}, {"test_accuracy", 0.75}}));
  EXPECT_TRUE(std::isnan(line.epoch));

  line = parsed(R"({"step":7,"split":"validation","test_loss":0.5,"accuracy":0.75})");
  EXPECT_EQ(line.kind, Kind::test);
  EXPECT_EQ(values(line), (Values{{"validation_loss", 0.5}, {"validation_accuracy", 0.75}}));

  line = parsed(R"({"step":7,"validation_loss":0.5,"accuracy":0.75})");
  EXPECT_EQ(line.kind, Kind::test);
  EXPECT_EQ(values(line), (Values{{"validation_loss", 0.5}, {"validation_accuracy", 0.75}}));

  line = parsed(R"({"step":7,"split":"train","loss":0.5})");
  EXPECT_EQ(line.kind, Kind::step);
  EXPECT_EQ(values(line), (Values{{"train_loss", 0.5}}));
}

TEST(MetricsLineTest, AMarkerHasItsText) {
  const MetricsLine line = parsed(R"({"step":3,"seconds":0.5,"marker":"a \"b\" -> \u00fc"})");
  EXPECT_EQ(line.kind, Kind::marker);
  EXPECT_EQ(line.marker, "a \"b\" -> \xC3\xBC");
  EXPECT_EQ(line.seconds, 0.5);
}

TEST(MetricsLineTest, NullIsNotANumberAndOtherThingsAreLeftOut) {
  const MetricsLine line = parsed(
      R"({"step":1,"loss":null,"note":"text","confusion":[[1,2],[3,4]],"more":{"step":9,"loss":8,"marker":"x"}})");
  EXPECT_EQ(line.kind, Kind::step);
  EXPECT_EQ(line.step, 1u);
  ASSERT_EQ(line.values.size(), 1u);
  EXPECT_EQ(line.values[0].first, "train_loss");
  EXPECT_TRUE(std::isnan(line.values[0].second));
}

TEST(MetricsLineTest, EverythingElseIsDamaged) {
  MetricsLine line;
  for (const char* text : {"",
                           "   ",
                           "{",
                           R"({"step":1,"loss":0.)",
                           "nonsense",
                           "[1]",
                           "7",
                           "null",
                           "true",
                           "\"text\"",
                           "{}",
                           R"({"loss":1})",
                           R"({"step":-1,"loss":1})",
                           R"({"step":1.5,"loss":1})",
                           R"({"step":null})",
                           R"({"step":"1"})",
                           R"({"step":[1]})",
                           R"({"step":1,"seconds":"2"})",
                           R"({"step":1,"epoch":{}})",
                           R"({"step":1,"marker":5})",
                           R"({"step":1,"marker":["x"]})",
                           R"({"step":1,"loss":1e999})",
                           R"({"step":1} {"step":2})",
                           "{\"step\":1,\"x\xFF\":2}",
                           R"({"step":1,"loss":NaN})"}) {
    EXPECT_NE(parse_metrics_line(text, line), "") << text;
  }
}

TEST(MetricsLineTest, NothingOfALineStaysForTheNext) {
  MetricsLine line;
  ASSERT_EQ(parse_metrics_line(R"({"step":1,"epoch":1,"seconds":1,"marker":"x"})", line), "");
  ASSERT_EQ(parse_metrics_line(R"({"step":2,"loss":1})", line), "");
  EXPECT_EQ(line.kind, Kind::step);
  EXPECT_EQ(line.marker, "");
  EXPECT_TRUE(std::isnan(line.epoch));
  EXPECT_TRUE(std::isnan(line.seconds));
  EXPECT_EQ(line.values.size(), 1u);
}

}  // namespace
}  // namespace warpscope::runs::metrics_line_test
