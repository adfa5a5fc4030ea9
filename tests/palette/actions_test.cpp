#include "ui/palette/actions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/plan/presets.h"
#include "tests/support/changes.h"
#include "ui/palette/window_actions.h"

namespace warpscope::ui::actions_test {
namespace {

using training::Snapshot;
using training::TrainerState;

constexpr std::array<const char*, 2> kTrainingTabs{"Results", "Finder"};

// A paused training on a CPU, and what actions did.
class ActionsTest : public testing::Test {
 protected:
  ActionsTest() {
    snapshot.state = TrainerState::paused;
    snapshot.device.kind = core::DeviceKind::cpu;
    tests::settings_of(snapshot).batch = 4;
    training::OpTiming timing;
    timing.op = ops::Op::relu_forward;
    timing.layer = "relu1";
    snapshot.timings.push_back(timing);
  }

  ActionScene scene() {
    return {.snapshot = snapshot,
            .selection = snapshot.selection,
            .settings = *snapshot.settings,
            .why_no_steering = why_no_steering,
            .plot = plot,
            .seen = {},
            .follows = true,
            .panels = {{"kernels", "Kernels", true, true, false},
                       {"verify", "Verify", true, false, true},
                       {"determinism", "Determinism", false, false, false}},
            .layouts = {{"train", true, true}, {"talk", false, false}},
            .training_tabs = kTrainingTabs,
            .training_tab = 0,
            .step = looked_at,
            .undoable = undoable,
            .only_setting = only_setting,
            .redoable = {},
            .send = [this](training::Command command) { sent.push_back(std::move(command)); },
            .press = [this](const KeyPress& key) { pressed.push_back(key); },
            .show_confusion = [this] { done = "show confusion"; },
            .show_panel = [this](const std::string& id) { shown = id; },
            .close_panel = [this](const std::string& id) { done = "close " + id; },
            .float_panel = [this](const std::string& id) { done = "float " + id; },
            .use_layout = [this](const std::string& name) { done = "use " + name; },
            .save_layout = [this](const std::string& name) { done = "save " + name; },
            .delete_layout = [this](const std::string& name) { done = "delete " + name; },
            .show_training_tab = [this](int tab) { shown_training = tab; },
            .set_plot = [this](const PlotSettings& changed) { plot = changed; },
            .look = look,
            .set_look = [this](const Look& changed) { look = changed; },
            .follow = [this](bool follows) { followed = follows; },
            .copy_curves = [this] { ++copied; },
            .look_aside = [this](std::uint64_t step) { done = fmt::format("aside {}", step); },
            .take_tour = [this] { done = "tour"; },
            .tell = [this](const std::string& text) { done = text; },
            .judge_features = [this] { done = "judge"; },
            .why_no_features = why_no_features,
            .map_latents = [this](const std::string& method) { done = "map by " + method; },
            .edit_network = [this](bool file) { done = file ? "open a network" : "edit the network"; },
            .why_no_map = why_no_map,
            .own_kernels = {.make = [this] { done = "new kernel"; },
                            .load = [this] { done = "load a kernel"; },
                            .learn = [this] { done = "lesson"; }}};
  }

  Action find(const std::string& id) {
    for (Action& action : all_actions(scene())) {
      if (action.id == id) return action;
    }
    ADD_FAILURE() << "no action " << id;
    return {};
  }

  // A query that is a setting.
  Action typed(const std::string& query) {
    auto actions = typed_settings(query, scene());
    if (actions.size() == 1) return actions.front();
    ADD_FAILURE() << query << " is " << actions.size() << " settings";
    return {};
  }

  // The command that the query sends.
  template <class Command>
  Command command_of(const std::string& query) {
    const Action action = typed(query);
    EXPECT_EQ(action.why_not, "") << query;
    sent.clear();
    if (action.run) action.run();
    if (sent.size() == 1 && std::holds_alternative<Command>(sent.front()))
      return std::get<Command>(sent.front());
    ADD_FAILURE() << query << " sends another command or none";
    return {};
  }

  training::Configuration set_by(const std::string& query) {
    return command_of<training::Change>(query).settings;
  }

