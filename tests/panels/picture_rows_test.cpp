#include "ui/panels/pictures/picture_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/plan/presets.h"
#include "gpu/plan/selection.h"

namespace warpscope::ui::picture_rows_test {
namespace {

using Images = std::vector<int>;

core::DeviceInfo cpu() {
  return core::open_device("cpu")->info();
}

PictureRequest request_of(const PictureChoices& choices, const PictureNeeds& needs = {}) {
  return make_request(choices, needs, cpu(), core::Precision::fp32);
}

TEST(PictureRequest, NothingIsAskedForWhatTheTrainingShowsAnyway) {
  EXPECT_TRUE(request_of({}).empty());
}

TEST(PictureRequest, NothingIsAskedForWhatTheHistoryKeeps) {
  PictureChoices choices;
  set_shown(choices, PictureRow::earlier, true);
  EXPECT_TRUE(request_of(choices).empty());
}

TEST(PictureRequest, AComparisonAsksForBothSidesOfTheSameStep) {
  PictureChoices choices;
  choices.preset = "loops";
  set_shown(choices, PictureRow::other, true);
  EXPECT_EQ(difference_name(choices), "loops \u2212 now");
  PictureNeeds needs;
  needs.count = 32;
  const PictureRequest asked = request_of(choices, needs);
  EXPECT_EQ(asked.request.count, 32);
  ASSERT_EQ(asked.request.reconstructors.size(), 2u);
  EXPECT_EQ(asked.place[index_of(PictureRow::now)], 0);
  EXPECT_EQ(asked.place[index_of(PictureRow::other)], 1);
  EXPECT_EQ(asked.request.reconstructors[0], training::Reconstructor{});
  ASSERT_TRUE(asked.request.reconstructors[1].selection);
  EXPECT_EQ(asked.request.reconstructors[1].selection->variants.at(ops::Op::conv2d_forward), "loops");
}

TEST(PictureRequest, APrecisionAloneLeavesTheVariantsToTheTraining) {
  PictureChoices choices;
  choices.precision = core::Precision::bf16;
  set_shown(choices, PictureRow::other, true);
  const auto& other = request_of(choices).request.reconstructors[1];
  EXPECT_EQ(other.precision, core::Precision::bf16);
  EXPECT_FALSE(other.selection);
}

TEST(PictureRequest, WhatIsLikelyIsEachPresetAndEachPrecisionBesideTheOtherChoice) {
  PictureChoices choices;
  choices.preset = "loops";
  PictureNeeds needs;
  needs.count = 32;
  const auto likely = likely_request(choices, needs, cpu(), core::Precision::fp32);
  EXPECT_EQ(likely.count, 32);
  const std::size_t presets = plan::presets(core::DeviceKind::cpu).size();
  const auto precisions = plan::training_precisions(cpu());
  ASSERT_EQ(likely.reconstructors.size(), 1 + presets + 1 + precisions.size());
  set_shown(choices, PictureRow::other, true);
  for (const char* const preset : {"", "onednn"}) {
    choices.preset = preset;
    const auto chosen = request_of(choices).request.reconstructors.at(1);
    EXPECT_EQ(std::count(likely.reconstructors.begin(), likely.reconstructors.end(), chosen), 1) << preset;
  }
  for (std::size_t i = 0; i < precisions.size(); ++i) {
    const training::Reconstructor& one = likely.reconstructors[1 + presets + 1 + i];
    EXPECT_EQ(one.precision, precisions[i]);
    ASSERT_TRUE(one.selection);
    EXPECT_EQ(one.selection->variants.at(ops::Op::conv2d_forward), "loops");
  }
}

TEST(PictureRequest, FilesAreAskedForOnceTheyAreChosen) {
  PictureChoices choices;
  set_shown(choices, PictureRow::checkpoint, true);
  set_shown(choices, PictureRow::run, true);
  EXPECT_TRUE(request_of(choices).empty());
  choices.checkpoint = {"/runs/a/step-1.safetensors", "step 1"};
  choices.run = {"/runs/b/best.safetensors", "b, best"};
  const PictureRequest asked = request_of(choices);
  ASSERT_EQ(asked.request.reconstructors.size(), 2u);
  EXPECT_EQ(asked.request.reconstructors[0].weights_file, choices.checkpoint.path);
  EXPECT_EQ(asked.place[index_of(PictureRow::run)], 1);
  EXPECT_EQ(asked.place[index_of(PictureRow::now)], -1);
}

TEST(PictureRequest, AllRowsAtOnceAreNoMoreThanOneLookTakes) {
  PictureChoices choices;
  choices.shown.fill(true);
  choices.checkpoint.path = choices.run.path = "file";
  PictureNeeds needs;
  needs.now = true;
  EXPECT_EQ(request_of(choices, needs).request.reconstructors.size(), training::ComparisonRequest::kMost);
}

TEST(PictureRequest, ImagesOfAPersonsOwnAreReconstructedToo) {
  PictureNeeds needs;
  needs.own = std::make_shared<data::OwnImages>();
  const PictureRequest asked = request_of({}, needs);
  EXPECT_EQ(asked.request.own, needs.own);
  EXPECT_EQ(asked.place[index_of(PictureRow::now)], 0);
}

TEST(PictureChoices, TheDifferenceGoesBackWhenOneOfItsRowsGoes) {
  PictureChoices choices;
  set_shown(choices, PictureRow::other, true);
  EXPECT_FALSE(is_plain_difference(choices));
  set_shown(choices, PictureRow::other, false);
  EXPECT_TRUE(is_plain_difference(choices));
  set_shown(choices, PictureRow::now, false);
  EXPECT_TRUE(is_plain_difference(choices)) << "a row that is hidden can still be subtracted";
}

TEST(PictureChoices, RowsHaveTheNamesOfWhatTheyShow) {
  PictureChoices choices;
  EXPECT_EQ(row_name(choices, PictureRow::other), "A/B");
  choices.precision = core::Precision::bf16;
  choices.preset = "naive";
  EXPECT_EQ(row_name(choices, PictureRow::other), "bf16 naive");
  choices.earlier = 12'000;
  EXPECT_EQ(row_name(choices, PictureRow::earlier), "step 12,000");
  choices.run = {"file", "b, best"};
  EXPECT_EQ(row_name(choices, PictureRow::run), "b, best");
}

TEST(ArrangePictures, StandInTheChosenOrder) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> quality{20, 30, nan, 20, 25}, change{1, 5, 2, nan, 2};
  const OrderFigures figures{quality, change, {}};
  EXPECT_EQ(arrange_pictures(5, PictureOrder::stored, kAllClasses, figures), (Images{0, 1, 2, 3, 4}));
  EXPECT_EQ(arrange_pictures(5, PictureOrder::worst, kAllClasses, figures), (Images{2, 0, 3, 4, 1}));
  EXPECT_EQ(arrange_pictures(5, PictureOrder::best, kAllClasses, figures), (Images{1, 4, 0, 3, 2}));
  EXPECT_EQ(arrange_pictures(5, PictureOrder::most_changed, kAllClasses, figures), (Images{3, 1, 2, 4, 0}));
}

TEST(ArrangePictures, WithoutFiguresTheyStandAsStored) {
  EXPECT_EQ(arrange_pictures(3, PictureOrder::worst, kAllClasses, {}), (Images{0, 1, 2}));
}

TEST(ArrangePictures, OfOneClassOnlyItsImagesAreShown) {
  const std::vector<std::uint8_t> labels{1, 0, 1, 2};
  const std::vector<double> quality{3, 2, 1, 0};
  EXPECT_EQ(arrange_pictures(4, PictureOrder::worst, 1, {quality, {}, labels}), (Images{2, 0}));
  EXPECT_TRUE(arrange_pictures(4, PictureOrder::stored, 7, {{}, {}, labels}).empty());
}

const training::ImageShape kShape{2, 2, 3, 2};  // 24 values

TEST(ComparePictures, TellsMeanAndLargestAndWhereThatIs) {
  std::vector<float> a(24, 0.5f), b(24, 0.5f);
  b[12 + 1 * 6 + 2 * 2 + 1] = 0.9f;  // image 1, y 1, x 2, channel 1
  b[3] = 0.4f;
  const DifferenceFigures found = compare_pictures(a, b, kShape);
  EXPECT_NEAR(found.mean_absolute, 0.5 / 24, 1e-7);
  EXPECT_FLOAT_EQ(found.largest, -0.4f);
  EXPECT_EQ(found.image, 1);
  EXPECT_EQ(found.y, 1);
  EXPECT_EQ(found.x, 2);
  EXPECT_EQ(found.channel, 1);
}

TEST(ComparePictures, NotANumberIsTheLargest) {
  std::vector<float> a(24, 0.5f);
  const std::vector<float> b(24, 0.0f);
  a[12] = std::nanf("");
  const DifferenceFigures found = compare_pictures(a, b, kShape);
  EXPECT_EQ(found.image, 1);
  EXPECT_TRUE(std::isnan(found.largest));
  EXPECT_TRUE(std::isnan(found.mean_absolute));
}

TEST(AutomaticRange, HoldsAllOfFewPixelsInTwoDigits) {
  std::vector<float> a(24, 0.0f);
  const std::vector<float> b(24, 0.0f);
  const auto range = [&](images::Difference kind) { return automatic_range(a, b, kShape, kind); };
  EXPECT_GT(range(images::Difference::signed_mean), 0);
  a[0] = 0.06f;
  a[1] = -0.06f;
  EXPECT_FLOAT_EQ(range(images::Difference::absolute), 0.06f);
  EXPECT_LT(range(images::Difference::signed_mean), 1e-3f) << "the channels' differences cancel";
  a[1] = 0.0f;
  EXPECT_FLOAT_EQ(range(images::Difference::signed_mean), 0.03f);
  a[0] = 0.4f;
  EXPECT_FLOAT_EQ(range(images::Difference::signed_mean), 0.2f);
}

TEST(AutomaticRange, LeavesOutTheLargestOfManyPixels) {
  const training::ImageShape shape{1, 20, 50, 1};
  std::vector<float> a(1000, 0.0f);
  const std::vector<float> b(1000, 0.0f);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i + 1) * 1e-5f;
  EXPECT_FLOAT_EQ(automatic_range(a, b, shape, images::Difference::absolute), 0.01f) << "995 of 1,000 pixels";
  for (std::size_t i = 995; i < a.size(); ++i) a[i] = 1;
  EXPECT_FLOAT_EQ(automatic_range(a, b, shape, images::Difference::absolute), 0.01f);
  a[994] = 1;
  EXPECT_FLOAT_EQ(automatic_range(a, b, shape, images::Difference::absolute), 1.0f);
  a[994] = std::nanf("");
  EXPECT_LT(automatic_range(a, b, shape, images::Difference::absolute), 1.0f + 1e-6f);
}

}  // namespace
}  // namespace warpscope::ui::picture_rows_test
