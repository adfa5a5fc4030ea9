#include "ui/palette/actions.h"

#include <algorithm>
#include <array>
#include <utility>

#include <GLFW/glfw3.h>
#include <fmt/format.h>

#include "gpu/maps/map.h"
#include "gpu/ops/optimizer/update_rule.h"
#include "gpu/plan/presets.h"
#include "ui/palette/setting_actions.h"
#include "ui/palette/window_actions.h"
#include "ui/panels/curves/rewind_menu.h"
#include "ui/panels/kernels/kernel_cells.h"
#include "ui/panels/kernels/own_kernels_rows.h"
#include "ui/panels/menu_choices.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::TrainerState;

constexpr const char* kNow = "now";

// --- the window's keys

std::string always(const ActionScene&) {
  return {};
}

std::string why_no_start(const ActionScene& scene) {
  return why_no_setting(scene);
}

std::string why_no_step(const ActionScene& scene) {
  if (scene.snapshot.state == TrainerState::running) return "The training runs: pause it for single steps.";
  return why_no_setting(scene);
}

std::string why_no_reset(const ActionScene& scene) {
  if (!scene.why_no_steering.empty()) return scene.why_no_steering;
  const TrainerState state = scene.snapshot.state;
  if (state == TrainerState::preparing) return "The training is still being prepared.";
  return state == TrainerState::failed ? "The training has failed; start the program again." : "";
}

// A view of a run makes the step from a checkpoint.
std::string why_no_determinism(const ActionScene& scene) {
  return scene.snapshot.revival ? why_no_look(scene.snapshot, "") : why_no_reset(scene);
}

std::string why_no_undo(const ActionScene& scene) {
  return scene.undoable.empty() ? "There is nothing to undo." : "";
}

std::string why_no_redo(const ActionScene& scene) {
  return scene.redoable.empty() ? "There is nothing to redo." : "";
}

std::string undo_note(const ActionScene& scene) {
  return scene.undoable;
}

std::string redo_note(const ActionScene& scene) {
  return scene.redoable;
}

std::string why_no_setting_back(const ActionScene& scene) {
  return scene.only_setting.empty() ? "Undo would not take the weights back." : "";
}

std::string setting_back_note(const ActionScene& scene) {
  return scene.only_setting;
}

struct KeyAction {
  const char* id;
  const char* title;
  const char* group;
  const char* keys;
  KeyPress press;
  std::string (*why_not)(const ActionScene&) = always;
  std::string (*note)(const ActionScene&) = always;
};

// A row does what its key does.
constexpr std::array kKeyActions{
    KeyAction{"start", "Start or pause", "Training", "Space", {.key = GLFW_KEY_SPACE}, why_no_start},
    KeyAction{"step", "One step", "Training", "Right", {.key = GLFW_KEY_RIGHT}, why_no_step},
    KeyAction{"reset", "Reset: first weights, step 0", "Training", "R", {.letter = 'r'}, why_no_reset},
    KeyAction{"undo", "Undo", "Edit", "Ctrl Z", {.letter = 'z', .control = true}, why_no_undo, undo_note},
    KeyAction{"undo.setting",
              "Undo only the setting: the weights stay",
              "Edit",
              "Ctrl Alt Z",
              {.letter = 'z', .control = true, .alt = true},
              why_no_setting_back,
              setting_back_note},
    KeyAction{"redo", "Redo", "Edit", "Ctrl Y", {.letter = 'y', .control = true}, why_no_redo, redo_note},
    KeyAction{
        "large", "The panel clicked on last over the whole window, and back", "Window", "L", {.letter = 'l'}},
    KeyAction{"runs", "Earlier runs, to show with the curves", "Curves", "E", {.letter = 'e'}},
    KeyAction{"images.enlarge", "Enlarge the chosen image, and back", "Images", "I", {.letter = 'i'}},
    KeyAction{"plot.png", "Save the plots as PNG", "Curves", "P", {.letter = 'p'}},
    KeyAction{"plot.svg", "Save the plots as SVG", "Curves", "V", {.letter = 'v'}},
    KeyAction{"screenshot", "Screenshot into a PNG file", "Window", "F12", {.key = GLFW_KEY_F12}},
    KeyAction{"help", "Help: keys, mouse, panels", "Window", "F1", {.key = GLFW_KEY_F1}},
    KeyAction{"quit", "Quit", "Window", "Ctrl Q", {.letter = 'q', .control = true}},
};

