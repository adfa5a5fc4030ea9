// The command palette in the window, and undo and redo.

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "gpu/settings/setting.h"
#include "ui/frame/main_view.h"
#include "ui/frame/trace.h"
#include "ui/input/cursor.h"
#include "ui/palette/window_actions.h"
#include "ui/panels/curves/rewind_menu.h"
#include "ui/panels/start/tour_box.h"
#include "ui/settings/command_lines.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

constexpr const char* kEditOfNetwork = "an edit of the network, which is not applied";
constexpr const char* kOnlySetting = ", only the setting";

std::string taken_back_text(std::uint64_t step, const std::string& change) {
  return fmt::format("undone: back to step {}, before {}; what came after is kept as a branch",
                     with_thousands(step), change);
}

/// The first pause may only mean that it is not to train once it is there.
void stop_rewind(const Frame& frame) {
  frame.send(training::Pause{});
  frame.send(training::Pause{});
}

/// A change of settings that shape no weights, which a training takes after its end too.
bool is_of_limits(const training::Command& command) {
  const auto* const change = std::get_if<training::Change>(&command);
  return change != nullptr && std::ranges::none_of(training::settings(), [&](const training::Setting& row) {
           return row.shapes_weights && change->settings.has(row.name);
         });
}

bool takes_commands(const training::Snapshot& snapshot) {
  return snapshot.state == training::TrainerState::running ||
         snapshot.state == training::TrainerState::paused;
}

}  // namespace

std::uint64_t MainView::note_sent(const training::Command& command, const training::Snapshot& snapshot) {
  status_.log_command(command_line(command, snapshot, undo_.change_by(command, snapshot)),
                      std::holds_alternative<training::Observe>(command));
  return undo_.sent(command, snapshot, undoing_);
}

ViewChoices MainView::view_choices() const {
  const Settings now = settings();
  return {now.plot, now.images, now.docking, now.look};
}

void MainView::show(const ViewChoices& view) {
  if (view.plot.over != panels_.plot.over || view.plot.metrics != panels_.plot.metrics)
    panels_.loss.show_all();
  panels_.plot = view.plot;
  Docking docking = view.docking;
  keep_fronts(docking, dock_.docking);
  dock_.docking = std::move(docking);
  settings_.look = view.look;
  panels_.images.remember(view.images);
}

// After all that may change the view. What changes while a button is held, or as it is let go, is one gesture.
void MainView::watch_view() {
  if (ImGui::IsMouseClicked(0)) ++gesture_;
  const bool held = ImGui::IsMouseDown(0) || ImGui::IsMouseReleased(0);
  undo_.see(view_choices(), held ? gesture_ : 0);
}

/// The editor of the network, if it is open and has the edit that is taken back or made again next: one that is not
/// applied comes before what was changed of the training and the view.
NetworkEditor* MainView::editor_to_change_back(const training::Snapshot& snapshot, bool redo) {
  NetworkEditor* const editor = dock_.sees("network") ? panels_.network.open_editor() : nullptr;
  if (editor == nullptr) return nullptr;
  const bool first = redo ? editor->can_redo() && (undid_edit_ || undo_.redoable() == nullptr)
                          : editor->can_undo(undo_.coming_training(snapshot).network.get());
  return first ? editor : nullptr;
}

/// While the training is on its way back to before a change, what comes waits, and redo stops it.
void MainView::change_back(const Frame& frame, bool redo, bool only_setting) {
  if (undo_.on_the_way() && redo && frame.snapshot.rewind.running) return stop_rewind(frame);
  if (undo_.on_the_way()) return waiting_undos_.push_back(redo);
  NetworkEditor* const editor = editor_to_change_back(frame.snapshot, redo);
  if (!redo) undid_edit_ = editor != nullptr;
  if (editor != nullptr) {
    editor->change_back(redo);
    return tell(fmt::format("{}: {}", redo ? "redone" : "undone", kEditOfNetwork), training::LogLevel::info);
  }
  const Change* const next = redo ? undo_.redoable() : undo_.undoable();
  if (next == nullptr) {
    return tell(redo ? "there is nothing to redo" : "there is nothing to undo", training::LogLevel::info);
  }
  send_change_back(frame, redo, only_setting);
}

void MainView::send_change_back(const Frame& frame, bool redo, bool only_setting) {
  const training::Snapshot& snapshot = frame.snapshot;
  const auto command = redo ? undo_.command_to_redo(snapshot) : undo_.command_to_undo(snapshot, only_setting);
  const bool takes_back = command && std::holds_alternative<training::TakeBack>(*command);
  const bool returns = takes_back || (command && std::holds_alternative<training::ReturnTo>(*command));
  const bool finished =
      (returns || (command && is_of_limits(*command))) && snapshot.state == training::TrainerState::finished;
  if (command && !finished && !takes_commands(snapshot)) {
    return tell(why_it_stands(snapshot), training::LogLevel::info);
  }
  const std::optional<Change> change = redo ? undo_.redo() : undo_.undo();
  if (const auto* const view = std::get_if<ViewChoices>(&change->after)) show(*view);
  const std::string words = in_one_line(*change, snapshot.device);
  if (command) {
    way_back_ = {words, snapshot.training, change->after, snapshot.state == training::TrainerState::running};
    undoing_ = true;
    frame.send(*command);
    undoing_ = false;
  }
  if (takes_back) return;  // it is told once the training is there
  const bool of_setting = !is_of_view(change->after) && !std::holds_alternative<TrainingInUse>(change->after);
  const char* const more = only_setting && of_setting ? kOnlySetting : "";
  tell(fmt::format("{}: {}{}", redo ? "redone" : "undone", words, more), training::LogLevel::info,
       details_of(*change, snapshot.device));
}

