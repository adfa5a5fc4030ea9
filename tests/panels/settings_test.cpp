#include "ui/settings/settings.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "ui/docking/layout.h"

namespace warpscope::ui::settings_test {
namespace {

class SettingsFile : public testing::Test {
 protected:
  void write(const std::string& text) {
    std::filesystem::create_directories(file_.parent_path());
    std::ofstream(file_) << text;
  }

  const tests::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "deeper" / "window.json";
};

TEST_F(SettingsFile, ComesBackAsItWasSaved) {
  Settings saved = load_settings({});
  saved.window = {1234, 777, -20, 40, true, true};
  saved.look = {Theme::light_safe, 1.5f, 18};
  close_panel(saved.docking, "runs");
  float_panel(saved.docking, "images", {0.25f, 0.5f, 0.25f, 0.25f});
  saved.layouts = {{"talk", *find_layout("present", {})}};
  const std::vector plots{Metric::gradient_norm, Metric::psnr, Metric::gradient_norm};
  saved.plot = {plots, 1, true, 10, true, false, false, false, {}};
  saved.images = {4, true, 0.5f};
  saved.images.rows.precision = core::Precision::bf16;
  set_shown(saved.images.rows, PictureRow::other, true);
  save_settings(file_, saved);
  const Settings read = load_settings(file_);
  EXPECT_EQ(read.window.width, 1234);
  EXPECT_EQ(read.window.x, -20);
  EXPECT_TRUE(read.window.has_position);
  EXPECT_TRUE(read.window.maximized);
  EXPECT_EQ(read.look, saved.look);
  EXPECT_EQ(read.docking, saved.docking);
  EXPECT_EQ(read.layouts, saved.layouts);
  EXPECT_EQ(read.problem, "");
  EXPECT_EQ(read.plot.metrics, plots);
  EXPECT_TRUE(read.plot.logarithmic_x);
  EXPECT_EQ(read.plot.over, 1);
  for (const bool logarithmic : read.plot.logarithmic) EXPECT_FALSE(logarithmic);
  EXPECT_FLOAT_EQ(read.plot.smoothing_steps, 10);
  EXPECT_FALSE(read.plot.show_test);
  EXPECT_FALSE(read.plot.show_validation);
  EXPECT_EQ(read.images.zoom, 4);
  EXPECT_TRUE(read.images.absolute_difference);
  EXPECT_FLOAT_EQ(read.images.difference_range, 0.5f);
  EXPECT_EQ(read.images.rows, saved.images.rows);
}

TEST_F(SettingsFile, ABrokenFileIsAsNone) {
  const Settings standard;
  for (const char* text : {"", "{", "[1,2]", "\"text\"", "{\"format\": 1, \"window\": 3}", "\x01\xFF\xFE"}) {
    write(text);
    EXPECT_EQ(load_settings(file_).window.width, standard.window.width) << text;
  }
  EXPECT_EQ(load_settings(folder_ / "none.json").docking, *find_layout("train", {}));
  EXPECT_EQ(load_settings({}).docking, *find_layout("train", {}));
}

TEST_F(SettingsFile, ValuesThatCannotBeAreLeftOut) {
  write(R"({"format": 1, "window": {"width": 1e99, "height": -4, "x": "left"},
            "plot": {"smoothing_steps": null, "logarithmic": 1}, "zoom": 100, "theme": "pink", "text_size": 40})");
  const Settings read = load_settings(file_);
  const Settings standard;
  EXPECT_EQ(read.window.width, standard.window.width);
  EXPECT_EQ(read.window.height, standard.window.height);
  EXPECT_EQ(read.window.x, standard.window.x);
  EXPECT_EQ(read.plot.smoothing_steps, standard.plot.smoothing_steps);
  EXPECT_EQ(read.plot.logarithmic, standard.plot.logarithmic);
  EXPECT_EQ(read.look, standard.look);
}

TEST_F(SettingsFile, PlotsThatCannotBeAreLeftOut) {
  for (const char* metrics :
       {"[]", R"(["gone"])", "[7]", R"("psnr")", R"([["psnr"]])",
        R"(["psnr", "psnr", "psnr", "psnr", "psnr", "psnr", "psnr", "psnr", "psnr"])"}) {
    write(std::string(R"({"format": 1, "plot": {"metrics": )") + metrics + "}}");
    EXPECT_EQ(load_settings(file_).plot.metrics, std::vector{Metric::loss}) << metrics;
  }
  write(R"({"format": 1, "plot": {"metrics": ["psnr", "gone", "loss"]}})");
  EXPECT_EQ(load_settings(file_).plot.metrics, (std::vector{Metric::psnr, Metric::loss}));
}

TEST_F(SettingsFile, ABuiltInLayoutIsKeptByItsName) {
  Settings saved = load_settings({});
  saved.docking = *find_layout("inspect", {});
  save_settings(file_, saved);
  std::ifstream stream(file_);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_NE(text.find("\"layout\": \"inspect\""), std::string::npos) << text;
  EXPECT_EQ(load_settings(file_).docking, saved.docking);
}

TEST_F(SettingsFile, ALayoutThatCannotBeIsLeftOutAndTold) {
  write(R"({"format": 1, "layout": {"docked": {"panels": ["gone"]}}, "zoom": 1.5})");
  const Settings read = load_settings(file_);
  EXPECT_EQ(read.docking, *find_layout("train", {}));
  EXPECT_EQ(read.problem,
            "window.json: the layout of the panels names the panel \"gone\", which there is none of; it is "
            "left out");
  EXPECT_FLOAT_EQ(read.look.zoom, 1.5f);
  write(R"({"format": 1, "layout": "nowhere"})");
  EXPECT_EQ(load_settings(file_).problem, "window.json: there is no layout \"nowhere\"; it is left out");
  write(
      R"({"format": 1, "layouts": {"train": {"docked": {"panels": []}}, "mine": {"docked": {"panels": ["time"]}}}})");
  const Settings named = load_settings(file_);
  ASSERT_EQ(named.layouts.size(), 1U);
  EXPECT_EQ(named.layouts[0].name, "mine");
  EXPECT_EQ(named.problem,
            "window.json: \"train\" is built in; give the layout another name; it is left out");
}

TEST_F(SettingsFile, OneOfAnotherFormatIsNotUsedAndStays) {
  const std::string text = R"({"format": 2, "zoom": 1.5})";
  write(text);
  const Settings read = load_settings(file_);
  EXPECT_EQ(read.look, Look{});
  EXPECT_FALSE(read.first_start);
  EXPECT_NE(read.problem.find("window settings, and this Warpscope reads only 1"), std::string::npos)
      << read.problem;
  EXPECT_NE(read.problem.find("delete or rename the file"), std::string::npos) << read.problem;
  save_settings(file_, read);
  std::ifstream stream(file_);
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>(stream), {}}), text);
}

