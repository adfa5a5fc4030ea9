// What views show of the step that the cursor is at.

#include "ui/frame/kept_views.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "ui/panels/panel_table.h"

namespace warpscope::ui::kept_views_test {
namespace {

/// A training that goes on, looked at by all views.
class KeptViewsTest : public ::testing::Test {
 protected:
  void set_budget(int mib) {
    auto settings = std::make_shared<training::TrainingSettings>(*snapshot.settings);
    settings->keep_history_mib = mib;
    snapshot.settings = settings;
  }
  /// What all observers see after `step` steps; `floats` numbers in the layers' outputs.
  void see(std::uint64_t step, std::int64_t image = 0, std::size_t floats = 16) {
    snapshot.step = step;
    snapshot.step_microseconds = 5;
    training::OpTiming timing;
    timing.microseconds = static_cast<double>(step);
    snapshot.timings = {timing};
    auto evaluation = std::make_shared<training::Evaluation>();
    evaluation->step = step;
    snapshot.evaluation = evaluation;
    auto inspection = std::make_shared<training::Inspection>();
    inspection->step = step;
    inspection->generation = snapshot.generation;
    inspection->image = image;
    inspection->outputs.resize(1);
    inspection->outputs[0].values.resize(floats);
    seen.inspection = inspection;
    auto answers = std::make_shared<training::ChannelActivations>();
    answers->step = step;
    answers->generation = snapshot.generation;
    answers->output = cursor.output;
    seen.activations = answers;
    auto latents = std::make_shared<training::LatentMap>();
    latents->step = step;
    latents->generation = snapshot.generation;
    latents->count = latents->rank = 1;
    latents->values = {1, 2, 3};
    latents->scores = {static_cast<float>(step)};
    seen.latents = latents;
    if (step % 100 == 0) see_distributions(step);
    kept.note(snapshot, seen);
  }
  void see_distributions(std::uint64_t step) {
    auto distributions = std::make_shared<training::Distributions>();
    if (seen.distributions) distributions->moments = seen.distributions->moments;
    auto moment = std::make_shared<training::DistributionMoment>();
    moment->step = step;
    distributions->moments.push_back(moment);
    seen.distributions = distributions;
  }
  std::optional<StepView> at(std::optional<std::uint64_t> step) {
    cursor.step = step;
    return kept.at(cursor, snapshot, seen);
  }
  Frame frame_of(const StepView& past) {
    Frame frame{snapshot, send, fonts, palette};
    frame.cursor = &cursor;
    frame.seen = past.seen;
    frame.past = &past;
    return frame;
  }
  static void expect_all_show(const Frame& frame, std::uint64_t pinned) {
    for (const auto step :
         {step_of_calls, step_of_evaluation, step_of_inspection, step_of_latents, step_of_distributions})
      EXPECT_EQ(step(frame), pinned);
  }