/// Tells what has become of an undo that goes back with the weights, and does what has waited for it.
void MainView::follow_way_back(const Frame& frame) {
  if (notices_.take_offer()) {
    if (offered_ == Offer::only_setting) only_set_back(frame);
    if (offered_ == Offer::stop && frame.snapshot.rewind.running) stop_rewind(frame);
  }
  tell_rewind(frame);
  const auto become = undo_.take_return();
  if (become == Undo::Return::there) {
    const Change* const made = undo_.redoable();  // the one taken back, as it was made
    const std::string change = made != nullptr ? in_one_line(*made, frame.snapshot.device) : way_back_.change;
    tell(taken_back_text(frame.snapshot.step, change), training::LogLevel::info);
    notices_.offer("Only the setting", "Sets only that back: the training goes on from where it was");
    offered_ = Offer::only_setting;
  } else if (become == Undo::Return::refused) {
    const std::string why = frame.snapshot.notice;
    send_change_back(frame, false, true);
    tell(fmt::format("undone: {}{}: {}", way_back_.change, kOnlySetting, why), training::LogLevel::info);
  }
  while (!undo_.on_the_way() && !waiting_undos_.empty()) {
    const bool redo = waiting_undos_.front();
    waiting_undos_.pop_front();
    change_back(frame, redo);
  }
}

/// How far the steps are that are made again on the way back to one.
void MainView::tell_rewind(const Frame& frame) {
  const training::Rewind& rewind = frame.snapshot.rewind;
  if (rewind.running) {
    notices_.show(rewind_progress(rewind), training::LogLevel::info);
    notices_.offer("Stop", "The training stays where it was");
    offered_ = Offer::stop;
  } else if (told_rewind_) {
    notices_.show(fmt::format("the training is at step {}", with_thousands(frame.snapshot.step)),
                  training::LogLevel::info);
  }
  told_rewind_ = rewind.running;
}

/// The training is where it was before the undo that has gone back with the weights, and only what was changed is as
/// before.
void MainView::only_set_back(const Frame& frame) {
  const WayBack from = way_back_;
  if (undo_.redoable() != nullptr) {
    send_change_back(frame, true, false);
    send_change_back(frame, false, true);
  } else {  // something else was done since
    frame.send(training::ReturnTo{from.training});
    frame.send(*command_of(from.before));
  }
  if (from.ran) frame.send(training::Resume{});
}

// The frame it is made in outlives it.
ActionScene MainView::action_scene(const Frame& frame) {
  const auto& snapshot = frame.snapshot;
  const auto words = [&](const Change* change, bool redo) {
    if (editor_to_change_back(snapshot, redo) != nullptr) return std::string(kEditOfNetwork);
    return change == nullptr ? std::string() : in_one_line(*change, snapshot.device);
  };
  ActionScene scene{
      .snapshot = snapshot,
      .laboratory = &panels_.laboratory.state(),
      .selection = undo_.coming_selection(snapshot),
      .settings = undo_.coming_settings(snapshot),
      .why_no_steering = ui::why_no_steering(snapshot),
      .plot = panels_.plot,
      .seen = panels_.trainings.own().history.seen(),
      .follows = panels_.loss.follows(),
      .panels = {},
      .layouts = {},
      .training_tabs = TrainingPanel::tabs(),
      .training_tab = panels_.training.tab(),
      .step = frame.cursor == nullptr ? std::nullopt : frame.cursor->step,
      .undoable = words(undo_.undoable(), false),
      .only_setting = undo_.takes_weights_back(snapshot) ? words(undo_.undoable(), false) : "",
      .redoable = words(undo_.redoable(), true),
      .send = frame.send,
      .press = [this, &frame](const KeyPress& key) { press(frame, key, false, asked_); },
      .show_confusion =
          [this] {
            dock_.show("images");
            panels_.predictions.show_confusion();
          },
      .show_panel = [this](const std::string& id) { dock_.show(id); },
      .close_panel = [this](const std::string& id) { dock_.close(id); },
      .float_panel = [this](const std::string& id) { dock_.toggle_floating(id); },
      .use_layout = [this](const std::string& name) { use_layout(name); },
      .save_layout = [this](const std::string& name) { save_layout(name); },
      .delete_layout = [this](const std::string& name) { delete_layout(name); },
      .show_training_tab =
          [this](int tab) {
            dock_.show("training");
            panels_.training.show(tab);
          },
      .set_plot =
          [this](const PlotSettings& plot) {
            ViewChoices view = view_choices();
            view.plot = plot;
            show(view);
          },
      .look = settings_.look,
      .set_look = [this](const Look& look) { settings_.look = look; },
      .follow = [this](bool follows) { panels_.loss.follow(follows); },
      .copy_curves = [this] { panels_.loss.copy(); },
      .look_aside = [&frame](std::uint64_t step) { ui::look_aside(frame, step); },
      .take_tour = [this] { take_tour(); },
      .tell = [this](const std::string& text) { tell(text, training::LogLevel::info); },
      .judge_features = [this, &frame] { panels_.judging.judge(frame); },
      .why_no_features = panels_.judging.why_not(frame),
      .map_latents =
          [this, &frame](const std::string& method) {
            panels_.mapping.show(method);
            panels_.mapping.make(frame);
          },
      .edit_network =
          [this](bool file) {
            dock_.show("network");
            panels_.network.edit(file);
          },
      .why_no_map = panels_.mapping.why_not(frame),
      .unsaved = {},
      .challenges = {},
      .start_with = [this, &frame](const std::string& name,
                                   const std::string& text) { start_with(frame, name, text); },
  };
  add_panel_actions(scene);
  add_unsaved_actions(scene);
  add_challenge_actions(frame, scene);
  add_kernel_actions(frame, scene);
  return scene;
}

