#include "ui/panels/curves/plot_export.h"

#include <optional>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/waiting.h"

namespace warpscope::ui::plot_export_test {
namespace {

class PlotFiles : public testing::Test {
 protected:
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  tests::TemporaryFolder folder_;
};

FileWriter::Result wait_for(FileWriter& writer) {
  std::optional<FileWriter::Result> result;
  EXPECT_TRUE(tests::eventually([&] { return (result = writer.take()).has_value(); }));
  return result.value_or(FileWriter::Result{});
}

TEST_F(PlotFiles, NamesNeverMeetAFileThatExists) {
  EXPECT_EQ(free_file(path(), "loss", ".png"), path() / "loss.png");
  tests::write_text(path() / "loss.png", "x");
  EXPECT_EQ(free_file(path(), "loss", ".png"), path() / "loss-2.png");
  std::filesystem::create_symlink("nowhere", path() / "loss-2.png");
  EXPECT_EQ(free_file(path(), "loss", ".png"), path() / "loss-3.png");
  EXPECT_EQ(free_file(path(), "loss", ".svg"), path() / "loss.svg");
}

TEST_F(PlotFiles, AreWrittenAndFailuresAreTold) {
  FileWriter writer;
  EXPECT_FALSE(writer.take());
  writer.write(path() / "a.svg", [] { return std::string("content"); });
  const auto done = wait_for(writer);
  EXPECT_TRUE(done.written);
  EXPECT_EQ(done.text, (path() / "a.svg").string());
  EXPECT_TRUE(std::filesystem::exists(path() / "a.svg"));
  writer.write(path() / "no" / "such" / "folder.svg", [] { return std::string(); });
  EXPECT_FALSE(wait_for(writer).written);
  writer.write(path() / "b.svg", []() -> std::string { throw core::Error("no picture"); });
  EXPECT_EQ(wait_for(writer).text, "no picture");
  EXPECT_FALSE(std::filesystem::exists(path() / "b.svg"));
}

TEST(SvgOfThePlot, HoldsWhatIsInView) {
  plot::Series train, test, skipped;
  for (int i = 1; i <= 100; ++i) train.append(i, 1.0f / static_cast<float>(i));
  test.append(10, 1);
  test.append(90, std::numeric_limits<float>::quiet_NaN());
  skipped.append(50, 1);
  const std::vector<ShownCurve> curves{
      {.name = "train", .kind = ShownCurve::Kind::train, .color = kTrainColor, .series = &train},
      {.name = "test", .kind = ShownCurve::Kind::test, .color = kTestColor, .series = &test},
      {.name = "skipped", .kind = ShownCurve::Kind::skipped, .series = &skipped}};
  const std::vector<plot::Marker> markers{{5, "early"}, {60, "in view"}};
  plot::View view;
  view.x0 = 40;
  view.x1 = 80;
  const runs::Plot plot = svg_plot(curves, markers, {.over = runs::Over::seconds}, view, true, "title <&>");
  ASSERT_EQ(plot.curves.size(), 2u) << "lone marks are no curve";
  EXPECT_EQ(plot.curves[0].points.x.front(), 39) << "one point more, for the line to the edge";
  EXPECT_EQ(plot.curves[0].points.x.back(), 81);
  EXPECT_EQ(plot.curves[0].dash, 0);
  EXPECT_EQ(plot.curves[1].dash, 1);
  EXPECT_NE(plot.curves[0].color, plot.curves[1].color);
  EXPECT_EQ(plot.curves[1].points.x, (std::vector<double>{10})) << "gaps are left out";
  ASSERT_EQ(plot.marks.size(), 1u);
  EXPECT_EQ(plot.marks[0].text, "in view");
  EXPECT_TRUE(plot.logarithmic);
  EXPECT_NE(runs::svg_of(plot).find("title &lt;&amp;&gt;"), std::string::npos);
}

}  // namespace
}  // namespace warpscope::ui::plot_export_test
