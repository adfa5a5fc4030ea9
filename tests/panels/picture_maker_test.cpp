// What the Images panel shows of values in host memory, made by a thread.

#include "ui/panels/pictures/picture_maker.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::picture_maker_test {
namespace {

const training::ImageShape kShape{3, 2, 2, 3};
constexpr std::size_t kOriginal = index_of(PictureRow::original), kNow = index_of(PictureRow::now),
                      kOther = index_of(PictureRow::other), kDifference = index_of(PictureRow::difference);

SharedValues values(float first) {
  auto result = std::make_shared<std::vector<float>>();
  for (std::size_t i = 0; i < kShape.elements(); ++i)
    result->push_back(first + 0.01f * static_cast<float>(i));
  return result;
}

/// Original, now and A/B of one step, with the pages of the last two and of their difference.
PictureSource source_of(std::uint64_t step) {
  PictureSource source;
  source.shape = kShape;
  source.minuend = PictureRow::other;
  source.subtrahend = PictureRow::now;
  source.page = interop::make_page(kShape.count, kShape.width, kShape.height, 64);
  source.rows[kOriginal] = {values(0), {}, "original", false};
  source.rows[kNow] = {values(0.1f), step, "now", true};
  source.rows[kOther] = {values(0.15f), step, "bf16", true};
  source.rows[kDifference].paged = true;
  return source;
}

void wait_for(PictureMaker& maker) {
  while (!maker.advance()) std::this_thread::yield();
}

TEST(MadePictures, HoldThePagesAndTheFiguresOfTheirRows) {
  const PictureSource source = source_of(7);
  const MadePictures made = make_pictures(source, nullptr);
  EXPECT_EQ(made.pixels[kOriginal], nullptr) << "the view draws it";
  const int width = source.page.columns * source.page.width;
  for (int image = 0; image < kShape.count; ++image) {
    for (int i = 0; i < 4; ++i) {
      const images::Point corner = source.page.corner(image);
      const auto at = static_cast<std::size_t>((corner.y + i / 2) * width + corner.x + i % 2);
      const std::size_t place = static_cast<std::size_t>(image * 4 + i) * 3;
      const float *now = source.rows[kNow].values->data() + place,
                  *other = source.rows[kOther].values->data() + place;
      EXPECT_EQ((*made.pixels[kNow])[at], images::image_colour(now, 3));
      EXPECT_EQ((*made.pixels[kOther])[at], images::image_colour(other, 3));
      EXPECT_EQ((*made.pixels[kDifference])[at], images::difference_colour(now, other, 3, source.conversion));
    }
  }
  ASSERT_NE(made.figures[kNow], nullptr);
  EXPECT_NEAR(made.figures[kNow]->mse[2], 0.01, 1e-6);
  EXPECT_NEAR(made.figures[kOther]->mse[0], 0.0225, 1e-6);
  ASSERT_TRUE(made.difference);
  EXPECT_NEAR(made.difference->mean_absolute, 0.05, 1e-6);
  ASSERT_EQ(made.changes.size(), 3u);
  EXPECT_NEAR(made.changes[1], 0.05, 1e-6);
}

TEST(MadePictures, TheScaleFollowsTheDifferenceIfItIsToAndItsColoursWithIt) {
  PictureSource source = source_of(7);
  source.automatic_range = true;
  const MadePictures made = make_pictures(source, nullptr);
  EXPECT_NEAR(made.conversion.range, 0.05f, 1e-6f);
  EXPECT_EQ((*made.pixels[kDifference])[0],
            images::difference_colour(source.rows[kNow].values->data(), source.rows[kOther].values->data(), 3,
                                      made.conversion));
}

TEST(MadePictures, PicturesThatAreTheSameAreNotMadeAnew) {
  PictureSource source = source_of(7);
  const auto before = std::make_shared<const MadePictures>(make_pictures(source, nullptr));
  source.rows[kNow].values = values(0.1f);
  source.rows[kOther].values = values(0.2f);
  const MadePictures made = make_pictures(source, before);
  EXPECT_EQ(made.pixels[kNow], before->pixels[kNow]) << "other memory with the same values";
  EXPECT_NE(made.pixels[kOther], before->pixels[kOther]);
}

TEST(PictureMaker, WhatIsMadeOfOneStepComesAtOnceAndTheLastStaysUntilThen) {
  PictureMaker maker;
  EXPECT_EQ(maker.newest(), nullptr);
  maker.want(source_of(7));
  wait_for(maker);
  ASSERT_NE(maker.newest(), nullptr);
  PictureSource next = source_of(8);
  next.rows[kOther].values = values(0.3f);
  maker.want(next);
  EXPECT_EQ(maker.newest()->of.rows[kOther].step, 7u);
  EXPECT_NEAR(maker.newest()->difference->mean_absolute, 0.05, 1e-6);
  wait_for(maker);
  EXPECT_EQ(maker.newest()->of.rows[kNow].step, 8u);
  EXPECT_EQ(maker.newest()->of.rows[kOther].step, 8u);
  EXPECT_NEAR(maker.newest()->difference->mean_absolute, 0.2, 1e-6);
  const auto newest = maker.newest();
  maker.want(next);
  EXPECT_FALSE(maker.advance()) << "it is there already";
  EXPECT_EQ(maker.newest(), newest);
}

TEST(PictureMaker, ARowThatHasNoValuesAnyMoreIsSeenNoMoreEvenIfItIsUnderWay) {
  PictureMaker maker;
  maker.want(source_of(7));
  wait_for(maker);
  PictureSource without = source_of(8);
  maker.want(without);  // under way with all rows
  without.rows[kOther].values = nullptr;
  maker.want(without);
  EXPECT_EQ(maker.newest()->pixels[kOther], nullptr);
  EXPECT_EQ(maker.newest()->pixels[kDifference], nullptr);
  EXPECT_FALSE(maker.newest()->difference);
  EXPECT_NE(maker.newest()->pixels[kNow], nullptr) << "the others stay";
  wait_for(maker);
  EXPECT_EQ(maker.newest()->of.rows[kOther].values, nullptr);
  EXPECT_FALSE(maker.newest()->difference);
  EXPECT_EQ(maker.newest()->of.rows[kNow].step, 8u);
}

TEST(PictureMaker, WithoutValuesThereIsNothingToWaitFor) {
  PictureMaker maker;
  PictureSource nothing;
  nothing.shape = kShape;
  maker.want(nothing);
  ASSERT_NE(maker.newest(), nullptr);
  EXPECT_EQ(maker.newest()->of, nothing);
  EXPECT_FALSE(maker.advance());
}

}  // namespace
}  // namespace warpscope::ui::picture_maker_test