  const std::function<void(training::Command)> send;
  const Fonts fonts;
  const Palette palette{};
  training::Snapshot snapshot;
  training::Observations seen;
  Cursor cursor;
  KeptViews kept;
};

TEST_F(KeptViewsTest, EveryViewThatFollowsAStepShowsThePinnedOne) {
  for (const std::uint64_t step : {100u, 200u, 400u, 800u}) see(step);
  const std::optional<StepView> past = at(210);
  ASSERT_TRUE(past);
  const Frame frame = frame_of(*past);
  expect_all_show(frame, 200);
  EXPECT_EQ(past->seen.activations->step, 200u);
  EXPECT_EQ(shown_timings(frame).front().microseconds, 200);
  EXPECT_TRUE(past->seen.latents->values.empty()) << "only places are kept";
  EXPECT_EQ(past->seen.latents->scores, (std::vector<float>{200}));
}

TEST_F(KeptViewsTest, AStepThatIsComputedAsideIsShownInThePlaceOfTheNearestThatIsKept) {
  for (const std::uint64_t step : {100u, 200u, 400u, 800u}) see(step);
  const training::Observations newest = seen;
  const auto evaluation = snapshot.evaluation;
  KeptViews other = kept;
  see(210);  // what it would have been
  auto aside = std::make_shared<training::AsideSeen>();
  aside->step = 210;
  aside->inspection = seen.inspection;
  aside->activations = seen.activations;
  aside->latents = training::places_of(*seen.latents);
  aside->evaluation = snapshot.evaluation;
  auto distributions = std::make_shared<training::Distributions>();
  auto moment = std::make_shared<training::DistributionMoment>();
  moment->step = 210;
  distributions->moments.push_back(moment);
  aside->distributions = distributions;
  kept = std::move(other);
  seen = newest;
  seen.aside = aside;
  snapshot.step = 800;
  snapshot.evaluation = evaluation;
  const std::optional<StepView> past = at(210);
  ASSERT_TRUE(past);
  EXPECT_TRUE(past->computed);
  const Frame frame = frame_of(*past);
  for (const auto step : {step_of_evaluation, step_of_inspection, step_of_latents, step_of_distributions})
    EXPECT_EQ(step(frame), 210u);
  EXPECT_EQ(past->seen.activations->step, 210u);
  EXPECT_EQ(past->seen.distributions->moments.size(), newest.distributions->moments.size() + 1);
  EXPECT_EQ(at(210)->seen.distributions, past->seen.distributions) << "the same object while nothing is new";
  const std::optional<StepView> elsewhere = at(390);
  ASSERT_TRUE(elsewhere);
  EXPECT_FALSE(elsewhere->computed);
  EXPECT_EQ(elsewhere->seen.inspection->step, 400u);
  seen.aside = nullptr;
  EXPECT_EQ(at(210)->seen.inspection->step, 200u) << "it is not among what is kept";
}

TEST_F(KeptViewsTest, WhatIsComputedAsideOfAnotherImageOrGenerationIsNotShown) {
  for (const std::uint64_t step : {100u, 200u}) see(step);
  auto aside = std::make_shared<training::AsideSeen>();
  aside->step = 150;
  auto inspection = std::make_shared<training::Inspection>(*seen.inspection);
  inspection->step = 150;
  inspection->image = 5;
  aside->inspection = inspection;
  seen.aside = aside;
  EXPECT_NE(at(150)->seen.inspection->step, 150u);
  cursor.image = 5;
  EXPECT_EQ(at(150)->seen.inspection->step, 150u);
  aside->generation = 7;
  EXPECT_NE(at(150)->seen.inspection->step, 150u);
}

TEST_F(KeptViewsTest, DistributionsOfARunAreCountedWhereACheckpointIsNearerThanWhatWasRecorded) {
  see_distributions(100);
  see_distributions(600);
  snapshot.revival.emplace();
  snapshot.revival->steps = {100, 300, 600};
  snapshot.revival->step = 300;
  const auto recorded_at = [&](std::uint64_t step) {
    const StepView past{step, seen, nullptr, nullptr, false};
    return has_recorded_distributions(frame_of(past));
  };
  EXPECT_TRUE(recorded_at(120));
  EXPECT_FALSE(recorded_at(290)) << "the checkpoint of step 300 is nearer";
  see_distributions(300);
  EXPECT_FALSE(recorded_at(290)) << "what is counted of it goes when nobody asks for it";
  EXPECT_TRUE(recorded_at(550));
}

TEST(PanelTable, KnowsWhichPanelsFollowTheStep) {
  std::string followers;
  for (const PanelRow& row : panel_table()) {
    if (row.step != nullptr) followers.append(followers.empty() ? "" : " ").append(row.id);
  }
  EXPECT_EQ(followers, "images kernels time network distributions latent");
}

TEST_F(KeptViewsTest, WithoutAStepAndNearTheNewestNothingOldIsShown) {
  for (const std::uint64_t step : {100u, 200u, 1000u}) see(step);
  EXPECT_FALSE(at({}));
  const auto past = at(990);
  ASSERT_TRUE(past);
  EXPECT_EQ(past->seen.inspection, seen.inspection);
  EXPECT_EQ(past->evaluation, snapshot.evaluation);
  EXPECT_EQ(past->seen.latents->values.size(), 3u) << "the newest latents are whole";
}

TEST_F(KeptViewsTest, ActivationsAreOfTheImageThatIsPointedAt) {
  see(100, 7);
  see(200, 8);
  see(300, 8);
  cursor.image = 7;
  EXPECT_EQ(at(200)->seen.inspection->step, 100u);
  cursor.image = 8;
  EXPECT_EQ(at(200)->seen.inspection->step, 200u);
  cursor.image = 9;
  EXPECT_EQ(at(200)->seen.inspection, seen.inspection) << "nothing is kept of it: what is there stays";
}

TEST_F(KeptViewsTest, PredictionsOfOtherImagesAreNotShown) {
  see(100);
  auto some = std::make_shared<training::Evaluation>(*snapshot.evaluation);
  some->image_losses = {1};
  some->positions = {7};  // in a view of a run
  snapshot.evaluation = some;
  kept.note(snapshot, seen);
  EXPECT_EQ(at(100)->evaluation->step, 100u);
  snapshot.data = std::make_shared<training::DataView>();  // the images that a run's folder keeps now
  see(200);
  EXPECT_EQ(at(100)->evaluation, snapshot.evaluation);
  EXPECT_EQ(at(100)->seen.inspection->step, 100u);
}

TEST_F(KeptViewsTest, WhatIsShownOfAStepStaysThoughItIsThinnedOut) {
  for (std::uint64_t step = 1; step <= 300; ++step) see(step);
  const auto first = at(300)->seen.inspection;
  EXPECT_EQ(first->step, 300u);
  for (std::uint64_t step = 301; step <= 900; ++step) {
    see(step);
    ASSERT_EQ(at(300)->seen.inspection, first) << step;
  }
}

TEST_F(KeptViewsTest, StaysWithinItsBudgetAndKeepsEveryKind) {
  set_budget(1);
  constexpr std::size_t kFloats = 16384;  // 64 KiB: sixteen of them are too many
  for (std::uint64_t step = 1; step <= 600; ++step) {
    see(step, step <= 300 ? 1 : 2, kFloats);
    ASSERT_LE(kept.bytes(), std::size_t{1} << 20) << step;
  }
  EXPECT_EQ(at(1)->evaluation->step, 1u) << "what takes little is not the one to go";
  cursor.image = 2;
  EXPECT_EQ(at(301)->seen.inspection->step, 301u) << "the first";
  EXPECT_EQ(at(600)->seen.inspection->step, 600u) << "the newest";
  set_budget(0);
  see(601, 2, kFloats);
  EXPECT_EQ(at(301)->seen.inspection->step, 601u) << "nothing is kept any more";
}

TEST_F(KeptViewsTest, WhatARewoundTrainingHasInCommonWithTheOneBeforeStays) {
  for (const std::uint64_t step : {100u, 200u, 400u}) see(step);
  const auto rewind = [&](std::uint64_t from, std::uint64_t step) {
    kept.follow({training::Return{++snapshot.generation, from, step}});
  };
  rewind(0, 250);  // generation 1
  see(260);
  EXPECT_EQ(at(150)->seen.inspection->step, 100u);
  EXPECT_EQ(at(400)->seen.inspection->step, 260u);
  rewind(0, 400);  // back to what was left: up to step 250 it is the same
  see(410);
  EXPECT_EQ(at(200)->seen.inspection->step, 200u);
  EXPECT_EQ(at(260)->seen.inspection->step, 200u);
  rewind(77, 400);  // of which nothing is known
  see(420);
  EXPECT_EQ(at(200)->seen.inspection->step, 420u);
  ++snapshot.generation;
  see(500);
  EXPECT_EQ(at(500)->seen.inspection->step, 500u);
  cursor.step.reset();
  kept.at(cursor, snapshot, seen);
  seen = {};
  EXPECT_EQ(at(500)->seen.inspection->step, 420u)
      << "a snapshot that comes before what is told of its generation is left out";
}

TEST_F(KeptViewsTest, CheckpointsAreLookedAtInAnyOrder) {
  for (const std::uint64_t step : {100u, 200u, 400u}) see(step);
  snapshot.step = 1000;
  auto inspection = std::make_shared<training::Inspection>();
  inspection->step = 150;
  seen.inspection = inspection;
  kept.note(snapshot, seen);
  EXPECT_EQ(at(160)->seen.inspection->step, 150u);
  EXPECT_EQ(at(390)->seen.inspection->step, 400u) << "it stays";
}

TEST_F(KeptViewsTest, GoesBackWithTheTrainingAndBeginsAnewWithAReset) {
  for (const std::uint64_t step : {100u, 200u, 400u}) see(step);
  see(210);
  EXPECT_EQ(at(400)->seen.inspection->step, 210u) << "what came after was left";
  EXPECT_EQ(at(120)->seen.inspection->step, 100u);
  kept.follow({training::Restart{++snapshot.generation}});
  see(10);
  EXPECT_EQ(at(200)->seen.inspection->step, 10u);
}

/// What a run has recorded of a step, as it tells it.
std::vector<training::FeedItem> recorded(std::uint64_t step, std::uint64_t generation = 0) {
  auto inspection = std::make_shared<training::Inspection>();
  inspection->step = step;
  auto latents = std::make_shared<training::LatentMap>();
  latents->step = step;
  auto times = std::make_shared<CallTimes>();
  times->step = step;
  times->timings.emplace_back();
  auto evaluation = std::make_shared<training::Evaluation>();
  evaluation->step = step;
  evaluation->image_losses = {1, 2, 3};
  evaluation->predicted = {0, 1, 2};
  auto distribution = std::make_shared<training::SeenDistribution>();
  distribution->moment.step = step;
  const std::vector<training::KeptView::Seen> all{
      std::shared_ptr<const training::Inspection>(inspection),
      std::shared_ptr<const training::LatentMap>(latents), std::shared_ptr<const CallTimes>(times),
      std::shared_ptr<const training::Evaluation>(evaluation),
      std::shared_ptr<const training::SeenDistribution>(distribution)};
  std::vector<training::FeedItem> items;
  for (const auto& one : all) items.emplace_back(training::KeptView{generation, 0, one});
  return items;
}

TEST_F(KeptViewsTest, ARunThatIsOpenedShowsInAllViewsWhatItRecordedOfThePinnedStep) {
  snapshot.step = 1000;
  for (const std::uint64_t step : {100u, 200u, 400u}) kept.follow(recorded(step));
  seen = kept.note(snapshot, seen);
  const std::optional<StepView> past = at(210);
  ASSERT_TRUE(past);
  const Frame frame = frame_of(*past);
  expect_all_show(frame, 200);
  EXPECT_TRUE(shows_activations(frame)) << "though nothing can be looked into";
}

TEST_F(KeptViewsTest, ALineThatIsReturnedToShowsWhatItsRunTellsAgain) {
  for (const std::uint64_t step : {100u, 200u, 400u}) see(step);
  kept.follow({training::Restart{++snapshot.generation}});
  see(10);
  kept.follow({training::Return{++snapshot.generation, 0, 400}});
  see(410);
  EXPECT_EQ(at(210)->seen.inspection->step, 410u) << "the reset has forgotten all";
  kept.follow(recorded(200, snapshot.generation - 1));
  EXPECT_EQ(at(210)->seen.inspection->step, 410u) << "that is of another line";
  kept.follow(recorded(200, snapshot.generation));
  EXPECT_EQ(at(210)->seen.inspection->step, 200u);
}

TEST_F(KeptViewsTest, RecordedDistributionsAreJoinedWithThoseThatAreSeen) {
  for (const std::uint64_t step : {100u, 200u, 400u}) kept.follow(recorded(step));
  see_distributions(300);
  const auto joined = kept.note(snapshot, seen).distributions;
  std::vector<std::uint64_t> steps;
  for (const auto& moment : joined->moments) steps.push_back(moment->step);
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{100, 200, 300, 400}));
  EXPECT_EQ(kept.note(snapshot, seen).distributions, joined) << "the same, as long as nothing comes";
}

