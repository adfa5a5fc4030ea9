#include "ui/settings/undo.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/plan/presets.h"
#include "gpu/settings/setting.h"
#include "tests/support/changes.h"
#include "tests/support/undo_snapshots.h"

namespace warpscope::ui::undo_test {
namespace {

using tests::answered;
using tests::at_batch;
using tests::batch;
using tests::begin_training;
using tests::return_to;
using training::Snapshot;

std::uint64_t returned_to(const Change& change) {
  return std::get<training::ReturnTo>(*command_of(change.after)).training;
}

ViewChoices with_metric(training::Metric metric) {
  ViewChoices view;
  view.plot.metrics = {metric};
  return view;
}

ViewChoices with_top(float top) {
  ViewChoices view;
  view.docking.root = dock_cut(Cut::rows, top, dock_leaf({"curves"}), dock_leaf({"images"}));
  return view;
}

TEST(Undo, TakesBackAndMakesAgainWhatWasSent) {
  Undo undo;
  EXPECT_EQ(undo.undoable(), nullptr);
  EXPECT_FALSE(undo.undo());
  undo.sent(tests::change("batch", 8), at_batch(4));
  ASSERT_NE(undo.undoable(), nullptr);
  EXPECT_EQ(describe(*undo.undoable()), "batch: 4 -> 8");
  EXPECT_EQ(undo.undo()->after, batch(4));
  EXPECT_EQ(undo.undoable(), nullptr);
  EXPECT_EQ(undo.redo()->after, batch(8));
  EXPECT_EQ(undo.redoable(), nullptr);
  EXPECT_NE(undo.undoable(), nullptr);
}

TEST(Undo, CommandsThatSetNothingNewAreNotRecorded) {
  Undo undo;
  undo.sent(training::Pause{}, at_batch(4));
  undo.sent(training::StepOnce{}, at_batch(4));
  undo.sent(training::Save{"file"}, at_batch(4));
  undo.sent(tests::change("batch", 4), at_batch(4));
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, ASecondChangeStartsFromTheOneThatIsOnItsWay) {
  Undo undo;
  undo.sent(tests::change("batch", 8), at_batch(4));
  undo.sent(tests::change("batch", 16), at_batch(4));
  EXPECT_EQ(undo.undo()->after, batch(8));
  EXPECT_EQ(undo.undo()->after, batch(4));
}

TEST(Undo, ChangesOfOtherSettingsStay) {
  Undo undo;
  Snapshot snapshot;
  tests::settings_of(snapshot).optimizer.learning_rate = 0.5f;
  undo.sent(tests::change("learning_rate", 0.25), snapshot);
  const auto back = undo.undo();
  EXPECT_EQ(back->after, Changeable(tests::change("learning_rate", 0.5).settings));
  EXPECT_EQ(describe(*back), "learning rate: 0.25 -> 0.5");
}

TEST(Undo, ANetworkComesBackWhole) {
  const auto first = std::make_shared<const models::Model>(models::find_model("mlp"));
  models::Model edited = *first;
  edited.layers[0].out_channels = 64;
  models::fit_layers(edited);
  Snapshot snapshot;
  snapshot.network = first;
  Undo undo;
  undo.sent(training::SetNetwork{*first}, snapshot);
  EXPECT_EQ(undo.undoable(), nullptr) << "it is the one that trains";
  undo.sent(training::SetNetwork{edited}, snapshot);
  ASSERT_NE(undo.undoable(), nullptr);
  EXPECT_EQ(describe(*undo.undoable()), "network: fc1 changed, fc2 changed");
  Snapshot taken = snapshot;
  edited.name = "mlp-edited";  // a name of its own, which the trainer gives it too
  taken.network = std::make_shared<const models::Model>(edited);
  taken.network_number = 1;
  begin_training(taken, 30);
  undo.settle(answered(taken, 1));
  const auto back = undo.undo();
  ASSERT_TRUE(back);
  EXPECT_EQ(returned_to(*back), 0u) << "with its weights";
  EXPECT_EQ(describe(*back), "network: fc1 changed, fc2 changed");
  EXPECT_EQ(returned_to(*undo.redo()), 1u);
}

TEST(Undo, ANetworkThatIsRefusedLeavesNothingToUndo) {
  Snapshot snapshot;
  snapshot.network = std::make_shared<const models::Model>(models::find_model("mlp"));
  models::Model unfit = *snapshot.network;
  unfit.layers.pop_back();
  Undo undo;
  undo.sent(training::SetNetwork{unfit}, snapshot);
  EXPECT_EQ(describe(*undo.undoable()), "network: without fc3");
  undo.settle(answered(snapshot, 1, {1}));
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, ANewChangeClearsWhatCouldBeRedone) {
  Undo undo;
  undo.sent(tests::change("batch", 8), at_batch(4));
  undo.undo();
  undo.sent(tests::change("zscore", 3.0), at_batch(4));
  EXPECT_EQ(undo.redoable(), nullptr);
}

TEST(Undo, ItsOwnCommandsAreNotChangesOfTheirOwn) {
  Undo undo;
  EXPECT_EQ(undo.sent(tests::change("batch", 8), at_batch(4)), 1u);
  undo.settle(answered(at_batch(8), 1));
  const auto back = undo.undo();
  EXPECT_EQ(undo.sent(*command_of(back->after), at_batch(8), true), 2u);
  EXPECT_EQ(undo.undoable(), nullptr);
  EXPECT_NE(undo.redoable(), nullptr);
}

TEST(Undo, WhatComesIsKnownUntilItIsAnswered) {
  Undo undo;
  undo.sent(tests::change("batch", 8), at_batch(4));
  undo.sent(tests::change("crop", 2), at_batch(4));
  undo.settle(at_batch(4));
  EXPECT_EQ(undo.coming_settings(at_batch(4)).batch, 8);
  undo.settle(answered(at_batch(8), 1));
  EXPECT_EQ(undo.coming_settings(at_batch(16)).batch, 16) << "somebody else has changed it since";
  EXPECT_EQ(undo.coming_settings(at_batch(16)).augment.crop, 2);
}

TEST(Undo, WhatTheTrainerRefusesLeavesNothing) {
  Undo undo;
  undo.sent(tests::change("batch", 60000), at_batch(4));
  undo.settle(answered(at_batch(4), 1, {1}));
  EXPECT_EQ(undo.undoable(), nullptr);
  EXPECT_EQ(undo.coming_settings(at_batch(4)).batch, 4);
}

TEST(Undo, ANoticeOfSomethingElseRefusesNothing) {
  Undo undo;
  undo.sent(tests::change("batch", 8), at_batch(4));
  Snapshot snapshot = at_batch(4);
  ++snapshot.notice_id;
  undo.settle(snapshot);
  EXPECT_NE(undo.undoable(), nullptr);
}

TEST(Undo, AChangeBehindARefusedOneStartsFromBeforeThat) {
  Undo undo;
  undo.sent(tests::change("batch", 60000), at_batch(4));
  undo.sent(tests::change("batch", 8), at_batch(4));
  undo.settle(answered(at_batch(8), 2, {1}));
  EXPECT_EQ(undo.undo()->after, batch(4));
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, AChangeBackBehindARefusedOneIsNone) {
  Undo undo;
  undo.sent(tests::change("batch", 60000), at_batch(4));
  undo.sent(tests::change("batch", 4), at_batch(4));
  undo.settle(answered(at_batch(4), 2, {1}));
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, ARefusedUndoOrRedoCanBeTriedAgain) {
  Undo undo;
  undo.sent(tests::change("batch", 8), at_batch(4));
  undo.settle(answered(at_batch(8), 1));
  undo.sent(*command_of(undo.undo()->after), at_batch(8), true);
  undo.settle(answered(at_batch(8), 2, {2}));
  EXPECT_EQ(undo.redoable(), nullptr);
  ASSERT_NE(undo.undoable(), nullptr);
  undo.sent(*command_of(undo.undo()->after), at_batch(8), true);
  undo.settle(answered(at_batch(4), 3, {2}));
  undo.sent(*command_of(undo.redo()->after), at_batch(4), true);
  undo.settle(answered(at_batch(4), 4, {2, 4}));
  EXPECT_EQ(undo.undoable(), nullptr);
  EXPECT_NE(undo.redoable(), nullptr);
}

TEST(Undo, AResetBehindARefusedNetworkHasTheNumberThatItGets) {
  Snapshot snapshot;
  snapshot.network = std::make_shared<const models::Model>(models::find_model("mlp"));
  models::Model unfit = *snapshot.network;
  unfit.layers.pop_back();
  Undo undo;
  undo.sent(training::SetNetwork{unfit}, snapshot);
  undo.sent(training::Reset{}, snapshot);
  begin_training(snapshot, 9);
  undo.settle(answered(snapshot, 2, {1}));
  const auto back = undo.undo();
  ASSERT_TRUE(back);
  EXPECT_EQ(returned_to(*back), 0u);
  undo.sent(*command_of(back->after), snapshot, true);
  return_to(snapshot, 0, 3);
  undo.settle(answered(snapshot, 3, {1}));
  ASSERT_NE(undo.redoable(), nullptr);
  EXPECT_EQ(returned_to(*undo.redo()), 1u);
}

/// The settings of both commands.
training::Command both(training::Command first, const training::Command& second) {
  auto& settings = std::get<training::Change>(first).settings;
  for (const training::Setting& row : training::settings()) {
    const auto* const value = std::get<training::Change>(second).settings.find(row.name);
    if (value != nullptr) settings.put(row, *value);
  }
  return first;
}

TEST(Undo, EachSettingOfARefusedChangeComesBackInTheNextChangeOfIt) {
  Undo undo;
  const Snapshot snapshot = at_batch(4);
  undo.sent(both(tests::change("batch", 60000), tests::change("crop", 5)), snapshot);
  undo.sent(tests::change("crop", 2), snapshot);
  undo.sent(tests::change("batch", 8), snapshot);
  undo.sent(tests::change("crop", 3), snapshot);
  undo.settle(answered(snapshot, 1, {1}));
  EXPECT_EQ(undo.undo()->after, Changeable(tests::change("crop", 2).settings));
  EXPECT_EQ(undo.undo()->after, batch(4));
  EXPECT_EQ(undo.undo()->after, Changeable(tests::change("crop", 0).settings));
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, AnotherRuleComesBackWithItsNumbers) {
  Undo undo;
  Snapshot snapshot;
  const training::OptimizerSettings was = snapshot.settings->optimizer;
  const auto lion = training::with_rule(was, ops::UpdateRule::lion);
  undo.sent(tests::change(was, lion), snapshot);
  tests::settings_of(snapshot).optimizer = lion;
  undo.settle(answered(snapshot, 1));
  training::TrainingSettings back = *snapshot.settings;
  apply(std::get<training::Configuration>(undo.undo()->after), back);
  EXPECT_EQ(back.optimizer, was);
}

TEST(Undo, AResetIsTakenBackAndMadeAgain) {
  Undo undo;
  Snapshot snapshot = at_batch(4);
  undo.sent(tests::change("batch", 8), snapshot);
  tests::settings_of(snapshot).batch = 8;
  snapshot.step = 12340;
  undo.settle(answered(snapshot, 1));
  undo.sent(training::Reset{}, snapshot);
  EXPECT_EQ(describe(*undo.undoable()), "reset at step 12,340");
  begin_training(snapshot, 12345);  // it was some steps further
  undo.settle(answered(snapshot, 2));
  EXPECT_EQ(describe(*undo.undoable()), "reset at step 12,345");
  const auto back = undo.undo();
  EXPECT_EQ(returned_to(*back), 0u);
  EXPECT_EQ(describe(*back), "reset at step 12,345");
  undo.sent(*command_of(back->after), snapshot, true);
  return_to(snapshot, 0, 7);
  undo.settle(answered(snapshot, 3));
  const auto again = undo.redo();
  ASSERT_TRUE(again);
  EXPECT_EQ(returned_to(*again), 1u) << "to where the new training had come, and no further reset";
  undo.sent(*command_of(again->after), snapshot, true);
  EXPECT_EQ(returned_to(*undo.undo()), 0u);
  EXPECT_EQ(undo.undo()->after, batch(4)) << "what was changed before it";
}

TEST(Undo, TwoResetsInARowAreTwo) {
  Undo undo;
  Snapshot snapshot;
  undo.sent(training::Reset{}, snapshot);
  undo.sent(training::Reset{}, snapshot);
  begin_training(snapshot, 5);
  begin_training(snapshot, 1);
  undo.settle(answered(snapshot, 2));
  EXPECT_EQ(returned_to(*undo.undo()), 1u);
  EXPECT_EQ(returned_to(*undo.undo()), 0u);
  EXPECT_FALSE(undo.undo());
}

TEST(Undo, DivergenceIsTakenBack) {
  Undo undo;
  Snapshot snapshot;
  undo.settle(snapshot);
  snapshot.divergence = {.id = 1, .step = 123, .text = "it is not known yet what was before"};
  undo.settle(snapshot);
  EXPECT_FALSE(undo.undoable());
  begin_training(snapshot, 90);
  snapshot.divergence = {
      .id = 1, .step = 123, .text = "", .can_roll_back = true, .back_step = 90, .back_rate = 1};
  undo.settle(snapshot);
  undo.settle(snapshot);
  const auto back = undo.undo();
  ASSERT_TRUE(back);
  EXPECT_EQ(returned_to(*back), 0u);
  EXPECT_EQ(describe(*back), "divergence at step 123");
  EXPECT_EQ(describe(*undo.change_by(*command_of(back->after), snapshot)), "divergence at step 123")
      << "as the log tells it";
  EXPECT_FALSE(undo.undo()) << "once";
}

TEST(Undo, AReturnToEarlierWeightsIsTakenBackAndMadeAgain) {
  Undo undo;
  Snapshot snapshot;
  snapshot.network = std::make_shared<const models::Model>();
  undo.sent(training::RollBack{}, snapshot);
  begin_training(snapshot, 123);
  undo.settle(answered(snapshot, 1));
  const std::string words = "return to earlier weights at step 123";
  for (int i = 0; i < 2; ++i) {
    const auto change = i == 0 ? undo.undo() : undo.redo();
    ASSERT_TRUE(change);
    EXPECT_EQ(describe(*change), words);
    const training::Command command = *command_of(change->after);
    EXPECT_EQ(describe(*undo.change_by(command, snapshot)), words) << "as the log tells it";
    undo.sent(command, snapshot, true);
    return_to(snapshot, i == 0 ? 0 : 1, i == 0 ? 429 : 123);
    undo.settle(answered(snapshot, static_cast<std::uint64_t>(2 + i)));
  }
}

TEST(Undo, AWayBackThatIsStoppedLeavesNothing) {
  Undo undo;
  Snapshot snapshot;
  for (const bool arrives : {false, true}) {
    undo.sent(training::RewindTo{12}, snapshot);
    const std::uint64_t number = snapshot.trainings++;
    snapshot.rewind.running = true;
    undo.settle(answered(snapshot, arrives ? 2 : 1));
    ASSERT_NE(undo.undoable(), nullptr);
    snapshot.rewind.running = false;
    if (arrives) snapshot.left = std::make_shared<std::vector<training::LeftTraining>>(1);
    if (arrives) snapshot.training = number;
    undo.settle(answered(snapshot, arrives ? 2 : 1));
    EXPECT_EQ(undo.undoable() != nullptr, arrives);
  }
}

TEST(Undo, ATrainingThatIsKeptNoMoreCannotComeBack) {
  Undo undo;
  Snapshot snapshot;
  undo.sent(training::Reset{}, snapshot);
  begin_training(snapshot, 5);
  snapshot.left = std::make_shared<std::vector<training::LeftTraining>>();
  undo.settle(answered(snapshot, 1));
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, ADragIsOneChange) {
  Undo undo;
  undo.see(with_top(0.5f), 0);
  for (const float top : {0.51f, 0.55f, 0.6f}) undo.see(with_top(top), 7);
  undo.see(with_top(0.6f), 0);
  const auto back = undo.undo();
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<ViewChoices>(back->after).docking.root.part, 0.5f);
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, ADragBackToWhereItBeganIsNone) {
  Undo undo;
  undo.see(with_top(0.5f), 0);
  undo.see(with_top(0.6f), 7);
  undo.see(with_top(0.5f), 7);
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, TheViewThatIsPutBackIsNoChange) {
  Undo undo;
  undo.see(with_metric(training::Metric::loss), 0);
  undo.see(with_metric(training::Metric::gradient_norm), 0);
  undo.see(std::get<ViewChoices>(undo.undo()->after), 0);
  EXPECT_EQ(undo.undoable(), nullptr);
  ASSERT_NE(undo.redoable(), nullptr);
  undo.see(std::get<ViewChoices>(undo.redo()->after), 0);
  EXPECT_EQ(describe(*undo.undoable()), "curves: Loss -> Gradient norm");
}

TEST(Undo, WhatNobodyDidIsNotTakenBack) {
  Undo undo;
  undo.see(with_metric(training::Metric::loss), 0);
  undo.start_from(with_metric(training::Metric::gradient_norm));
  undo.see(with_metric(training::Metric::gradient_norm), 0);
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, KeepsTheNewestHundred) {
  Undo undo;
  undo.see(with_top(0), 0);
  for (int i = 1; i <= 150; ++i) undo.see(with_top(static_cast<float>(i)), 0);
  std::size_t count = 0;
  std::optional<Change> last;
  while (auto back = undo.undo()) {
    last = back;
    ++count;
  }
  EXPECT_EQ(count, Undo::kMost);
  EXPECT_EQ(std::get<ViewChoices>(last->after).docking.root.part, 50.0f);
}

TEST(Changes, AreToldInWordsAndAsOptions) {
  plan::Selection before, after;
  after.precision = core::Precision::bf16;
  after.variants[ops::Op::conv2d_forward] = "hopper";
  const Change select{before, after}, back{after, before};
  EXPECT_EQ(describe(select), "precision fp32 -> bf16; conv2d.forward: automatic -> hopper");
  EXPECT_EQ(option_text(select), "--precision bf16 --select conv2d.forward=hopper");
  EXPECT_EQ(option_text(back), "--precision fp32 --select conv2d.forward=automatic");
  const auto options = [](const char* name, const training::Value& from, const training::Value& to) {
    return option_text({tests::change(name, from).settings, tests::change(name, to).settings});
  };
  EXPECT_EQ(options("learning_rate", 0.0003, 0.001), "--lr 0.001");
  EXPECT_EQ(options("zscore", 0.0, 4.0), "--zscore 4.0");
  EXPECT_EQ(options("schedule", "constant", "cosine:warmup=0"), "--schedule cosine:warmup=0");
  EXPECT_EQ(options("flip", true, false), "--no-flip");
  EXPECT_EQ(option_text({with_metric(training::Metric::loss), with_metric(training::Metric::accuracy)}), "");
}

TEST(Changes, OfManyOperationsAreOneLineAndTheOthersOnDemand) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  const plan::Selection automatic, loops = plan::preset_selection("loops", cpu, core::Precision::fp32);
  EXPECT_EQ(in_one_line({automatic, loops}, cpu), "preset: automatic -> loops");
  EXPECT_EQ(in_one_line({loops, automatic}, cpu), "preset: loops -> automatic");
  const std::string details = details_of({loops, automatic}, cpu);
  EXPECT_EQ(std::count(details.begin(), details.end(), '\n') + 1,
            static_cast<std::ptrdiff_t>(loops.variants.size()));
  plan::Selection mixed = loops;
  mixed.variants[ops::Op::conv2d_forward] = "reference";
  EXPECT_EQ(in_one_line({automatic, mixed}, cpu),
            fmt::format("{} operations: automatic -> mixed", loops.variants.size()));
  const Change one{loops, mixed};
  EXPECT_EQ(in_one_line(one, cpu), "conv2d.forward: loops -> reference");
  EXPECT_EQ(details_of(one, cpu), "");
}

