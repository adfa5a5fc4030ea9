#include "ui/settings/command_lines.h"

#include <cctype>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/plan/presets.h"
#include "tests/support/changes.h"
#include "ui/settings/undo.h"

namespace warpscope::ui::command_lines_test {
namespace {

using training::Command;

template <std::size_t... Indices>
std::vector<Command> one_of_each(std::index_sequence<Indices...>) {
  return {Command(std::in_place_index<Indices>)...};
}

std::string line_of(const Command& command, const training::Snapshot& snapshot = {}) {
  return command_line(command, snapshot, Undo().change_by(command, snapshot));
}

TEST(CommandLines, NoCommandIsSilent) {
  std::set<std::string> lines;
  for (const Command& command : one_of_each(std::make_index_sequence<std::variant_size_v<Command>>())) {
    const std::string line = line_of(command);
    EXPECT_TRUE(line.starts_with("--") || std::isupper(static_cast<unsigned char>(line.front())) != 0)
        << command.index() << ": " << line;
    EXPECT_EQ(line.find('#'), std::string::npos) << line << " is no comment of a shell";
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_GE(line.size(), 5U) << line;
    EXPECT_TRUE(lines.insert(line).second) << line << " stands for two commands";
  }
}

TEST(CommandLines, APresetIsNamedNotItsOps) {
  training::Snapshot snapshot;
  snapshot.device = core::open_device("cpu")->info();
  const auto preset = plan::preset_selection("loops", snapshot.device, snapshot.selection.precision);
  EXPECT_EQ(line_of(training::Select{preset}, snapshot), "--select preset=loops");
}

TEST(CommandLines, SettingsAreTheOptionsThatSetThem) {
  training::Snapshot snapshot;
  tests::settings_of(snapshot).batch = 4;
  tests::settings_of(snapshot).optimizer.learning_rate = 0.5f;
  plan::Selection selection;
  selection.precision = core::Precision::bf16;
  selection.variants[ops::Op::conv2d_forward] = "hopper";
  EXPECT_EQ(line_of(tests::change("batch", 8), snapshot), "--batch 8");
  EXPECT_EQ(line_of(training::Select{selection}, snapshot),
            "--precision bf16 --select conv2d.forward=hopper");
  EXPECT_EQ(line_of(tests::change("learning_rate", 0.25), snapshot), "--lr 0.25");
  EXPECT_EQ(line_of(tests::change("momentum", 0.25), snapshot), "--momentum 0.25");
  EXPECT_EQ(line_of(tests::change("zscore", 4.0), snapshot), "--zscore 4.0");
  training::Change augment = tests::change("flip", true);
  augment.settings.set("jitter", 0.5);
  EXPECT_EQ(line_of(augment, snapshot), "--flip --jitter 0.5");
  EXPECT_EQ(line_of(tests::change("schedule", "cosine"), snapshot), "--schedule cosine:warmup=0,final=0");
  EXPECT_EQ(line_of(tests::change("batch", 4), snapshot), "Settings as before");
}

TEST(CommandLines, ANetworkIsToldByItsLayers) {
  training::Snapshot snapshot;
  snapshot.network = std::make_shared<const models::Model>(models::find_model("mlp"));
  models::Model edited = *snapshot.network;
  EXPECT_EQ(line_of(training::SetNetwork{edited}, snapshot), "Network as before");
  edited.layers[1] = {models::LayerKind::gelu, "gelu1"};
  EXPECT_EQ(line_of(training::SetNetwork{edited}, snapshot), "Network: without relu1, with gelu1");
  edited.layers.insert(edited.layers.end(), 4, edited.layers[1]);
  for (std::size_t i = 5; i < edited.layers.size(); ++i) edited.layers[i].name += std::to_string(i);
  EXPECT_EQ(line_of(training::SetNetwork{edited}, snapshot), "Network: 6 of its layers");
}

TEST(CommandLines, OthersSayWhatTheyDoAsAComment) {
  training::Snapshot snapshot;
  tests::settings_of(snapshot).optimizer.learning_rate = 0.5f;
  training::Snapshot diverged = snapshot;
  diverged.divergence.back_rate = 0.25f;
  EXPECT_EQ(line_of(training::RollBack{}, diverged), "Back to earlier weights, with --lr 0.25");
  EXPECT_EQ(line_of(training::FindRate{{.low = 1e-6, .high = 1, .steps = 50}}),
            "Find a learning rate: 50 steps from 1e-06 to 1");
  EXPECT_EQ(line_of(training::Save{"w.safetensors"}), "--save w.safetensors");
  EXPECT_EQ(line_of(training::Save{"it's mine"}), "--save 'it'\\''s mine'");
}

TEST(CommandLines, WhatViewsLookAtIsNamed) {
  training::ObservationRequest request;
  EXPECT_EQ(line_of(training::Observe{request}), "Stop looking into the training");
  request.inspected_image = 2;
  request.distributions = true;
  EXPECT_EQ(line_of(training::Observe{request}), "Look at the layers for test image 3, the distributions");
  request = {};
  request.latents.map = true;
  request.latents.pictures.resize(5);
  EXPECT_EQ(line_of(training::Observe{request}), "Look at the latents and 5 decoded from them");
  request = {};
  request.weights = 1;
  request.feature_probe = true;
  EXPECT_EQ(line_of(training::Observe{request}),
            "Look at a copy of the weights, what the features are worth");
  request = {};
  request.comparison.emplace();
  request.comparison->reconstructors.resize(1);
  request.comparison->count = 32;
  EXPECT_EQ(line_of(training::Observe{request}), "Look at 32 images made by 1 other network");
}

TEST(CommandLines, ASecondChangeStartsFromTheOneOnItsWay) {
  training::Snapshot snapshot;
  tests::settings_of(snapshot).batch = 4;
  Undo undo;
  undo.sent(tests::change("batch", 8), snapshot);
  const Command again = tests::change("batch", 8);
  EXPECT_EQ(command_line(again, snapshot, undo.change_by(again, snapshot)), "Settings as before");
}

}  // namespace
}  // namespace warpscope::ui::command_lines_test
