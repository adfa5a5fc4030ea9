#include "ui/input/cursor.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_classifier.h"
#include "ui/panels/selection_chip.h"

namespace warpscope::ui::cursor_test {
namespace {

TEST(Cursor, AnImageBringsItsClass) {
  Cursor cursor;
  const std::vector<std::uint8_t> labels{2, 0, 1};
  point_at_image(cursor, 2, labels);
  EXPECT_EQ(cursor.image, 2);
  EXPECT_EQ(cursor.label, 1);
  point_at_image(cursor, 3, labels);
  EXPECT_EQ(cursor.image, 3);
  EXPECT_FALSE(cursor.label) << "it has none";
}

TEST(Cursor, AnotherLayerLetsChannelAndPlaceGo) {
  Cursor cursor;
  cursor.channel = 5;
  cursor.has_pixel = true;
  point_at_output(cursor, cursor.output);
  EXPECT_EQ(cursor.channel, 5);
  point_at_output(cursor, cursor.output + 1);
  EXPECT_EQ(cursor.channel, 0);
  EXPECT_FALSE(cursor.has_pixel);
}

class PointingTest : public testing::Test {
 protected:
  training::Snapshot snapshot_;
  std::function<void(training::Command)> send_;
  Fonts fonts_;
  Palette palette_{};
  Cursor cursor_;
  Frame frame_{
      .snapshot = snapshot_, .send = send_, .fonts = fonts_, .palette = palette_, .cursor = &cursor_};
  Frame blind_{.snapshot = snapshot_, .send = send_, .fonts = fonts_, .palette = palette_};
};

TEST_F(PointingTest, LayersByTheirNames) {
  const models::Model model = tests::tiny_classifier();
  EXPECT_EQ(pointed_layer(frame_, model), "conv1") << "the first, to begin with";
  point_at_layer(frame_, model, "fc1");
  EXPECT_EQ(cursor_.output, 4u);
  EXPECT_EQ(pointed_layer(frame_, model), "fc1");
  point_at_layer(frame_, model, "");
  point_at_layer(frame_, model, "conv9");
  EXPECT_EQ(pointed_layer(frame_, model), "fc1");
  cursor_.output = 0;
  EXPECT_EQ(pointed_layer(frame_, model), "") << "the input";
}

TEST_F(PointingTest, ImagesWithTheLabelsOfTheTestSet) {
  auto data = std::make_shared<data::DataSet>(tests::labelled_data(2, 3));
  data->test.labels = {2, 0, 1};
  snapshot_.data = training::view_of(data);
  point_at_image(frame_, 0);
  EXPECT_EQ(pointed_class(frame_), 2);
  EXPECT_TRUE(is_pointed_at_image(frame_, 0));
  snapshot_.data = nullptr;
  point_at_image(frame_, 1);
  EXPECT_FALSE(pointed_class(frame_));
}

TEST_F(PointingTest, NothingHappensWithoutACursor) {
  point_at_image(blind_, 4);
  point_at_class(blind_, 1);
  point_at_layer(blind_, tests::tiny_classifier(), "fc1");
  EXPECT_FALSE(is_pointed_at_image(blind_, 0));
  EXPECT_FALSE(pointed_class(blind_));
  EXPECT_EQ(pointed_layer(blind_, tests::tiny_classifier()), "");
}

TEST(ImageSelection, KeepsToTheSelectedImages) {
  const std::vector<std::int64_t> some{3, 5, 900};
  EXPECT_TRUE(is_selected(some, 5));
  EXPECT_FALSE(is_selected(some, 4));
  EXPECT_TRUE(is_selected({}, 4)) << "no selection: all of them";
  EXPECT_EQ(selected_text(37, 1512), "37 of 1,512 selected");
  EXPECT_EQ(none_selected_text(1200, 32),
            "None of the 32 images here is among the 1,200 that are selected in Latent. Clear the selection "
            "(Esc), or "
            "draw the lasso around others.");
}

}  // namespace
}  // namespace warpscope::ui::cursor_test
