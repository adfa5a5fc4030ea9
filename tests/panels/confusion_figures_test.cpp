#include "ui/panels/pictures/confusion_figures.h"

#include <cmath>

#include <gtest/gtest.h>

namespace warpscope::ui::confusion_figures_test {
namespace {

HeldOut matrix(int classes, std::vector<std::uint32_t> counts) {
  auto data = std::make_shared<data::DataSet>();
  data->classes = {"cat", "dog", "ship"};
  auto evaluation = std::make_shared<training::Evaluation>();
  evaluation->classes = classes;
  evaluation->confusion = std::move(counts);
  return {evaluation, training::view_of(data)};
}

// Nothing was taken for a ship, and there are no dogs.
const HeldOut kThree = matrix(3, {930, 70, 0, 0, 0, 0, 1, 2, 0});

TEST(ConfusionFigures, AddsUpRowsColumnsAndTheDiagonal) {
  const ConfusionFigures figures = confusion_figures(*kThree.evaluation);
  EXPECT_EQ(figures.truths, (std::vector<std::uint64_t>{1000, 0, 3}));
  EXPECT_EQ(figures.predictions, (std::vector<std::uint64_t>{931, 72, 0}));
  EXPECT_EQ(figures.total, 1003u);
  EXPECT_EQ(figures.right, 930u);
  EXPECT_DOUBLE_EQ(figures.accuracy(), 930.0 / 1003);
  EXPECT_DOUBLE_EQ(figures.share(0, 1), 0.07);
  EXPECT_DOUBLE_EQ(figures.recall(0), 0.93);
  EXPECT_DOUBLE_EQ(figures.precision(0), 930.0 / 931);
}

TEST(ConfusionFigures, WhatCannotBeDividedIsNotANumber) {
  const ConfusionFigures figures = confusion_figures(*kThree.evaluation);
  EXPECT_EQ(figures.share(1, 0), 0);
  EXPECT_TRUE(std::isnan(figures.recall(1)));
  EXPECT_TRUE(std::isnan(figures.precision(2)));
  EXPECT_EQ(figures.precision(1), 0);
}

TEST(ConfusionFigures, EqualsTheEvaluationsAccuracy) {
  training::Evaluation evaluation;
  evaluation.classes = 256;
  std::vector<std::uint8_t> labels;
  for (int i = 0; i < 1000; ++i) {
    labels.push_back(static_cast<std::uint8_t>(i * 7));
    evaluation.predicted.push_back(static_cast<std::uint8_t>(i % 3 == 0 ? i * 7 : i));
    evaluation.image_losses.push_back(1);
  }
  summarize(evaluation, labels.data());
  EXPECT_EQ(static_cast<float>(confusion_figures(evaluation).accuracy()), evaluation.accuracy);
}

TEST(ConfusionTexts, ACellInWords) {
  const ConfusionFigures figures = confusion_figures(*kThree.evaluation);
  EXPECT_EQ(cell_text(figures, kThree, 0, 1), "70 of 1,000 images of “cat” were taken for “dog”, 7.0 %.");
  EXPECT_EQ(cell_text(figures, kThree, 0, 0), "930 of 1,000 images of “cat” were classified right, 93.0 %.");
  EXPECT_EQ(cell_text(figures, kThree, 2, 0), "1 of 3 images of “ship” was taken for “cat”, 33.3 %.");
  EXPECT_EQ(cell_text(figures, kThree, 0, 2), "None of the 1,000 images of “cat” was taken for “ship”.");
  EXPECT_EQ(cell_text(figures, kThree, 1, 0), "There are no images of “dog” among these.");
}

TEST(ConfusionFigures, OfTheSelectedImagesAlone) {
  auto data = std::make_shared<data::DataSet>();
  data->classes = {"cat", "dog", "ship"};
  data->test = {1, 1, 1, 5, std::vector<std::uint8_t>(5), {0, 0, 1, 2, 2}};
  auto evaluation = std::make_shared<training::Evaluation>();
  evaluation->classes = 3;
  evaluation->image_losses = {1, 1, 1, 1, 1};
  evaluation->predicted = {0, 2, 1, 0, 2};
  summarize(*evaluation, data->test.labels.data());
  const HeldOut held_out{evaluation, training::view_of(data)};
  const ConfusionFigures some = confusion_figures(held_out, {1, 2, 3});
  EXPECT_EQ(some.counts, (std::vector<std::uint32_t>{0, 0, 1, 0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(some.total, 3u);
  EXPECT_EQ(some.right, 1u);
  EXPECT_EQ(confusion_figures(held_out, {17}).total, 0u);
  EXPECT_EQ(confusion_figures(held_out, {}).counts, evaluation->confusion);
  auto other = std::make_shared<training::Evaluation>(*evaluation);
  other->split = training::Split::validation;
  auto both = std::make_shared<data::DataSet>(*data);
  both->validation = data->test;
  EXPECT_EQ(confusion_figures({other, training::view_of(both)}, {1, 2, 3}).total, 0u)
      << "a lasso holds test images";
}

TEST(ConfusionTexts, AClassOfOneImage) {
  const HeldOut two = matrix(2, {0, 1, 0, 5});
  const ConfusionFigures figures = confusion_figures(*two.evaluation);
  EXPECT_EQ(cell_text(figures, two, 0, 1), "The only image of “cat” was taken for “dog”.");
  EXPECT_EQ(cell_text(figures, two, 0, 0), "The only image of “cat” was not classified right.");
}

TEST(ConfusionTexts, AClassInWords) {
  const ConfusionFigures figures = confusion_figures(*kThree.evaluation);
  EXPECT_EQ(class_text(figures, kThree, 0),
            "Recall 93.0 %: so many of the 1,000 images of “cat” were classified right (930).\n"
            "Precision 99.9 %: so many of the 931 images taken for “cat” are right (930).");
  EXPECT_EQ(class_text(figures, kThree, 1),
            "Recall: unknown, there are no images of “dog” among these.\n"
            "Precision 0 %: so many of the 72 images taken for “dog” are right (0).");
}

TEST(ConfusionTexts, PercentNeverRoundsToAllOrNothing) {
  EXPECT_EQ(percent_text(1), "100 %");
  EXPECT_EQ(percent_text(0.99999), "99.9 %");
  EXPECT_EQ(percent_text(0.5), "50.0 %");
  EXPECT_EQ(percent_text(0.00001), "< 0.1 %");
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(std::nan("")), "-");
}

TEST(ConfusionColours, TextIsReadOnEveryCell) {
  EXPECT_FALSE(black_reads_better(share_colour(0)));
  EXPECT_TRUE(black_reads_better(share_colour(1)));
  EXPECT_TRUE(black_reads_better({255, 255, 255, 255}));
  EXPECT_FALSE(black_reads_better({0, 0, 0, 255}));
}

TEST(ErrorScale, EndsAtARoundNumberThatNoMistakeExceeds) {
  const ConfusionFigures figures = confusion_figures(*kThree.evaluation);
  EXPECT_NEAR(figures.largest_error(), 2.0 / 3, 1e-9);
  EXPECT_NEAR(error_scale(figures), 1.0, 1e-9);
  const auto scale_of = [](std::uint32_t wrong) {
    return error_scale(confusion_figures(*matrix(2, {1000 - wrong, wrong, 0, 1000}).evaluation));
  };
  EXPECT_NEAR(scale_of(0), 0.01, 1e-9);
  EXPECT_NEAR(scale_of(3), 0.01, 1e-9);
  EXPECT_NEAR(scale_of(50), 0.05, 1e-9);
  EXPECT_NEAR(scale_of(51), 0.1, 1e-9);
}

TEST(ErrorColours, ShowAFewMistakesAndAreNoColourOfTheDiagonal) {
  const ConfusionFigures figures = confusion_figures(*matrix(2, {980, 20, 0, 1000}).evaluation);
  const double scale = error_scale(figures);
  const images::Rgba some = cell_colour(figures, scale, 0, 1), none = cell_colour(figures, scale, 1, 0);
  EXPECT_GT(int{some.r} + some.g, 200 + int{none.r} + none.g) << "2 % stand out";
  EXPECT_NE(some, share_colour(figures.share(0, 1)));
  for (int i = 2; i <= 10; ++i) {
    const images::Rgba error = error_colour(i / 10.0, 1);
    for (int k = 0; k <= 10; ++k) EXPECT_NE(error, share_colour(k / 10.0));
  }
}

}  // namespace
}  // namespace warpscope::ui::confusion_figures_test