void add_keys(const ActionScene& scene, std::vector<Action>& actions) {
  for (const KeyAction& row : kKeyActions) {
    actions.push_back({.id = row.id,
                       .title = row.title,
                       .group = row.group,
                       .keys = row.keys,
                       .note = row.note(scene),
                       .why_not = row.why_not(scene),
                       .run = [press = scene.press, key = row.press] { press(key); }});
  }
}

// --- commands without a key

std::string why_no_checkpoint(const ActionScene& scene) {
  if (const std::string why = why_no_saving(scene.snapshot); !why.empty()) return why;
  if (scene.snapshot.run_dir.empty()) return "No run is written: there is no folder for checkpoints.";
  return why_no_setting(scene);
}

std::string why_no_settings_file(const ActionScene& scene) {
  const std::string why = why_no_saving(scene.snapshot);
  return why.empty() ? why_no_reset(scene) : why;
}

struct CommandAction {
  const char* id;
  const char* title;
  training::Command (*command)();
  std::string (*why_not)(const ActionScene&);
  const char* shows;           ///< the id of a panel; "" for none
  const char* shows_training;  ///< a tab of the training panel
};

constexpr std::array kCommandActions{
    CommandAction{"save_checkpoint", "Save a checkpoint",
                  [] { return training::Command{training::SaveCheckpoint{}}; }, why_no_checkpoint, "", ""},
    CommandAction{"save_settings", "Save the settings as a TOML file",
                  [] { return training::Command{training::SaveSettings{}}; }, why_no_settings_file, "", ""},
    CommandAction{"check_determinism", "Check determinism: the next step twice, bits compared",
                  [] { return training::Command{training::CheckDeterminism{}}; }, why_no_determinism,
                  "determinism", ""},
    CommandAction{"find_rate", "Find a learning rate", [] { return training::Command{training::FindRate{}}; },
                  why_no_setting, "training", "Finder"},
};

int place_of(std::span<const char* const> tabs, std::string_view title) {
  const auto found = std::find(tabs.begin(), tabs.end(), title);
  return found == tabs.end() ? -1 : static_cast<int>(found - tabs.begin());
}

void add_commands(const ActionScene& scene, std::vector<Action>& actions) {
  for (const CommandAction& row : kCommandActions) {
    const int training_tab = place_of(scene.training_tabs, row.shows_training);
    const auto run = [scene_send = scene.send, show = scene.show_panel,
                      show_training = scene.show_training_tab, command = row.command,
                      panel = std::string(row.shows), training_tab] {
      scene_send(command());
      if (!panel.empty()) show(panel);
      if (training_tab >= 0) show_training(training_tab);
    };
    actions.push_back(
        {.id = row.id, .title = row.title, .group = "Training", .why_not = row.why_not(scene), .run = run});
  }
}

/// What is done with the step that is looked at: that step again aside, or the training's own way back to it.
void add_looked_at(const ActionScene& scene, std::vector<Action>& actions) {
  const std::uint64_t step = scene.step.value_or(0);
  const auto add = [&](std::string id, std::string title, std::string why_not, std::function<void()> run) {
    if (!scene.step) why_not = "No step is looked at: click on one of the curves first.";
    actions.push_back({.id = std::move(id),
                       .title = std::move(title),
                       .group = "Training",
                       .note = scene.step ? rewind_note(scene.snapshot, step) : "",
                       .why_not = std::move(why_not),
                       .run = std::move(run)});
  };
  add("rewind", scene.step ? rewind_title(step) : "Rewind the training to the step that is looked at",
      why_no_rewind(scene.snapshot, step), [send = scene.send, step] { send(training::RewindTo{step}); });
  add("aside", scene.step ? aside_title(step) : "Compute the step that is looked at aside",
      why_no_aside(scene.snapshot, step), [look = scene.look_aside, step] { look(step); });
}

void add_unsaved(const ActionScene& scene, std::vector<Action>& actions) {
  for (std::size_t i = 0; i < scene.unsaved.size(); ++i) {
    actions.push_back({.id = fmt::format("unsaved.{}", i),
                       .title = "Go on with " + scene.unsaved[i].text,
                       .group = "Training",
                       .run = scene.unsaved[i].go_on});
  }
}