TEST_F(SettingsFile, OneWithoutANumberIsOfTheFirstFormat) {
  write(R"({"zoom": 1.5})");
  const Settings read = load_settings(file_);
  EXPECT_EQ(read.look.zoom, 1.5f);
  EXPECT_EQ(read.problem, "");
}

void expect_inside(const Area& area, ImVec2 size) {
  EXPECT_GE(area.x, 0);
  EXPECT_GE(area.y, 0);
  EXPECT_LE(area.right(), size.x);
  EXPECT_LE(area.bottom(), size.y);
  EXPECT_GT(area.w, 0);
  EXPECT_GT(area.h, 0);
}

TEST(Layout, ToolbarPanelsAndStatusFillTheWindow) {
  for (const ImVec2 size : {ImVec2(1024, 640), ImVec2(1600, 1000), ImVec2(3840, 2160), ImVec2(640, 400)}) {
    for (const float strip : {0.0f, 28.0f}) {
      const Layout layout = arrange(size, 1, 24, strip);
      for (const Area& area : {layout.toolbar, layout.panels, layout.status}) expect_inside(area, size);
      EXPECT_EQ(layout.toolbar.h, 40);
      EXPECT_EQ(layout.status.bottom(), size.y);
      EXPECT_LT(layout.panels.bottom(), layout.status.y);
      EXPECT_LT(strip > 0 ? layout.strip.bottom() : layout.toolbar.bottom(), layout.panels.y);
    }
  }
}

TEST(Layout, RowsOfLargerTextFit) {
  const Layout layout = arrange(ImVec2(1024, 640), 1, 30);
  EXPECT_EQ(layout.toolbar.h, 46);
  EXPECT_EQ(layout.status.h, 30);
}

}  // namespace
}  // namespace warpscope::ui::settings_test
