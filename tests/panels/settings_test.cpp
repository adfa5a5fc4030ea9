#include "ui/settings.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "ui/layout.h"

namespace warpscope::ui {
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
  Settings saved;
  saved.window = {1234, 777, -20, 40, true, true};
  saved.look = {Theme::light_safe, 1.5f, 18};
  saved.splits = {0.4f, 0.3f, 0.8f};
  saved.plot = {2, 1, 10, true, false, false, false, {}};
  saved.images = {4, true, 0.5f};
  save_settings(file_, saved);
  const Settings read = load_settings(file_);
  EXPECT_EQ(read.window.width, 1234);
  EXPECT_EQ(read.window.x, -20);
  EXPECT_TRUE(read.window.has_position);
  EXPECT_TRUE(read.window.maximized);
  EXPECT_EQ(read.look, saved.look);
  EXPECT_FLOAT_EQ(read.splits.kernels, 0.8f);
  EXPECT_EQ(read.plot.metric, 2);
  EXPECT_EQ(read.plot.over, 1);
  for (const bool logarithmic : read.plot.logarithmic) EXPECT_FALSE(logarithmic);
  EXPECT_FLOAT_EQ(read.plot.smoothing_steps, 10);
  EXPECT_FALSE(read.plot.show_test);
  EXPECT_FALSE(read.plot.show_validation);
  EXPECT_EQ(read.images.zoom, 4);
  EXPECT_TRUE(read.images.absolute_difference);
  EXPECT_FLOAT_EQ(read.images.difference_range, 0.5f);
}

TEST_F(SettingsFile, ABrokenFileIsAsNone) {
  const Settings standard;
  for (const char* text : {"", "{", "[1,2]", "\"text\"", "{\"window\": 3}", "\x01\xFF\xFE"}) {
    write(text);
    EXPECT_EQ(load_settings(file_).window.width, standard.window.width) << text;
  }
  EXPECT_EQ(load_settings(folder_ / "none.json").splits.top, standard.splits.top);
  EXPECT_EQ(load_settings({}).splits.top, standard.splits.top);
}

TEST_F(SettingsFile, ValuesThatCannotBeAreLeftOut) {
  write(R"({"window": {"width": 1e99, "height": -4, "x": "left"}, "splits": {"top": 7, "loss": 0.25},
            "plot": {"smoothing_steps": null, "logarithmic": 1}, "zoom": 100, "theme": "pink", "text_size": 40})");
  const Settings read = load_settings(file_);
  const Settings standard;
  EXPECT_EQ(read.window.width, standard.window.width);
  EXPECT_EQ(read.window.height, standard.window.height);
  EXPECT_EQ(read.window.x, standard.window.x);
  EXPECT_EQ(read.splits.top, standard.splits.top);
  EXPECT_FLOAT_EQ(read.splits.loss, 0.25f);
  EXPECT_EQ(read.plot.smoothing_steps, standard.plot.smoothing_steps);
  EXPECT_EQ(read.plot.logarithmic, standard.plot.logarithmic);
  EXPECT_EQ(read.look, standard.look);
}

void expect_inside(const Box& box, ImVec2 size) {
  EXPECT_GE(box.min.x, 0);
  EXPECT_GE(box.min.y, 0);
  EXPECT_LE(box.max.x, size.x);
  EXPECT_LE(box.max.y, size.y);
  EXPECT_GT(box.width(), 0);
  EXPECT_GT(box.height(), 0);
}

TEST(Layout, EveryPanelHasRoomAtEverySizeAndSplit) {
  for (const ImVec2 size : {ImVec2(1024, 640), ImVec2(1600, 1000), ImVec2(3840, 2160), ImVec2(640, 400)}) {
    for (const float part : {0.0f, 0.3f, 1.0f}) {
      const Layout layout = arrange(Splits{part, part, part}, size, 1);
      for (const Box& box :
           {layout.toolbar, layout.loss, layout.images, layout.kernels, layout.training, layout.status}) {
        expect_inside(box, size);
      }
      EXPECT_LT(layout.loss.max.x, layout.images.min.x);
      EXPECT_LT(layout.loss.max.y, layout.kernels.min.y);
      EXPECT_LT(layout.kernels.max.x, layout.training.min.x);
      EXPECT_LE(layout.kernels.max.y, layout.status.min.y);
    }
  }
}

TEST(Layout, LeastSizesHoldWhereTheyFit) {
  const Layout layout = arrange(Splits{0, 1, 1}, ImVec2(1024, 640), 1);
  EXPECT_GE(layout.images.width(), 360);
  EXPECT_GE(layout.training.width(), 280);
  EXPECT_GE(layout.loss.height(), 200);
}

}  // namespace
}  // namespace warpscope::ui