TEST(Changes, OfTheViewAreAllTold) {
  ViewChoices before, after;
  after.plot.over = 1;
  after.plot.show_test = false;
  after.plot.logarithmic[0] = !before.plot.logarithmic[0];
  after.images.zoom = 3;
  set_shown(after.images.rows, PictureRow::earlier, true);
  after.docking = with_top(0.25f).docking;
  after.look = {Theme::light, 1.1f, 17};
  EXPECT_EQ(
      describe({before, after}),
      "curves over: steps -> epochs; test curve: shown -> hidden; value axis of Loss: logarithmic -> linear; "
      "size of the images: fit -> 3x; rows of the images: original, now, now \u2212 original -> original, "
      "now, first "
      "step, now \u2212 original; layout of the panels; theme: Dark -> Light; zoom: 100 % -> 110 %; text "
      "size: 16 -> "
      "17");
}

/// A kernel whose versions 1 and 2 are proved, one of which runs; 0: none does.
Snapshot with_kernel(int used, bool apply_when_proved = false) {
  training::UserKernels kernels;
  training::UserKernel& kernel = kernels.kernels.emplace_back();
  kernel.file = "/home/me/my_conv.cpp";
  kernel.variant = "user:my_conv";
  kernel.apply_when_proved = apply_when_proved;
  for (const int number : {1, 2}) {
    training::KernelVersion version;
    version.number = number;
    version.stage = training::KernelStage::ready;
    kernel.versions.push_back(std::make_shared<training::KernelVersion>(version));
  }
  kernel.in_table = used;
  kernel.in_use = used > 0;
  Snapshot snapshot;
  snapshot.user_kernels = std::make_shared<training::UserKernels>(kernels);
  return snapshot;
}

