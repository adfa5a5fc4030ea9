#pragma once
// What the command palette offers: the window's keys, the trainer's commands, variants, settings, tabs and what the
// curves show, each from the table that has it. No drawing here.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/jobs/laboratory.h"
#include "gpu/messages/commands.h"
#include "gpu/messages/snapshot.h"
#include "ui/input/keys.h"
#include "ui/panels/curves/loss_metrics.h"
#include "ui/settings/settings.h"

namespace warpscope::ui {

struct Action {
  std::string id;         ///< unique: "conv2d.forward=hopper"
  std::string title;      ///< what is searched: "conv2d.forward: hopper"
  std::string group;      ///< "Kernels"
  std::string keys{};     ///< "Ctrl Q"; "" if it has none
  std::string note{};     ///< how it stands: "now", the present value; "" if there is nothing to say
  std::string why_not{};  ///< why it cannot be done, in one sentence; "" if it can
  std::string fill{};  ///< what to type on from, in place of doing anything: "lr "; "" if it is done at once
  std::function<void()> run{};
};

struct PanelChoice {
  std::string id, title;
  bool open = false;
  bool seen = false;  ///< and not behind another tab
  bool floats = false;
};

struct LayoutChoice {
  std::string name;
  bool built_in = true;
  bool now = false;
};

/// A training that nobody recorded and that can be gone on with.
struct UnsavedChoice {
  std::string text;  ///< "the training of 14:32: autoencoder, step 12,345"
  std::function<void()> go_on;
};

/// A challenge (ui/panels/start/challenge_rows.h).
struct ChallengeChoice {
  std::string title;
  std::string why_not;  ///< "" if it can begin
  std::function<void()> begin;
};

/// What is done with files of kernels (ui/panels/kernels/own_kernels_panel.h).
struct OwnKernelChoices {
  std::string why_no_loading = {}, why_no_new = {};  ///< "" where it can be done
  std::function<void()> make = {}, load = {};        ///< a form for a new one; a list of files to choose from
  std::function<void()> learn = {};                  ///< the lesson
};

/// What actions depend on, and what they do things with.
struct ActionScene {
  const training::Snapshot& snapshot;
  const jobs::LaboratoryState* laboratory = nullptr;  ///< nullptr where nothing is measured
  plan::Selection selection;                          ///< once the trainer has taken all that was sent
  training::TrainingSettings settings;                ///< the same
  std::string why_no_steering;                        ///< of a window that only shows a run; "" if it steers
  PlotSettings plot;
  MetricsSeen seen{};
  bool follows = false;  ///< the curves follow the newest step
  std::vector<PanelChoice> panels;
  std::vector<LayoutChoice> layouts;
  std::span<const char* const> training_tabs;
  int training_tab = 0;
  std::optional<std::uint64_t> step = {};  ///< that is looked at; nothing: the newest
  std::string undoable;                    ///< what undo would change; "" for nothing
  std::string only_setting = {};  ///< what of it undo could change without the weights; "" for nothing
  std::string redoable;           ///< what redo would change; "" for nothing
  std::function<void(training::Command)> send;
  std::function<void(const KeyPress&)> press;
  std::function<void()> show_confusion;
  std::function<void(const std::string&)> show_panel, close_panel,
      float_panel;  ///< by id; the last one docks as well
  std::function<void(const std::string&)> use_layout, save_layout, delete_layout;  ///< by name
  std::function<void(int)> show_training_tab;
  std::function<void(const PlotSettings&)> set_plot;
  Look look;
  std::function<void(const Look&)> set_look;
  std::function<void(bool)> follow;
  std::function<void()> copy_curves;                        ///< as CSV
  std::function<void(std::uint64_t step)> look_aside = {};  ///< pins that step and has it computed aside
  std::function<void()> take_tour;
  std::function<void(const std::string&)> tell;  ///< says a sentence
  std::function<void()> judge_features = {};     ///< with the weights of this moment
  std::string why_no_features = {};              ///< why that cannot be; "" if it can
  std::function<void(const std::string&)> map_latents =
      {};  ///< by a method of maps::map_table(), with the weights of this moment
  std::function<void(bool file)> edit_network = {};  ///< as a form; `file`: the name of one to open is typed
  std::string why_no_map = {};                       ///< why that cannot be; "" if it can
  std::vector<UnsavedChoice> unsaved = {};           ///< the newest first
  std::vector<ChallengeChoice> challenges = {};
  OwnKernelChoices own_kernels = {};
  /// Sets up a new training with a setting, by its name, that a running one does not take.
  std::function<void(const std::string& name, const std::string& text)> start_with = {};
};

/// All of them, in the order of their tables.
std::vector<Action> all_actions(const ActionScene& scene);

/// What a typed setting means: "lr 0.001", "batch 32", "--precision bf16", "select conv2d.forward=naive". Its value is
/// held against the setting's own rules, and its refusal is the setting's. Nothing if `query` does not begin with
/// the name, label or option of a setting with something behind it.
std::vector<Action> typed_settings(std::string_view query, const ActionScene& scene);

}  // namespace warpscope::ui