void add_challenges(const ActionScene& scene, std::vector<Action>& actions) {
  for (std::size_t i = 0; i < scene.challenges.size(); ++i) {
    const ChallengeChoice& challenge = scene.challenges[i];
    actions.push_back({.id = fmt::format("challenge.{}", i),
                       .title = "Challenge: " + challenge.title,
                       .group = "Training",
                       .why_not = challenge.why_not,
                       .run = challenge.begin});
  }
}

Action judge_action(const ActionScene& scene) {
  return {.id = "judge_features",
          .title = "Judge the features: what they are worth to a classifier",
          .group = "Features",
          .why_not = scene.why_no_features,
          .run = [judge = scene.judge_features, show = scene.show_panel] {
            judge();
            show("features");
          }};
}

void add_maps(const ActionScene& scene, std::vector<Action>& actions) {
  for (const maps::MapKind& kind : maps::map_table()) {
    actions.push_back({.id = fmt::format("map.{}", kind.name),
                       .title = fmt::format("Map the latents by {}", kind.title),
                       .group = "Features",
                       .why_not = scene.why_no_map,
                       .run = [map = scene.map_latents, show = scene.show_panel, name = kind.name] {
                         map(std::string(name));
                         show("latent");
                       }});
  }
}

// --- what is shown

void add_training_tabs(const ActionScene& scene, std::vector<Action>& actions) {
  for (std::size_t i = 0; i < scene.training_tabs.size(); ++i) {
    const int tab = static_cast<int>(i);
    actions.push_back({.id = fmt::format("training_tab.{}", scene.training_tabs[i]),
                       .title = fmt::format("Show {}", scene.training_tabs[i]),
                       .group = "Panels",
                       .note = tab == scene.training_tab ? kNow : "",
                       .run = [show = scene.show_training_tab, tab] { show(tab); }});
  }
}

struct PlotChoice {
  const char* id;
  const char* title;
  void (*set)(PlotSettings&);
};

void set_logarithmic(PlotSettings& plot, bool logarithmic) {
  for (const Metric metric : plot.metrics) plot.logarithmic[static_cast<std::size_t>(metric)] = logarithmic;
}

constexpr std::array kPlotChoices{
    PlotChoice{"plot.log", "Logarithmic value axes", [](PlotSettings& p) { set_logarithmic(p, true); }},
    PlotChoice{"plot.linear", "Linear value axes", [](PlotSettings& p) { set_logarithmic(p, false); }},
    PlotChoice{"plot.log_x", "Logarithmic axis of steps, epochs or time",
               [](PlotSettings& p) { p.logarithmic_x = true; }},
    PlotChoice{"plot.linear_x", "Linear axis of steps, epochs or time",
               [](PlotSettings& p) { p.logarithmic_x = false; }},
    PlotChoice{"plot.steps", "Curves over steps", [](PlotSettings& p) { p.over = 0; }},
    PlotChoice{"plot.epochs", "Curves over epochs", [](PlotSettings& p) { p.over = 1; }},
    PlotChoice{"plot.time", "Curves over time", [](PlotSettings& p) { p.over = 2; }},
    PlotChoice{"plot.raw", "No smoothing", [](PlotSettings& p) { p.smoothing_steps = 1; }},
};

struct PlotSwitch {
  const char* id;
  const char* title;
  bool PlotSettings::*shown;
};

constexpr std::array kPlotSwitches{
    PlotSwitch{"plot.train", "training curve", &PlotSettings::show_train},
    PlotSwitch{"plot.test", "test curve", &PlotSettings::show_test},
    PlotSwitch{"plot.validation", "validation curve", &PlotSettings::show_validation},
    PlotSwitch{"plot.before", "curve before the reset", &PlotSettings::show_before},
};

Action curves_action(std::string id, std::string title, std::function<void()> run) {
  return {.id = std::move(id), .title = std::move(title), .group = "Curves", .run = std::move(run)};
}

std::function<void()> set_plot(const ActionScene& scene, const PlotSettings& changed) {
  return [to = scene.set_plot, changed] { to(changed); };
}