void MainView::offer(std::vector<runs::UnsavedTraining> unsaved) {
  unsaved_ = std::move(unsaved);
  if (!unsaved_.empty()) unsaved_row_.offer(unsaved_text(unsaved_.front(), std::time(nullptr)));
}

void MainView::add_unsaved_actions(ActionScene& scene) {
  for (const runs::UnsavedTraining& each : unsaved_) {
    scene.unsaved.push_back({unsaved_text(each, std::time(nullptr)), [this, each] { go_on_ = each; }});
  }
}

void MainView::add_panel_actions(ActionScene& scene) {
  for (const PanelRow& row : panel_table()) {
    scene.panels.push_back({.id = row.id,
                            .title = row.title,
                            .open = is_open(dock_.docking, row.id),
                            .seen = dock_.sees(row.id),
                            .floats = is_floating(dock_.docking, row.id)});
  }
  const std::string now = name_of_layout(dock_.docking, settings_.layouts);
  for (const LayoutRow& row : built_in_layouts()) scene.layouts.push_back({row.id, true, now == row.id});
  for (const SavedLayout& layout : settings_.layouts) {
    scene.layouts.push_back({layout.name, false, now == layout.name});
  }
}

void MainView::use_layout(const std::string& name) {
  if (const Docking* const layout = find_layout(name, settings_.layouts)) dock_.docking = *layout;
}

void MainView::save_layout(const std::string& name) {
  std::erase_if(settings_.layouts, [&](const SavedLayout& layout) { return layout.name == name; });
  settings_.layouts.push_back({name, dock_.docking});
  tell(fmt::format("layout saved as {}", name), training::LogLevel::info);
}

void MainView::delete_layout(const std::string& name) {
  std::erase_if(settings_.layouts, [&](const SavedLayout& layout) { return layout.name == name; });
  tell(fmt::format("layout {} deleted", name), training::LogLevel::info);
}

void MainView::draw_palette(const Frame& frame) {
  const auto list = [&] { return all_actions(action_scene(frame)); };
  const auto typed = [&](const std::string& query) {
    auto layout = typed_layout(query, action_scene(frame));
    return layout.empty() ? typed_settings(query, action_scene(frame)) : layout;
  };
  palette_.draw(frame, list, typed);
}

void MainView::draw_window_menu(const Frame& frame) {
  if (window_menu_.is_open()) window_menu_.draw(frame, window_actions(action_scene(frame)));
}

void MainView::draw_tour_stop(const Frame& frame, const Area& toolbar) {
  const TourStop* const stop = tour_.stop();
  if (stop != toured_) {
    toured_ = stop;
    trace_event("tour", fmt::format("\"stop\":{}", json_string(stop == nullptr ? "" : stop->title)));
    if (stop != nullptr && !stop->panel.empty()) dock_.show(stop->panel);
    return redraw_at(frame, ImGui::GetTime());  // with the panel in its place
  }
  if (stop == nullptr) return;
  OwnKernelsDesk& desk = panels_.own_kernels.desk();
  std::optional<LessonRow> lesson;
  if (!stop->example.empty()) lesson = lesson_row(tour_.stops(), stop->example, frame.snapshot, desk.busy());
  const std::string example = stop->example;
  const Area about = dock_.area_of(stop->panel).value_or(toolbar);
  if (draw_tour(frame, tour_, about, lesson ? &*lesson : nullptr)) desk.make_example(example);
}

void MainView::take_lesson(const Frame& frame) {
  std::vector<TourStop> stops =
      lesson_stops(panels_.own_kernels.desk().services().lesson, frame.snapshot.device);
  if (!stops.empty()) tour_.start(std::move(stops));
}

}  // namespace warpscope::ui