int used_after(const std::optional<Change>& change) {
  return std::get<training::UseKernel>(*command_of(change->after)).version;
}

TEST(Undo, OfAKernelIsTheVersionThatRanBefore) {
  Undo undo;
  undo.settle(with_kernel(0));
  undo.sent(training::UseKernel{"/home/me/my_conv.cpp", 1}, with_kernel(0));
  undo.settle(answered(with_kernel(1), 1));
  undo.sent(training::UseKernel{"/home/me/my_conv.cpp", 2}, with_kernel(1));
  undo.settle(answered(with_kernel(2), 2));
  EXPECT_EQ(describe(*undo.undoable()), "own kernel my_conv: version 1 -> version 2");
  EXPECT_EQ(used_after(undo.undo()), 1);
  EXPECT_EQ(describe(*undo.undoable()), "own kernel my_conv: not used -> version 1");
  EXPECT_EQ(used_after(undo.undo()), 0);
  EXPECT_EQ(undo.undoable(), nullptr);
  EXPECT_EQ(used_after(undo.redo()), 1);
}

TEST(Undo, OfAKernelThatWasRefusedIsNothing) {
  Undo undo;
  undo.sent(training::UseKernel{"/home/me/my_conv.cpp", 1}, with_kernel(0));
  undo.settle(answered(with_kernel(0), 1, {1}));
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, TakesBackAVersionThatWasAppliedAsItWasProved) {
  Undo undo;
  undo.settle(with_kernel(1, true));
  undo.settle(with_kernel(2, true));
  ASSERT_NE(undo.undoable(), nullptr);
  EXPECT_EQ(used_after(undo.undo()), 1);
  undo.settle(with_kernel(1, true));
  EXPECT_EQ(undo.undoable(), nullptr);
}

TEST(Undo, ForgetsAKernelThatIsNoLongerLoaded) {
  Undo undo;
  undo.sent(training::UseKernel{"/home/me/my_conv.cpp", 1}, with_kernel(0));
  undo.settle(answered(with_kernel(1), 1));
  ASSERT_NE(undo.undoable(), nullptr);
  Snapshot none = answered({}, 1);
  none.user_kernels = std::make_shared<training::UserKernels>();
  undo.settle(none);
  EXPECT_EQ(undo.undoable(), nullptr);
}

}  // namespace
}  // namespace warpscope::ui::undo_test