// Which plots there are, and of what.
void add_plots(const ActionScene& scene, std::vector<Action>& actions) {
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const MetricFacts& facts = facts_of(static_cast<Metric>(i));
    const char letter = static_cast<char>('1' + i);
    Action action = curves_action(fmt::format("metric.{}", facts.key), fmt::format("Curves: {}", facts.label),
                                  [press = scene.press, letter] { press({.letter = letter}); });
    if (letter <= '9') action.keys = std::string(1, letter);
    action.note = scene.plot.metrics.front() == facts.metric ? kNow : "";
    action.why_not = why_missing(facts.metric, scene.snapshot, scene.seen);
    actions.push_back(std::move(action));
  }
  PlotSettings more = scene.plot, fewer = scene.plot;
  more.metrics.push_back(metric_for_another(more.metrics, scene.snapshot, scene.seen));
  Action add = curves_action("plot.add", "Add a plot of another metric", set_plot(scene, more));
  if (scene.plot.metrics.size() >= kMostPlots)
    add.why_not = fmt::format("There are {} plots, the most there can be.", kMostPlots);
  actions.push_back(std::move(add));
  fewer.metrics.pop_back();
  Action remove = curves_action("plot.remove", "Remove the last plot", set_plot(scene, fewer));
  if (fewer.metrics.empty()) remove.why_not = "There is one plot, which stays.";
  actions.push_back(std::move(remove));
  Action copy = curves_action("plot.copy", "Copy what the curves show as CSV", scene.copy_curves);
  copy.keys = "Ctrl C";
  actions.push_back(std::move(copy));
}

void add_plot_choices(const ActionScene& scene, std::vector<Action>& actions) {
  const auto add = [&](const char* id, std::string title, bool now, std::function<void()> run) {
    actions.push_back(curves_action(id, std::move(title), std::move(run)));
    actions.back().note = now ? kNow : "";
  };
  for (const PlotChoice& choice : kPlotChoices) {
    PlotSettings changed = scene.plot;
    choice.set(changed);
    add(choice.id, choice.title, changed == scene.plot, set_plot(scene, changed));
  }
  for (const PlotSwitch& row : kPlotSwitches) {
    PlotSettings changed = scene.plot;
    changed.*row.shown = !(changed.*row.shown);
    add(row.id, fmt::format("{} the {}", scene.plot.*row.shown ? "Hide" : "Show", row.title), false,
        set_plot(scene, changed));
  }
  add("plot.follow", "Follow the newest step", scene.follows, [follow = scene.follow] { follow(true); });
  add("plot.stay", "Stop following the newest step", !scene.follows,
      [follow = scene.follow] { follow(false); });
}

// --- the network

void add_network(const ActionScene& scene, std::vector<Action>& actions) {
  const auto add = [&](const char* id, const char* title, bool file) {
    actions.push_back(
        {.id = id, .title = title, .group = "Network", .run = [edit = scene.edit_network, file] {
           edit(file);
         }});
  };
  add("edit_network", "Edit the network", false);
  add("open_network", "Open a network file", true);
}

// --- kernels

void add_select(const ActionScene& scene, std::string id, std::string title, std::string why_not,
                const plan::Selection& selection, std::vector<Action>& actions) {
  const bool now = why_not.empty() && selection == scene.selection;
  actions.push_back({.id = std::move(id),
                     .title = std::move(title),
                     .group = "Kernels",
                     .note = now ? kNow : "",
                     .why_not = std::move(why_not),
                     .run = [send = scene.send, selection] { send(training::Select{selection}); }});
}

void add_precisions(const ActionScene& scene, const std::string& refusal, std::vector<Action>& actions) {
  const plan::Machine machine = machine_of(scene.snapshot);
  for (const core::Precision precision : core::selectable_precisions()) {
    const std::string name(core::to_string(precision));
    std::string why_not = refusal;
    if (why_not.empty()) why_not = refusal_of([&] { plan::check_precision(machine, precision); });
    const plan::Selection selection =
        why_not.empty() ? plan::with_precision(scene.selection, precision, machine) : plan::Selection();
    add_select(scene, "precision." + name, "Precision: " + name, why_not, selection, actions);
  }
}

