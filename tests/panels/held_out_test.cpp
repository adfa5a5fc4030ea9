#include "ui/panels/pictures/held_out.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/changes.h"

namespace warpscope::ui::held_out_test {
namespace {

using training::Evaluation;

/// Four images of "cat" and "dog"; the second and the last are wrong.
HeldOut four_images(std::uint64_t step = 7) {
  auto data = std::make_shared<data::DataSet>();
  data->classes = {"cat", "dog"};
  data->test = {2, 2, 1, 4, std::vector<std::uint8_t>(16), {0, 1, 1, 0}};
  auto evaluation = std::make_shared<Evaluation>();
  evaluation->step = step;
  evaluation->image_losses = {0.1f, 2.0f, 0.3f, 3.0f};
  evaluation->predicted = {0, 0, 1, 1};
  evaluation->classes = 2;
  summarize(*evaluation, data->test.labels.data());
  return {evaluation, training::view_of(data)};
}

TEST(HeldOut, KnowsEachImage) {
  const HeldOut held_out = four_images();
  EXPECT_EQ(held_out.count(), 4);
  EXPECT_TRUE(held_out.right(0));
  EXPECT_FALSE(held_out.right(1));
  EXPECT_EQ(held_out.class_name(held_out.truth(1)), "dog");
  EXPECT_EQ(held_out.class_name(held_out.predicted(1)), "cat");
  EXPECT_NEAR(held_out.probability_of_truth(1), 0.1353, 1e-4);
}

TEST(HeldOut, IsEmptyBeforeTheFirstEvaluation) {
  EXPECT_EQ(HeldOut{}.count(), 0);
  HeldOut held_out = four_images();
  held_out.data = nullptr;
  EXPECT_EQ(held_out.count(), 0);
}

TEST(HeldOut, CountsOnlyImagesOfWhichEverythingIsKnown) {
  const HeldOut held_out = four_images();
  Evaluation fewer = *held_out.evaluation;
  fewer.image_losses.resize(3);
  EXPECT_EQ((HeldOut{std::make_shared<Evaluation>(fewer), held_out.data}).count(), 3);
  fewer.predicted.clear();  // of a model that reconstructs
  EXPECT_EQ((HeldOut{std::make_shared<Evaluation>(fewer), held_out.data}).count(), 0);
}

TEST(HeldOut, LooksAtTheSetThatWasEvaluated) {
  const HeldOut held_out = four_images();
  Evaluation other = *held_out.evaluation;
  other.split = training::Split::validation;
  const HeldOut validation{std::make_shared<Evaluation>(other), held_out.data};
  EXPECT_EQ(&validation.images(), &held_out.data->validation);
  EXPECT_EQ(validation.count(), 0);
}

TEST(HeldOut, TextsAreShownWithoutControlCharactersAndBrokenBytes) {
  HeldOut held_out = four_images();
  EXPECT_FALSE(held_out.has_texts());
  auto data = std::make_shared<data::DataSet>(*held_out.data->whole);
  data->test.texts = {"a\ttext\nof \xc3\xa9", "\xff bad", "", " \r\n "};
  held_out.data = training::view_of(data);
  EXPECT_TRUE(held_out.has_texts());
  EXPECT_EQ(held_out.text(0), "a text of \xc3\xa9");
  EXPECT_EQ(held_out.text(1), "\xef\xbf\xbd bad");
  EXPECT_EQ(held_out.text(2), "(empty)");
  EXPECT_EQ(held_out.text(3), "(empty)");
  EXPECT_EQ(held_out.text(9), "...") << "there is none, or not yet";
  held_out.evaluation = nullptr;
  EXPECT_FALSE(held_out.has_texts());
}

TEST(HeldOut, AClassWithoutANameIsANumber) {
  HeldOut held_out = four_images();
  EXPECT_EQ(held_out.class_name(2), "2");
  held_out.data = nullptr;
  EXPECT_EQ(held_out.class_name(0), "0");
}

TEST(Arrange, WorstFirst) {
  EXPECT_EQ(arrange(four_images(), {}), (std::vector<int>{3, 1, 2, 0}));
}

TEST(Arrange, WrongOnlyAndStoredOrder) {
  EXPECT_EQ(arrange(four_images(), {PredictionOrder::wrong_only, kAnyClass, kAnyClass}),
            (std::vector<int>{3, 1}));
  EXPECT_EQ(arrange(four_images(), {PredictionOrder::stored, kAnyClass, kAnyClass}),
            (std::vector<int>{0, 1, 2, 3}));
}

TEST(Arrange, AClassAndAPair) {
  EXPECT_EQ(arrange(four_images(), {PredictionOrder::worst_first, 1, kAnyClass}), (std::vector<int>{1, 2}));
  EXPECT_EQ(arrange(four_images(), {PredictionOrder::worst_first, 1, 0}), (std::vector<int>{1}));
  EXPECT_EQ(arrange(four_images(), {PredictionOrder::stored, 0, 0}), (std::vector<int>{0}));
  EXPECT_TRUE(arrange(four_images(), {PredictionOrder::wrong_only, 0, 0}).empty());
}

TEST(Arrange, OnlyTheSelectedImagesOfTheTestSet) {
  PredictionChoice choice;
  choice.images = {0, 3};
  EXPECT_EQ(arrange(four_images(), choice), (std::vector<int>{3, 0}));
  choice.order = PredictionOrder::wrong_only;
  EXPECT_EQ(arrange(four_images(), choice), (std::vector<int>{3}));
  choice.images = {0};
  EXPECT_TRUE(arrange(four_images(), choice).empty());
  EXPECT_NE(nothing_text(four_images(), choice).find("Clear the selection (Esc)"), std::string::npos);
}

TEST(HeldOut, SelectsAmongTestImagesAlone) {
  const HeldOut held_out = four_images();
  EXPECT_EQ(held_out.test_image(2), 2);
  EXPECT_EQ(selected_images(held_out, {1, 3, 70}), 2u);
  EXPECT_EQ(selected_images(held_out, {}), 4u);
  Evaluation other = *held_out.evaluation;
  other.positions = {5, 6, 70, 90};
  const HeldOut some{std::make_shared<Evaluation>(other), held_out.data};
  EXPECT_EQ(some.test_image(2), 70);
  EXPECT_EQ(selected_images(some, {1, 3, 70}), 1u);
  auto data = std::make_shared<data::DataSet>(*held_out.data->whole);
  data->validation = data->test;
  other.split = training::Split::validation;
  const HeldOut validation{std::make_shared<Evaluation>(other), training::view_of(data)};
  EXPECT_FALSE(validation.test_image(2));
  EXPECT_EQ(selected_images(validation, {1, 3, 70}), 0u);
}

TEST(Arrange, NotANumberIsTheWorstAndEqualLossesStayInStoredOrder) {
  const HeldOut held_out = four_images();
  Evaluation odd = *held_out.evaluation;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  odd.image_losses = {1, nan, 1, std::numeric_limits<float>::infinity()};
  EXPECT_EQ(arrange({std::make_shared<Evaluation>(odd), held_out.data}, {}), (std::vector<int>{1, 3, 0, 2}));
}

/// The two worst of the four, as the view of a run knows them.
HeldOut two_of_four() {
  const HeldOut all = four_images();
  auto data = std::make_shared<data::DataSet>(*all.data->whole);
  data->test = {2, 2, 1, 2, std::vector<std::uint8_t>(8), {1, 0}};
  auto evaluation = std::make_shared<Evaluation>(*all.evaluation);
  evaluation->image_losses = {2.0f, 3.0f};
  evaluation->predicted = {0, 1};
  evaluation->positions = {1, 3};
  return {evaluation, training::view_of(data)};
}

TEST(HeldOut, KnowsWhereAnImageLiesAndHowManyWereLookedAt) {
  EXPECT_EQ(four_images().position(3), 3u);
  EXPECT_EQ(four_images().evaluated(), 4u);
  EXPECT_EQ(two_of_four().count(), 2);
  EXPECT_EQ(two_of_four().position(0), 1u);
  EXPECT_EQ(two_of_four().position(1), 3u);
  EXPECT_EQ(two_of_four().evaluated(), 4u);
  EXPECT_EQ(HeldOut{}.evaluated(), 0u);
}

TEST(Matching, CountsImagesThatAreNotKnownToo) {
  EXPECT_EQ(matching(two_of_four(), {}), 4u);
  EXPECT_EQ(matching(two_of_four(), {PredictionOrder::wrong_only, kAnyClass, kAnyClass}), 2u);
  EXPECT_EQ(matching(two_of_four(), {PredictionOrder::stored, 1, kAnyClass}), 2u);
  EXPECT_EQ(matching(two_of_four(), {PredictionOrder::stored, 1, 1}), 1u);
  EXPECT_EQ(matching({}, {}), 0u);
}

TEST(PredictionTexts, AViewTellsThatItKnowsOnlyTheWorst) {
  EXPECT_EQ(count_text(four_images(), {}, 4), "Shown here, of 4 test images that the network looked at.");
  EXPECT_EQ(count_unit(four_images(), 3), "images");
  EXPECT_EQ(count_unit(four_images(), 1), "image");
  EXPECT_EQ(count_unit(two_of_four(), 2), "worst of 4 images");
  EXPECT_EQ(count_unit(two_of_four(), 1), "of the 2 worst of 4 images");
  EXPECT_EQ(
      count_text(two_of_four(), {}, 2),
      "Shown here: the 2 with the largest loss of 4 test images that the network looked at; this view of "
      "another process's run knows no others.");
  EXPECT_EQ(
      count_text(two_of_four(), {PredictionOrder::worst_first, 1, kAnyClass}, 1),
      "Shown here: 1 of 2 images of this choice; of 4 test images that the network looked at, this view of "
      "another process's run knows only the 2 with the largest loss.");
  EXPECT_EQ(nothing_text(two_of_four(), {PredictionOrder::worst_first, 1, 1}),
            "The 1 such image is not among the 2 with the largest loss, and this view knows only those");
  EXPECT_EQ(nothing_text(two_of_four(), {PredictionOrder::wrong_only, 1, 1}),
            "These images were classified right: none of them is wrong");
}

TEST(EvaluationFollower, TakesTheFirstAtOnceAndLaterOnesOnceASecond) {
  EvaluationFollower follower;
  EXPECT_FALSE(follower.update({}, 0, 10, false));
  const HeldOut first = four_images(1), second = four_images(2), third = four_images(3);
  EXPECT_TRUE(follower.update(first, 0, 10.0, true));
  EXPECT_FALSE(follower.update(first, 0, 10.1, false));
  EXPECT_FALSE(follower.waiting());
  EXPECT_FALSE(follower.update(second, 0, 10.5, false));
  EXPECT_TRUE(follower.waiting());
  EXPECT_EQ(follower.shown().evaluation->step, 1u);
  EXPECT_TRUE(follower.update(third, 0, 11.0, false));
  EXPECT_FALSE(follower.waiting());
  EXPECT_EQ(follower.shown().evaluation->step, 3u);
}

TEST(EvaluationFollower, HoldsStillWhileSomebodyLooks) {
  EvaluationFollower follower;
  follower.update(four_images(1), 0, 0, false);
  const HeldOut second = four_images(2);
  EXPECT_FALSE(follower.update(second, 0, 5, true));
  EXPECT_TRUE(follower.held());
  EXPECT_FALSE(follower.waiting());
  EXPECT_TRUE(follower.update(second, 0, 5.1, false));
  EXPECT_FALSE(follower.held());
}

TEST(EvaluationFollower, AResetShowsNothingUntilTheNext) {
  EvaluationFollower follower;
  follower.update(four_images(1), 0, 0, false);
  EXPECT_TRUE(follower.update({}, 1, 0.1, true));
  EXPECT_EQ(follower.shown().count(), 0);
  EXPECT_TRUE(follower.update(four_images(2), 1, 0.2, true));
  EXPECT_EQ(follower.shown().evaluation->step, 2u);
}

TEST(PredictionTexts, SayWhatIsShownAndWhyNothingIs) {
  const HeldOut held_out = four_images(1234);
  EXPECT_EQ(pair_text(held_out, {PredictionOrder::worst_first, 0, 1}), "cat, taken for dog");
  EXPECT_EQ(pair_text(held_out, {PredictionOrder::worst_first, 0, 0}), "cat, classified right");
  EXPECT_EQ(nothing_text(held_out, {PredictionOrder::wrong_only, kAnyClass, kAnyClass}),
            "No image was classified wrong at step 1,234");
  EXPECT_EQ(nothing_text(held_out, {PredictionOrder::worst_first, 0, 1}),
            "No image of “cat” was taken for “dog” at step 1,234");
  EXPECT_EQ(nothing_text(held_out, {PredictionOrder::worst_first, 0, kAnyClass}),
            "None of the held-out images shows “cat”");
}

TEST(PredictionTexts, LossesAreShort) {
  EXPECT_EQ(loss_text(0.0012f), "0.0012");
  EXPECT_EQ(loss_text(0.057f), "0.057");
  EXPECT_EQ(loss_text(0.000034f), "3e-05");
  EXPECT_EQ(loss_text(2e-12f), "2e-12");
  EXPECT_EQ(loss_text(0), "0");
  EXPECT_EQ(loss_text(0.5f), "0.50");
  EXPECT_EQ(loss_text(4.213f), "4.21");
  EXPECT_EQ(loss_text(42.13f), "42.1");
  EXPECT_EQ(loss_text(421.3f), "421");
  EXPECT_EQ(loss_text(1.25e7f), "1e+07");
  EXPECT_EQ(loss_text(std::numeric_limits<float>::infinity()), "inf");
  EXPECT_EQ(loss_text(std::nanf("")), "nan");
}

training::Snapshot before_the_first(std::uint64_t step) {
  training::Snapshot snapshot;
  snapshot.state = training::TrainerState::running;
  snapshot.test_images = 256;
  snapshot.step = step;
  tests::settings_of(snapshot).batch = 8;
  snapshot.next_evaluation = 160;
  return snapshot;
}

TEST(NoPredictions, SaysWhenTheFirstCome) {
  training::Snapshot snapshot = before_the_first(10);
  const std::string what = "No predictions yet: the first evaluation, of 256 held-out images, ";
  EXPECT_EQ(no_predictions_text(snapshot), what + "begins after step 160, 150 steps from now.");
  snapshot.images_per_second = 40;
  EXPECT_EQ(no_predictions_text(snapshot),
            what + "begins after step 160, 150 steps from now: in about 30 s.");
  tests::settings_of(snapshot).optimizer.accumulate = 8;
  EXPECT_EQ(no_predictions_text(snapshot),
            what + "begins after step 160, 150 steps from now: in about 4 min.");
  snapshot.state = training::TrainerState::paused;
  EXPECT_EQ(no_predictions_text(snapshot),
            what + "begins after step 160, 150 steps from now. The training is paused.");
  EXPECT_EQ(no_predictions_text(before_the_first(160)), what + "is under way.");
  snapshot.next_evaluation = 0;
  EXPECT_EQ(no_predictions_text(snapshot), what + "comes in some steps.");
}

}  // namespace
}  // namespace warpscope::ui::held_out_test
