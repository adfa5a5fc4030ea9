// What the tabs of the training panel say and allow.

#include <limits>

#include <gtest/gtest.h>

#include "tests/support/changes.h"
#include "ui/panels/curves/divergence_box.h"
#include "ui/panels/training/finder_view.h"
#include "ui/panels/training/results_rows.h"
#include "ui/panels/training/schedule_view.h"
#include "ui/panels/training/settings_controller.h"
#include "ui/panels/training/training_panel.h"
#include "ui/settings/setting_spec.h"
#include "ui/text/terms.h"

namespace warpscope::ui::training_rows_test {
namespace {

using training::OptimizerSettings;
using training::Schedule;
using training::ScheduleKind;
using training::TrainerState;

const ResultCell* find(const std::vector<ResultCell>& cells, std::string_view label) {
  for (const ResultCell& cell : cells) {
    if (cell.label == label) return &cell;
  }
  return nullptr;
}

TEST(SettingSpec, EveryNumberOfARuleHasAUsableRow) {
  for (const ops::RuleRow& rule : ops::kUpdateRules) {
    EXPECT_STRNE(rule.summary, "");
    const OptimizerSettings defaults = training::defaults_of(rule.rule);
    for (const training::Setting* row : training::numbers_of(rule.rule)) {
      const ValueSpec spec = spec_of(*row);
      ASSERT_TRUE(spec.scale.has_value());
      EXPECT_TRUE(is_valid(spec.limits, static_cast<double>(defaults.*row->field.number))) << row->key;
      for (const double position : {0.0, 0.5, 1.0}) {
        EXPECT_TRUE(is_valid(spec.limits, value_at(*spec.scale, position))) << row->key << " at " << position;
      }
    }
  }
}

TEST(SettingSpec, ClippingCanBeOffAndTheRateCannotBeZero) {
  const ValueSpec clip = spec_of(training::setting("clip_norm"));
  EXPECT_EQ(value_at(*clip.scale, 0), 0);
  EXPECT_EQ(field_text(0, false, clip.zero_text), "off");
  const ValueSpec rate = spec_of(training::setting("learning_rate"));
  EXPECT_EQ(rate.name, "training.learning_rate");
  EXPECT_FALSE(is_valid(rate.limits, 0));
  EXPECT_GT(value_at(*rate.scale, 0), 0);
}

TEST(SettingSpec, TheSpikeThresholdCanBeOffAndTypedBeyondItsSlider) {
  const ValueSpec spec = spec_of(training::setting("zscore"));
  EXPECT_EQ(value_at(*spec.scale, 0), 0);
  EXPECT_EQ(field_text(0, false, spec.zero_text), "off");
  EXPECT_EQ(read_field(spec, "off").refusal, "");
  EXPECT_EQ(read_field(spec, "off").value, 0.0);
  for (const double position : {0.0, 0.1, 0.5, 1.0}) {
    EXPECT_TRUE(is_valid(spec.limits, value_at(*spec.scale, position))) << position;
  }
  EXPECT_TRUE(is_valid(spec.limits, 0.5));
  EXPECT_FALSE(is_valid(spec.limits, -1));
}

TEST(SettingSpec, ABatchIsAWholeNumberWithoutASlider) {
  const ValueSpec spec = spec_of(training::setting("batch"));
  EXPECT_EQ(range_text(spec.limits), "a whole number from 1 to 65,536");
  EXPECT_FALSE(spec.scale.has_value());
}

TEST(OptimizerWords, TheFaultySchemeDoesNotAccumulate) {
  OptimizerSettings settings;
  settings.accumulate = 4;
  EXPECT_EQ(update_images_text(settings, 64), "\u00d7 64 = 256 images an update");
  const OptimizerSettings faulty = with_scheme(settings, true);
  EXPECT_NO_THROW(training::check(faulty));
  EXPECT_EQ(update_images_text(faulty, 64), "each of 64 images updates");
  EXPECT_EQ(update_images_text(with_scheme(faulty, false), 64), "64 images an update");
  EXPECT_EQ(update_images_text(settings, 0), "");
}

training::Configuration batch(int images) {
  return tests::change("batch", images).settings;
}

TEST(Pending, ShowsWhatWasSentUntilItArrives) {
  training::Snapshot snapshot;
  Pending pending;
  const auto shown = [&](int trainers, double now) {
    tests::settings_of(snapshot).batch = trainers;
    return pending.shown(snapshot, now).batch;
  };
  EXPECT_EQ(shown(3, 0), 3);
  pending.sent(batch(5), snapshot, 0);
  EXPECT_EQ(shown(3, 1), 5);
  pending.sent(tests::change("crop", 2).settings, snapshot, 1);
  EXPECT_EQ(shown(3, 1), 5) << "another setting takes nothing back";
  EXPECT_EQ(pending.shown(snapshot, 1).augment.crop, 2);
  tests::settings_of(snapshot).augment.crop = 2;
  EXPECT_EQ(shown(5, 2), 5);
  EXPECT_EQ(shown(4, 3), 4);  // it had arrived: what comes later is the trainer's
}

TEST(Pending, ForgetsWhatWasRefusedResetOrIsOverdue) {
  training::Snapshot snapshot;
  tests::settings_of(snapshot).batch = 3;
  Pending pending;
  pending.sent(batch(5), snapshot, 0);
  snapshot.notice_id = 1;
  EXPECT_EQ(pending.shown(snapshot, 1).batch, 3);
  pending.sent(batch(5), snapshot, 0);
  snapshot.generation = 1;
  EXPECT_EQ(pending.shown(snapshot, 1).batch, 3);
  pending.sent(batch(5), snapshot, 0);
  EXPECT_EQ(pending.shown(snapshot, 1000).batch, 3);
}

TEST(SchedulePreview, CoversTheRun) {
  Schedule schedule;
  schedule.kind = ScheduleKind::cosine;
  const SchedulePreview preview = preview_of(schedule, {0.1, 3, 20});
  EXPECT_EQ(preview.refusal, "");
  EXPECT_EQ(preview.sentence, "");
  EXPECT_EQ(preview.x.high, 20);
  EXPECT_FLOAT_EQ(preview.rates.y(0), 0.1f);
  EXPECT_FALSE(preview.y.logarithmic);  // it ends at 0
  EXPECT_GT(preview.y.high, 0.1);
}

TEST(SchedulePreview, IsLogarithmicBeyondTwoDecades) {
  Schedule schedule;
  schedule.kind = ScheduleKind::one_cycle;
  const SchedulePreview preview = preview_of(schedule, {0.1, 0, 10});
  EXPECT_TRUE(preview.y.logarithmic);
  EXPECT_LT(preview.y.low, 0.1 / 25 / 1e4);
  schedule.kind = ScheduleKind::step;
  schedule.step_factor = 0.5;
  EXPECT_FALSE(preview_of(schedule, {0.1, 0, 20}).y.logarithmic);
}

TEST(SchedulePreview, SaysWhyItCannotBeApplied) {
  Schedule schedule;
  schedule.kind = ScheduleKind::one_cycle;
  const SchedulePreview endless = preview_of(schedule, {0.1, 0, 0});
  EXPECT_NE(endless.refusal.find("--epochs"), std::string::npos);
  EXPECT_EQ(endless.sentence, endless.refusal);
  EXPECT_TRUE(endless.rates.empty());
  schedule.kind = ScheduleKind::cosine;
  schedule.warmup = 12;
  EXPECT_NE(preview_of(schedule, {0.1, 0, 10}).refusal, "");
}

TEST(SchedulePreview, OfARunWithoutEndShowsSomeDropsAndNow) {
  Schedule schedule;
  schedule.kind = ScheduleKind::step;
  schedule.every = 7;
  EXPECT_EQ(preview_of(schedule, {0.1, 2, 0}).x.high, 28);
  EXPECT_GT(preview_of(schedule, {0.1, 100, 0}).x.high, 100);
}

TEST(SchedulePreview, OfPlateauIsASentence) {
  Schedule schedule;
  schedule.kind = ScheduleKind::plateau;
  const SchedulePreview preview = preview_of(schedule, {0.1, 0, 0});
  EXPECT_EQ(preview.refusal, "");
  EXPECT_NE(preview.sentence.find("3 epochs"), std::string::npos);
  EXPECT_NE(preview.sentence.find("0.5"), std::string::npos);
}

TEST(SchedulePreview, EveryParameterHasAUsableRow) {
  for (int i = 0; i < training::kScheduleKindCount; ++i) {
    const auto kind = static_cast<ScheduleKind>(i);
    EXPECT_STRNE(schedule_note(kind), "");
    for (const auto& parameter : training::parameters_of(kind)) {
      const ValueSpec spec = spec_of(parameter);
      EXPECT_TRUE(is_valid(spec.limits, Schedule().*parameter.value)) << parameter.key;
      for (const double position : {0.0, 0.3, 1.0}) {
        EXPECT_TRUE(is_valid(spec.limits, value_at(*spec.scale, position)))
            << parameter.key << " " << position;
      }
    }
  }
}

TEST(FinderCurve, ALossThatBlowsUpLeavesThePicture) {
  const training::RateFinderOptions options;
  training::RateFinderResult result;
  result.points = {{1e-7, 1.0, 1.0}, {1e-3, 0.6, 0.7}, {1e-2, 0.4, 0.5}, {1e-1, 9, 2}};
  const FinderCurve curve = finder_curve(result, options, false);
  EXPECT_EQ(curve.raw.size(), 4u);
  EXPECT_EQ(curve.x.low, options.low);
  EXPECT_EQ(curve.x.high, 1e-1);
  EXPECT_TRUE(curve.x.logarithmic);
  EXPECT_EQ(finder_curve(result, options, true).x.high, options.high);
  EXPECT_DOUBLE_EQ(curve.y.high, 1.25);
  EXPECT_LT(curve.y.low, 0.5);
}

TEST(FinderCurve, HasRoomWhereThereIsLittleToSee) {
  const training::RateFinderOptions options;
  EXPECT_TRUE(finder_curve({}, options, false).raw.empty());
  training::RateFinderResult result;
  result.points = {{1e-7, 0.5, 0.5}};
  const FinderCurve one = finder_curve(result, options, false);
  EXPECT_GE(one.x.high / one.x.low, 99.9);
  EXPECT_GT(one.y.high, one.y.low);
  result.points = {{1e-7, 0, 0}, {2e-7, 0, 0}};
  const FinderCurve flat = finder_curve(result, options, false);
  EXPECT_GT(flat.y.high, flat.y.low);
  result.points = {{1e-7, 0.06, 0.06}, {1e-6, 0.2, 0.2}, {1e-5, 0.3, 0.3}};
  EXPECT_GT(finder_curve(result, options, false).y.high, 0.2) << "it rises from the start";
}

training::Snapshot diverged(std::uint64_t id, TrainerState state) {
  training::Snapshot snapshot;
  snapshot.divergence.id = id;
  snapshot.divergence.text = "the loss of step 3 is not finite (nan)";
  snapshot.state = state;
  return snapshot;
}

TEST(DivergenceWatch, IsOpenFromThePauseUntilItRunsAgain) {
  DivergenceWatch watch;
  EXPECT_FALSE(watch.open(training::Snapshot{}));
  EXPECT_FALSE(watch.open(diverged(1, TrainerState::running)));  // before it has paused
  EXPECT_TRUE(watch.open(diverged(1, TrainerState::paused)));
  EXPECT_TRUE(watch.open(diverged(1, TrainerState::paused)));
  EXPECT_FALSE(watch.open(diverged(1, TrainerState::running)));
  EXPECT_FALSE(watch.open(diverged(1, TrainerState::paused)));  // a pause of the person's own
  EXPECT_TRUE(watch.open(diverged(2, TrainerState::paused)));
}

TEST(DivergenceBox, SaysWhereTheWeightsFromBeforeAre) {
  training::Snapshot snapshot = diverged(1, TrainerState::paused);
  EXPECT_TRUE(why_no_way_back(snapshot).starts_with("There are no weights from before it"));
  snapshot.divergence.back_step = 500;
  snapshot.divergence.back_rate = 0.5f;
  snapshot.left = std::make_shared<std::vector<training::LeftTraining>>(
      std::vector<training::LeftTraining>{{.number = 0, .step = 500}, {.number = 2, .step = 816}});
  EXPECT_EQ(
      why_no_way_back(snapshot),
      "The weights of step 500 belong to a training that you have left: Undo (Ctrl+Z) leads back to it.");
  snapshot.left = std::make_shared<std::vector<training::LeftTraining>>();
  EXPECT_TRUE(why_no_way_back(snapshot).starts_with("There are no weights from before it"));
}

TEST(DivergenceWatch, GoesWithAReset) {
  DivergenceWatch watch;
  EXPECT_TRUE(watch.open(diverged(1, TrainerState::paused)));
  training::Snapshot reset = diverged(1, TrainerState::paused);
  reset.divergence.text.clear();
  EXPECT_FALSE(watch.open(reset));
  EXPECT_FALSE(watch.open(diverged(1, TrainerState::finished)));
}

TEST(ResultsRows, BeforeTheFirstStepNothingIsKnown) {
  training::Snapshot snapshot;
  for (const auto& cells : {loss_cells(snapshot), step_cells(snapshot)}) {
    for (const ResultCell& cell : cells) {
      EXPECT_EQ(cell.value, "-") << cell.label;
      EXPECT_EQ(cell.unit, "") << cell.label;
      EXPECT_NE(label_tip(cell.label, cell.tip), "") << cell.label;
    }
  }
  EXPECT_EQ(find(run_cells(snapshot, {}, 0), "checkpoint")->unit, "not written");
  snapshot.run_dir = "runs/1";
  EXPECT_EQ(find(run_cells(snapshot, {}, 0), "checkpoint")->unit, "none yet");
}

TEST(ResultsRows, AClassifierHasAnAccuracyAndTheSplitItsName) {
  training::Snapshot snapshot;
  snapshot.step = 10;
  snapshot.classifies = true;
  snapshot.figures.steps = 10;
  snapshot.figures.final_train_accuracy = 0.925;
  snapshot.last[training::Metric::accuracy] = 1;  // of one batch
  training::Evaluation evaluation;
  evaluation.split = training::Split::validation;
  evaluation.accuracy = 0.9;
  evaluation.loss = 0.25;
  snapshot.evaluation = std::make_shared<const training::Evaluation>(evaluation);
  const auto cells = loss_cells(snapshot);
  EXPECT_EQ(find(cells, "mean train accuracy")->value, "92.50");
  EXPECT_EQ(find(cells, "validation accuracy")->value, "90.00");
  EXPECT_EQ(find(cells, "validation loss")->value, "0.25000");
  EXPECT_EQ(find(cells, "train PSNR"), nullptr);
}

TEST(ResultsRows, TheTestAtTheEndHidesNoValidation) {
  training::Snapshot snapshot;
  training::Evaluation evaluation;
  evaluation.split = training::Split::validation;
  evaluation.loss = snapshot.figures.validation_loss = 0.25;
  evaluation.psnr = snapshot.figures.validation_psnr = 20;
  snapshot.evaluation = std::make_shared<const training::Evaluation>(evaluation);
  EXPECT_EQ(find(loss_cells(snapshot), "test loss"), nullptr);
  evaluation.split = training::Split::test;
  evaluation.loss = snapshot.figures.test_loss = 0.5;
  evaluation.psnr = snapshot.figures.psnr = 10;
  snapshot.evaluation = std::make_shared<const training::Evaluation>(evaluation);
  const auto cells = loss_cells(snapshot);
  EXPECT_EQ(find(cells, "validation loss")->value, "0.25000");
  EXPECT_EQ(find(cells, "validation PSNR")->value, "20.00");
  EXPECT_EQ(find(cells, "test loss")->value, "0.50000");
  EXPECT_EQ(find(cells, "test PSNR")->value, "10.00");
  evaluation.split = training::Split::validation;
  snapshot.evaluation = std::make_shared<const training::Evaluation>(evaluation);
  EXPECT_EQ(find(loss_cells(snapshot), "test loss"), nullptr) << "the training has gone on since";
}

TEST(ResultsRows, EvaluationsOfSeveralViewsSaySo) {
  training::Snapshot snapshot;
  snapshot.classifies = true;
  snapshot.evaluation = std::make_shared<const training::Evaluation>();
  EXPECT_EQ(find(loss_cells(snapshot), "test loss")->unit, "");
  EXPECT_EQ(find(loss_cells(snapshot), "test loss")->tip.find("views"), std::string::npos);
  snapshot.test_views = 10;
  const auto cells = loss_cells(snapshot);
  EXPECT_EQ(find(cells, "test loss")->unit, "10 views");
  for (const char* const label : {"test loss", "test accuracy"}) {
    EXPECT_NE(find(cells, label)->tip.find("mean of the logits of 10 views"), std::string::npos) << label;
  }
  EXPECT_EQ(find(cells, "mean train loss")->tip.find("views"), std::string::npos);
}

TEST(ResultsRows, AHeadHasFiguresOfItsOwn) {
  training::Snapshot snapshot;
  snapshot.step = 10;
  EXPECT_EQ(find(loss_cells(snapshot), "test head loss"), nullptr);
  tests::settings_of(snapshot).optimizer.joint = 0.1f;
  EXPECT_EQ(find(loss_cells(snapshot), "test head accuracy")->value, "-") << "before the first test";
  training::Evaluation evaluation;
  evaluation.head = true;
  evaluation.head_loss = 2.25;
  evaluation.head_accuracy = 0.5;
  snapshot.evaluation = std::make_shared<const training::Evaluation>(evaluation);
  EXPECT_EQ(find(loss_cells(snapshot), "test head loss")->value, "2.2500");
  EXPECT_EQ(find(loss_cells(snapshot), "test head accuracy")->value, "50.00");
  evaluation.split = training::Split::validation;
  snapshot.evaluation = std::make_shared<const training::Evaluation>(evaluation);
  EXPECT_EQ(find(loss_cells(snapshot), "validation head loss")->value, "2.2500");
  EXPECT_EQ(find(loss_cells(snapshot), "test head loss"), nullptr);
}

TEST(ResultsRows, TheScheduledRateIsThereWhenItIsAnother) {
  training::Snapshot snapshot;
  snapshot.step = 1;
  tests::settings_of(snapshot).optimizer.learning_rate = snapshot.last[training::Metric::learning_rate] =
      0.1f;
  EXPECT_EQ(find(step_cells(snapshot), "scheduled rate"), nullptr);
  EXPECT_NE(find(step_cells(snapshot), "gradient norm")->value, "-");
  tests::settings_of(snapshot).optimizer.per_sample = true;
  EXPECT_EQ(find(step_cells(snapshot), "gradient norm")->value, "-") << "no step has one gradient";
  snapshot.last[training::Metric::learning_rate] = 0.05f;
  EXPECT_EQ(find(step_cells(snapshot), "scheduled rate")->value, "0.05");
  EXPECT_EQ(find(step_cells(snapshot), "loss scale"), nullptr);
  snapshot.selection.precision = core::Precision::fp16;
  EXPECT_NE(find(step_cells(snapshot), "loss scale"), nullptr);
}

TEST(ResultsRows, WhatIsNotFiniteIsSaidInAWord) {
  training::Snapshot snapshot;
  snapshot.step = 1;
  snapshot.figures.steps = 1;
  snapshot.figures.final_train_loss = std::numeric_limits<double>::infinity();
  snapshot.last[training::Metric::learning_rate] = 0.1f;
  snapshot.last[training::Metric::gradient_norm] = -std::numeric_limits<float>::quiet_NaN();
  snapshot.skipped_steps = 1;
  EXPECT_EQ(find(loss_cells(snapshot), "mean train loss")->value, "inf");
  EXPECT_EQ(find(loss_cells(snapshot), "train PSNR")->value, "-");
  EXPECT_EQ(find(step_cells(snapshot), "gradient norm")->value, "nan");
  EXPECT_EQ(find(step_cells(snapshot), "skipped")->value, "1");
  EXPECT_EQ(find(step_cells(snapshot), "loss scale"), nullptr);
}

TEST(ResultsRows, ACheckpointHasAStepAndAnAge) {
  LastCheckpoint last = observe_checkpoint({}, 0, 5, true);
  last = observe_checkpoint(last, 1200, 10, false);
  last = observe_checkpoint(last, 1200, 20, false);
  training::Snapshot snapshot;
  snapshot.checkpoint_step = 1200;
  const auto cells = run_cells(snapshot, last, 22);
  EXPECT_EQ(find(cells, "checkpoint")->value, "1,200");
  EXPECT_EQ(find(cells, "checkpoint")->unit, "steps, 12 s ago");
  // One that was there from the start has no age.
  const LastCheckpoint old = observe_checkpoint({}, 1200, 5, true);
  EXPECT_EQ(find(run_cells(snapshot, old, 22), "checkpoint")->unit, "steps");
}

TEST(ResultsRows, TheLengthInEpochsHasNoMoreDigitsThanTheEpochsSoFar) {
  training::Snapshot snapshot;
  snapshot.step = 1;
  EXPECT_EQ(find(run_cells(snapshot, {}, 0), "epochs")->unit, "");
  snapshot.total_epochs = 30;
  EXPECT_EQ(find(run_cells(snapshot, {}, 0), "epochs")->unit, "of 30");
  snapshot.total_epochs = 0.0828157;  // 120 steps
  EXPECT_EQ(find(run_cells(snapshot, {}, 0), "epochs")->unit, "of 0.08");
}

TEST(AgoText, HasOneUnit) {
  EXPECT_EQ(ago_text(-1), "0 s ago");
  EXPECT_EQ(ago_text(59.9), "59 s ago");
  EXPECT_EQ(ago_text(150), "2 min ago");
  EXPECT_EQ(ago_text(7300), "2 h ago");
  for (const double seconds : {-1.0, 0.0, 12.5, 59.9, 60.0, 150.0, 3599.0, 7300.0}) {
    const double end = ago_text_end(seconds);
    EXPECT_GT(end, seconds);
    EXPECT_EQ(ago_text((seconds + end) / 2), ago_text(seconds)) << seconds;
    EXPECT_NE(ago_text(end), ago_text(seconds)) << seconds;
  }
}

}  // namespace
}  // namespace warpscope::ui::training_rows_test