void add_presets(const ActionScene& scene, const std::string& refusal, std::vector<Action>& actions) {
  const plan::Machine machine = machine_of(scene.snapshot);
  const core::Precision precision = scene.selection.precision;
  add_select(scene, "kernels=automatic", "Kernels: automatic", refusal, plan::Selection{precision, {}},
             actions);
  if (scene.laboratory != nullptr) {
    std::string why_not = refusal;
    if (why_not.empty()) why_not = sentence(fastest_here_refusal(*scene.laboratory, scene.snapshot));
    const plan::Selection selection =
        why_not.empty() ? advice_of(*scene.laboratory, scene.snapshot.selection.precision)->best
                        : plan::Selection();
    add_select(scene, "kernels=fastest_here", "Kernels: fastest here", why_not, selection, actions);
  }
  for (const plan::Preset& preset : plan::presets(machine.device.kind)) {
    std::string why_not = refusal;
    if (why_not.empty()) {
      why_not = sentence(plan::preset_unavailable_reason(preset.id, machine, precision));
    }
    const plan::Selection selection =
        why_not.empty() ? plan::preset_selection(preset.id, machine, precision) : plan::Selection();
    add_select(scene, fmt::format("kernels={}", preset.id), fmt::format("Kernels: {}", preset.label), why_not,
               selection, actions);
  }
}

void add_own_kernels(const ActionScene& scene, std::vector<Action>& actions) {
  const OwnKernelChoices& own = scene.own_kernels;
  const auto add = [&](std::string id, std::string title, std::string why_not, std::function<void()> run) {
    actions.push_back({.id = std::move(id),
                       .title = std::move(title),
                       .group = "Kernels",
                       .why_not = std::move(why_not),
                       .run = std::move(run)});
  };
  add("own_kernels.new", "New kernel of your own...", own.why_no_new, own.make);
  add("own_kernels.load", "Load a kernel of your own...", own.why_no_loading, own.load);
  add("own_kernels.lesson", "Take the lesson on kernels", own.why_no_new, own.learn);
  const std::string refusal = why_no_own_kernels(scene.snapshot);
  for (const training::UserKernel& kernel : scene.snapshot.user_kernels->kernels) {
    const std::string name(short_name(kernel));
    const auto send = [&](const training::Command& command) {
      return [to = scene.send, command] { to(command); };
    };
    for (const KernelChoice& choice : choices_of(kernel, kernel.newest())) {
      add(fmt::format("own_kernels.{}.{}", name, choice.id),
          fmt::format("Own kernel {}: {}", name, choice.label), refusal.empty() ? choice.why_not : refusal,
          send(choice.command));
    }
    const bool applies = kernel.apply_when_proved;
    add(fmt::format("own_kernels.{}.apply_when_proved", name),
        fmt::format("Own kernel {}: {} when proved", name, applies ? "do not apply" : "apply"), refusal,
        send(training::ApplyWhenProved{kernel.file, !applies}));
  }
}

void add_variants(const ActionScene& scene, const std::string& refusal, std::vector<Action>& actions) {
  const plan::Machine machine = machine_of(scene.snapshot);
  for (const KernelRow& row : kernel_rows(scene.snapshot.timings)) {
    const std::string op(ops::to_string(row.op));
    const auto add = [&](std::string_view name, std::string why_not) {
      if (!refusal.empty()) why_not = refusal;
      add_select(scene, fmt::format("{}={}", op, name), fmt::format("{}: {}", op, name), std::move(why_not),
                 with_variant(scene.selection, row.op, name), actions);
    };
    add(plan::kAutomatic, "");
    for (const ops::Variant* variant : ops::variants_of(machine.variants, row.op, machine.device.kind)) {
      const std::string why_not =
          variant_refusal(*variant, machine.device, scene.selection.precision, row.layers);
      add(variant->name, why_not.empty() ? "" : sentence(fmt::format("{}: {}", variant->name, why_not)));
    }
  }
}

}  // namespace

std::vector<Action> all_actions(const ActionScene& scene) {
  std::vector<Action> actions;
  add_keys(scene, actions);
  add_commands(scene, actions);
  add_looked_at(scene, actions);
  add_unsaved(scene, actions);
  add_challenges(scene, actions);
  actions.push_back(judge_action(scene));
  add_maps(scene, actions);
  add_training_tabs(scene, actions);
  add_network(scene, actions);
  for (Action& action : window_actions(scene)) actions.push_back(std::move(action));
  for (Action& action : arranging_actions(scene)) actions.push_back(std::move(action));
  add_plots(scene, actions);
  add_plot_choices(scene, actions);
  const std::string refusal = why_no_setting(scene);
  add_settings(scene, actions);
  add_precisions(scene, refusal, actions);
  add_presets(scene, refusal, actions);
  add_variants(scene, refusal, actions);
  add_own_kernels(scene, actions);
  for (Action& action : term_actions(scene)) actions.push_back(std::move(action));
  return actions;
}

}  // namespace warpscope::ui