TEST_F(KeptViewsTest, OfRecordedPredictionsWhoseImagesAreNotThereTheCountsAreShown) {
  auto data = std::make_shared<training::DataView>();
  data->test.count = 2;
  snapshot.data = data;
  kept.follow(recorded(100));
  kept.note(snapshot, seen);
  const auto counts = at(100)->evaluation;
  ASSERT_TRUE(counts);
  EXPECT_TRUE(counts->image_losses.empty() && counts->predicted.empty());
  EXPECT_EQ(at(100)->evaluation, counts) << "it is made once";
  auto whole = std::make_shared<training::DataView>();
  whole->test.count = 3;
  snapshot.data = whole;  // a checkpoint is looked into, with its data
  kept.note(snapshot, seen);
  EXPECT_EQ(at(100)->evaluation->predicted.size(), 3u);
}

TEST_F(KeptViewsTest, WhatIsToldOfALaterGenerationBeforeItsSnapshotIsKept) {
  kept.follow(recorded(100, 2));
  snapshot.generation = 2;
  snapshot.step = 500;
  kept.note(snapshot, seen);
  ASSERT_TRUE(at(100)->seen.inspection);
  kept.follow(recorded(300, 1));
  kept.note(snapshot, seen);
  EXPECT_EQ(at(300)->seen.inspection->step, 100u) << "of an earlier one nothing is taken";
  kept.follow({training::Restart{3}});
  ++snapshot.generation;
  snapshot.step = 1;
  kept.note(snapshot, seen);
  EXPECT_EQ(at(100)->seen.inspection, nullptr);
}

TEST(StepLine, SaysWhatIsShownAndWhatWasAskedFor) {
  EXPECT_EQ(step_line(1100, 1024), "step 1,024 (nearest kept to 1,100)");
  EXPECT_EQ(step_line(1100, 1100), "step 1,100");
}

}  // namespace
}  // namespace warpscope::ui::kept_views_test
