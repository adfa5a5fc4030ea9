// The command palette in the window, and undo and redo.

#include <utility>

#include <fmt/format.h>

#include "ui/main_view.h"
#include "ui/palette/window_actions.h"
#include "ui/steering.h"

namespace warpscope::ui {
namespace {

bool takes_commands(const training::Snapshot& snapshot) {
  return snapshot.state == training::TrainerState::running ||
         snapshot.state == training::TrainerState::paused;
}

}  // namespace

void MainView::note_taken(const training::Snapshot& snapshot) {
  for (const Change& change : undo_.settle(snapshot)) {
    status_.log(training::LogLevel::info, option_text(change));
  }
}

ViewChoices MainView::view_choices() const {
  const Settings now = settings();
  return {now.plot, now.images, now.splits, now.look};
}

void MainView::show(const ViewChoices& view) {
  if (view.plot.over != panels_.plot.over || view.plot.metric != panels_.plot.metric) panels_.loss.show_all();
  panels_.plot = view.plot;
  settings_.splits = view.splits;
  settings_.look = view.look;
  panels_.images.settings.zoom = view.images.zoom;
  panels_.images.settings.conversion.difference =
      view.images.absolute_difference ? images::Difference::absolute : images::Difference::signed_mean;
  panels_.images.settings.conversion.range = view.images.difference_range;
}

// After all that may change the view. What changes while a button is held, or as it is let go, is one gesture.
void MainView::watch_view() {
  if (ImGui::IsMouseClicked(0)) ++gesture_;
  const bool held = ImGui::IsMouseDown(0) || ImGui::IsMouseReleased(0);
  undo_.see(view_choices(), held ? gesture_ : 0);
}

void MainView::change_back(const Frame& frame, bool redo) {
  const Change* const next = redo ? undo_.redoable() : undo_.undoable();
  if (next == nullptr) {
    return tell(redo ? "there is nothing to redo" : "there is nothing to undo", training::LogLevel::info);
  }
  if (!is_of_view(next->after) && !takes_commands(frame.snapshot)) {
    return tell("the training takes no changes now; Reset starts it again", training::LogLevel::info);
  }
  const std::optional<Change> change = redo ? undo_.redo() : undo_.undo();
  if (const auto* const view = std::get_if<ViewChoices>(&change->after)) {
    show(*view);
  } else {
    undoing_ = true;
    frame.send(*command_of(change->after));
    undoing_ = false;
  }
  tell(fmt::format("{}: {}", redo ? "redone" : "undone", describe(*change)), training::LogLevel::info);
}

// The frame it is made in outlives it.
ActionScene MainView::action_scene(const Frame& frame) {
  const auto words = [](const Change* change) {
    return change == nullptr ? std::string() : describe(*change);
  };
  const auto& snapshot = frame.snapshot;
  ActionScene scene{
      .snapshot = snapshot,
      .selection = std::get<plan::Selection>(undo_.coming(snapshot, plan::Selection{})),
      .optimizer =
          std::get<training::OptimizerSettings>(undo_.coming(snapshot, training::OptimizerSettings{})),
      .why_no_steering = std::string(is_view(frame) ? kNoSteering : ""),
      .plot = panels_.plot,
      .seen = panels_.loss.history().seen(),
      .follows = panels_.loss.follows(),
      .tabs = Workbench::tabs(),
      .training_tabs = TrainingPanel::tabs(),
      .tab = workbench_.tab(),
      .training_tab = panels_.training.tab(),
      .undoable = words(undo_.undoable()),
      .redoable = words(undo_.redoable()),
      .send = frame.send,
      .press = [this, &frame](const KeyPress& key) { press(frame, key, false, asked_); },
      .show_tab = [this](int tab) { workbench_.show(tab); },
      .show_training_tab =
          [this](int tab) {
            if (workbench_.large()) workbench_.toggle_large();
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
  };
  return scene;
}

void MainView::draw_palette(const Frame& frame) {
  const auto list = [&] { return all_actions(action_scene(frame)); };
  const auto typed = [&](const std::string& query) { return typed_settings(query, action_scene(frame)); };
  palette_.draw(frame, list, typed);
}

void MainView::draw_window_menu(const Frame& frame) {
  if (window_menu_.is_open()) window_menu_.draw(frame, window_actions(action_scene(frame)));
}

}  // namespace warpscope::ui