  Snapshot snapshot;
  PlotSettings plot;
  Look look;
  std::string why_no_steering, why_no_features, why_no_map, undoable, only_setting;
  std::vector<training::Command> sent;
  std::vector<KeyPress> pressed;
  std::string shown, done;
  int shown_training = -1;
  bool followed = true;
  int copied = 0;
  std::optional<std::uint64_t> looked_at;
};

TEST_F(ActionsTest, ShowTheConfusionOfANetworkThatClassifies) {
  snapshot.classifies = false;
  EXPECT_EQ(find("panel.images.confusion").why_not, "The network tells no classes apart.");
  snapshot.classifies = true;
  const Action confusion = find("panel.images.confusion");
  EXPECT_EQ(confusion.why_not, "");
  confusion.run();
  EXPECT_EQ(done, "show confusion");
}

TEST_F(ActionsTest, HaveIdsOfTheirOwnAndSomethingToDo) {
  std::set<std::string> ids;
  for (const Action& action : all_actions(scene())) {
    EXPECT_TRUE(ids.insert(action.id).second) << action.id;
    EXPECT_NE(action.title, "");
    EXPECT_NE(action.group, "");
    EXPECT_TRUE(action.run || !action.fill.empty()) << action.id;
  }
}

TEST_F(ActionsTest, RefusalsAreSentences) {
  snapshot.state = TrainerState::preparing;
  for (const TrainerState state : {TrainerState::preparing, TrainerState::paused, TrainerState::finished}) {
    snapshot.state = state;
    for (const Action& action : all_actions(scene())) {
      if (action.why_not.empty()) continue;
      EXPECT_EQ(action.why_not.back(), '.') << action.id;
      EXPECT_TRUE(std::isupper(static_cast<unsigned char>(action.why_not.front()))) << action.why_not;
    }
  }
}

TEST_F(ActionsTest, ATrainingThatHasEndedSaysHowOneGoesOn) {
  snapshot.state = TrainerState::finished;
  const std::string why_not = typed("batch 8").why_not;
  EXPECT_NE(why_not.find("goes back"), std::string::npos) << why_not;
  EXPECT_NE(why_not.find("Ctrl N"), std::string::npos) << why_not;
}

TEST_F(ActionsTest, ATrainingThatHasEndedTakesOtherLimits) {
  snapshot.state = TrainerState::finished;
  typed("epochs 20").run();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_TRUE(std::get<training::Change>(sent[0]).settings.has("epochs"));
  EXPECT_EQ(find("set.steps").why_not, "");
  EXPECT_NE(find("set.batch").why_not, "");
  why_no_steering = "It cannot be steered.";
  EXPECT_EQ(typed("epochs 30").why_not, why_no_steering);
}

TEST_F(ActionsTest, WhatHasAKeyPressesIt) {
  find("reset").run();
  find("metric.gradient_norm").run();
  ASSERT_EQ(pressed.size(), 2U);
  EXPECT_EQ(pressed[0].letter, 'r');
  EXPECT_EQ(pressed[1].letter, '3');
}

TEST_F(ActionsTest, ThemeAndSizesAreSetAtOnce) {
  EXPECT_EQ(find("theme.dark").note, "now");
  find("theme.light_safe").run();
  EXPECT_EQ(look.theme, Theme::light_safe);
  EXPECT_EQ(find("theme.light_safe").note, "now");
  find("text.larger").run();
  EXPECT_EQ(look.text_size, Look().text_size + 1);
  find("zoom.in").run();
  EXPECT_FLOAT_EQ(look.zoom, Look::kZoomStep);
  look.text_size = Look::kMostText;
  EXPECT_EQ(find("text.larger").why_not, "It is so already.");
  find("text.normal").run();
  EXPECT_EQ(look.text_size, Look().text_size);
}

TEST_F(ActionsTest, TheStepThatIsLookedAtIsComputedAsideOrRewoundTo) {
  snapshot.step = 2000;
  snapshot.moments = std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{1024});
  for (const char* id : {"aside", "rewind"})
    EXPECT_EQ(find(id).why_not, "No step is looked at: click on one of the curves first.");
  looked_at = 1100;
  const Action aside = find("aside"), rewind = find("rewind");
  EXPECT_EQ(aside.title, "Compute step 1,100 aside");
  EXPECT_EQ(rewind.title, "Rewind the training to step 1,100");
  for (const Action& each : {aside, rewind}) {
    EXPECT_EQ(each.why_not, "");
    EXPECT_EQ(each.note, "computed again from step 1,024");
    each.run();
  }
  EXPECT_EQ(done, "aside 1100");
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(std::get<training::RewindTo>(sent.front()).step, 1100U);
  looked_at = 1000;
  EXPECT_EQ(find("aside").why_not, "No moment is kept from before that step.");
}

TEST_F(ActionsTest, PanelsAndLayoutsAreArranged) {
  EXPECT_EQ(find("panel.kernels").note, "now");
  EXPECT_EQ(find("panel.determinism").note, "closed");
  find("close.kernels").run();
  EXPECT_EQ(done, "close kernels");
  EXPECT_EQ(find("float.kernels").title, "Float Kernels");
  EXPECT_EQ(find("float.verify").title, "Dock Verify");
  find("float.verify").run();
  EXPECT_EQ(done, "float verify");
  for (const Action& action : all_actions(scene())) EXPECT_NE(action.id, "close.determinism");
  EXPECT_EQ(find("layout.train").note, "now");
  find("layout.talk").run();
  EXPECT_EQ(done, "use talk");
  find("layout.delete.talk").run();
  EXPECT_EQ(done, "delete talk");
  for (const Action& action : all_actions(scene())) EXPECT_NE(action.id, "layout.delete.train");
}

TEST_F(ActionsTest, OwnKernelsAreMadeLoadedAppliedAndForgotten) {
  training::UserKernels kernels;
  training::UserKernel& kernel = kernels.kernels.emplace_back();
  kernel.file = "my_relu.cpp";
  kernel.variant = "user:my_relu";
  training::KernelVersion version;
  version.number = 1;
  version.stage = training::KernelStage::ready;
  kernel.versions.push_back(std::make_shared<training::KernelVersion>(version));
  snapshot.user_kernels = std::make_shared<training::UserKernels>(kernels);
  find("own_kernels.new").run();
  EXPECT_EQ(done, "new kernel");
  find("own_kernels.load").run();
  EXPECT_EQ(done, "load a kernel");
  find("own_kernels.lesson").run();
  EXPECT_EQ(done, "lesson");
  EXPECT_NE(find("own_kernels.my_relu.leave").why_not, "") << "it does not run";
  for (const char* const what : {"apply", "forget", "apply_when_proved"}) {
    const Action action = find(std::string("own_kernels.my_relu.") + what);
    EXPECT_EQ(action.why_not, "");
    action.run();
  }
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(std::get<training::UseKernel>(sent[0]).version, 1);
  EXPECT_EQ(std::get<training::ForgetKernel>(sent[1]).file, "my_relu.cpp");
  EXPECT_TRUE(std::get<training::ApplyWhenProved>(sent[2]).on);
  snapshot.state = TrainerState::finished;
  EXPECT_NE(find("own_kernels.my_relu.apply").why_not, "");
}

TEST_F(ActionsTest, TermsAreExplained) {
  find("term.PSNR").run();
  EXPECT_EQ(done.substr(0, 6), "PSNR: ");
}

TEST_F(ActionsTest, ALayoutIsSavedByATypedName) {
  EXPECT_TRUE(typed_layout("lr 0.1", scene()).empty());
  EXPECT_TRUE(typed_layout(find("layout.save").fill, scene()).empty());
  const auto saved = typed_layout(find("layout.save").fill + "my talk ", scene());
  ASSERT_EQ(saved.size(), 1U);
  EXPECT_EQ(saved.front().why_not, "");
  saved.front().run();
  EXPECT_EQ(done, "save my talk");
  EXPECT_EQ(typed_layout("save layout train", scene()).front().why_not,
            "\"train\" is built in; give the layout another name.");
}

TEST_F(ActionsTest, PlotsAreAddedAndRemoved) {
  find("plot.add").run();
  EXPECT_EQ(plot.metrics, (std::vector{Metric::loss, Metric::gradient_norm}))
      << "what is not shown yet and has values";
  find("plot.remove").run();
  EXPECT_EQ(plot.metrics, std::vector{Metric::loss});
  EXPECT_EQ(find("plot.remove").why_not, "There is one plot, which stays.");
  plot.metrics.assign(kMostPlots, Metric::loss);
  EXPECT_EQ(find("plot.add").why_not, "There are 8 plots, the most there can be.");
}

TEST_F(ActionsTest, TheAxesOfTheCurvesAreChosen) {
  plot.metrics = {Metric::loss, Metric::learning_rate};
  find("plot.linear").run();
  EXPECT_FALSE(plot.logarithmic[0]);
  EXPECT_FALSE(plot.logarithmic[4]) << "those of all plots";
  find("plot.log_x").run();
  EXPECT_TRUE(plot.logarithmic_x);
  EXPECT_EQ(find("plot.log_x").note, "now");
  find("plot.linear_x").run();
  EXPECT_FALSE(plot.logarithmic_x);
}

TEST_F(ActionsTest, WhatTheCurvesShowIsCopied) {
  find("plot.copy").run();
  EXPECT_EQ(copied, 1);
}

TEST_F(ActionsTest, FeaturesAreJudgedAndTheirPanelIsShown) {
  find("judge_features").run();
  EXPECT_EQ(done, "judge");
  EXPECT_EQ(shown, "features");
  why_no_features = "These images have no classes.";
  EXPECT_EQ(find("judge_features").why_not, why_no_features);
}

TEST_F(ActionsTest, LatentsAreMappedByEachMethodAndTheirPanelIsShown) {
  find("map.umap").run();
  EXPECT_EQ(done, "map by umap");
  EXPECT_EQ(shown, "latent");
  EXPECT_EQ(find("map.tsne").title, "Map the latents by t-SNE");
  why_no_map = "The data are still being read.";
  EXPECT_EQ(find("map.tsne").why_not, why_no_map);
}

TEST_F(ActionsTest, AStepNeedsAPause) {
  EXPECT_EQ(find("step").why_not, "");
  snapshot.state = TrainerState::running;
  EXPECT_EQ(find("step").why_not, "The training runs: pause it for single steps.");
}

TEST_F(ActionsTest, AViewIsNotSteered) {
  why_no_steering = "This window shows the run of another process.";
  for (const char* id :
       {"start", "reset", "precision.fp32", "relu.forward=loops", "optimizer=sgd", "set.batch"}) {
    EXPECT_EQ(find(id).why_not, why_no_steering) << id;
  }
  EXPECT_EQ(typed("lr 0.001").why_not, why_no_steering);
  EXPECT_EQ(find("screenshot").why_not, "");
  EXPECT_EQ(find("plot.log").why_not, "");
}

TEST_F(ActionsTest, UndoTellsWhatItWouldUndo) {
  EXPECT_EQ(find("undo").why_not, "There is nothing to undo.");
  undoable = "batch: 4 -> 8";
  EXPECT_EQ(find("undo").why_not, "");
  EXPECT_EQ(find("undo").note, "batch: 4 -> 8");
  EXPECT_EQ(find("undo.setting").why_not, "Undo would not take the weights back.");
  only_setting = undoable;
  EXPECT_EQ(find("undo.setting").why_not, "");
  EXPECT_EQ(find("undo.setting").note, "batch: 4 -> 8");
}

TEST_F(ActionsTest, EveryVariantOfTheStepIsThereWithItsRefusal) {
  for (const ops::Variant* variant :
       ops::variants_of(*ops::built_in_variants(), ops::Op::relu_forward, core::DeviceKind::cpu)) {
    EXPECT_EQ(find("relu.forward=" + variant->name).title, "relu.forward: " + variant->name);
  }
  find("relu.forward=loops").run();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(std::get<training::Select>(sent[0]).selection.variants.at(ops::Op::relu_forward), "loops");
  EXPECT_EQ(find("relu.forward=automatic").note, "now");
  snapshot.selection.precision = core::Precision::tf32;
  EXPECT_EQ(find("relu.forward=loops").why_not.substr(0, 7), "Loops: ");
}

TEST_F(ActionsTest, EveryPresetAndPrecisionIsThere) {
  for (const plan::Preset& preset : plan::presets(core::DeviceKind::cpu)) {
    EXPECT_EQ(find(std::string("kernels=") + preset.id).title, std::string("Kernels: ") + preset.label);
  }
  EXPECT_EQ(find("precision.fp32").note, "now");
  EXPECT_NE(find("precision.fp16").why_not.find("fp16"), std::string::npos);
}

TEST_F(ActionsTest, TabsAreShownByNameAndCommandsShowTheirs) {
  find("panel.verify").run();
  EXPECT_EQ(shown, "verify");
  find("check_determinism").run();
  EXPECT_EQ(shown, "determinism");
  EXPECT_TRUE(std::holds_alternative<training::CheckDeterminism>(sent.at(0)));
  find("find_rate").run();
  EXPECT_EQ(shown_training, 1);
}

TEST_F(ActionsTest, TheNetworkIsEdited) {
  find("edit_network").run();
  EXPECT_EQ(done, "edit the network");
  find("open_network").run();
  EXPECT_EQ(done, "open a network");
}

TEST_F(ActionsTest, TheCurvesAreChanged) {
  plot.logarithmic[0] = false;
  find("plot.log").run();
  EXPECT_TRUE(plot.logarithmic[0]);
  EXPECT_EQ(find("plot.log").note, "now");
  EXPECT_EQ(find("plot.test").title, "Hide the test curve");
  find("plot.test").run();
  EXPECT_FALSE(plot.show_test);
  EXPECT_EQ(find("plot.test").title, "Show the test curve");
  find("plot.stay").run();
  EXPECT_FALSE(followed);
}

TEST_F(ActionsTest, ASettingIsTypedWithItsValue) {
  for (const char* query :
       {"lr 0.002", "LR 0.002", " learning rate 0.002 ", "--lr 0.002", "learning_rate=0.002"}) {
    EXPECT_EQ(set_by(query), tests::change("learning_rate", 0.002).settings) << query;
  }
  EXPECT_EQ(set_by("batch 32"), tests::change("batch", 32).settings);
  EXPECT_EQ(set_by("zscore 6"), tests::change("zscore", 6.0).settings);
  EXPECT_EQ(set_by("loss spike 5"), tests::change("zscore", 5.0).settings);
  EXPECT_EQ(set_by("micro-batches 2"), tests::change("accumulate", 2).settings);
  EXPECT_EQ(set_by("crop 4"), tests::change("crop", 4).settings);
  EXPECT_EQ(set_by("lr 0,02"), set_by("lr 0.02"));
  EXPECT_EQ(set_by("batch 1,024"), tests::change("batch", 1024).settings);
  EXPECT_EQ(set_by("flip on"), tests::change("flip", true).settings);
  EXPECT_EQ(set_by("clip norm 1"), tests::change("clip_norm", 1.0).settings);
  EXPECT_EQ(set_by("epochs 4"), tests::change("epochs", 4).settings);
  EXPECT_EQ(set_by("schedule step:every=5").text("schedule"), "step:every=5,factor=0.1");
  EXPECT_EQ(command_of<training::Select>("select relu.forward=loops").selection.variants.size(), 1U);
  const auto& now = snapshot.settings->optimizer;
  EXPECT_EQ(set_by("optimizer sgd"),
            tests::change(now, training::with_rule(now, ops::UpdateRule::sgd)).settings);
}

TEST_F(ActionsTest, WhatIsTypedIsRefusedByTheSettingsOwnRules) {
  EXPECT_EQ(typed("lr 0").why_not, "Learning rate must be above 0.");
  EXPECT_EQ(typed("lr 1,000").why_not, "1,000 may mean 1 or 1000: type the learning rate without the comma.");
  EXPECT_EQ(typed("lr fast").why_not, "Learning rate must be a number above 0.");
  EXPECT_EQ(typed("batch 0").why_not, "Batch must be a whole number from 1 to 65,536.");
  EXPECT_EQ(typed("batch 2.5").why_not, "Batch must be a whole number from 1 to 65,536.");
  EXPECT_EQ(typed("momentum 0.5").why_not, "The optimizer adam has no momentum.");
  EXPECT_EQ(typed("crop 17").why_not, "Crop must be a whole number from 0 to 16.");
  EXPECT_EQ(typed("seed 4").why_not, "\"seed\" can only be set when a training starts.");
  EXPECT_EQ(typed("device cpu").why_not, "\"device\" can only be set when a training starts.");
  EXPECT_NE(typed("optimizer ada").why_not.find("unknown optimizer 'ada'; valid: sgd"), std::string::npos);
  EXPECT_NE(typed("precision fp16").why_not.find("fp16"), std::string::npos);
  EXPECT_NE(typed("select nothing").why_not, "");
  EXPECT_TRUE(sent.empty());
}

TEST_F(ActionsTest, WhatIsNoSettingIsNone) {
  for (const char* query : {"", "lr", "lr ", "lrx 3", "reset now", "--"}) {
    EXPECT_TRUE(typed_settings(query, scene()).empty()) << query;
  }
}

TEST_F(ActionsTest, SettingsThatAreNowSoSendNothing) {
  const Action action = typed("batch 4");
  EXPECT_EQ(action.note, "now");
  action.run();
  EXPECT_TRUE(sent.empty());
}

TEST_F(ActionsTest, EachSettingThatIsListedCanBeTyped) {
  std::size_t listed = 0;
  for (const Action& action : all_actions(scene())) {
    if (action.fill.empty()) continue;
    ++listed;
    EXPECT_EQ(typed_settings(action.fill + "1", scene()).size(), 1U) << action.fill;
  }
  EXPECT_GT(listed, 8U);
}

}  // namespace
}  // namespace warpscope::ui::actions_test
