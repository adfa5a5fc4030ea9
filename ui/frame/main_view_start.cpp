// The start page, what is dropped on the window, and kernels of one's own.

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/host_memory.h"
#include "ui/docking/layout.h"
#include "ui/frame/main_view.h"

namespace warpscope::ui {

void MainView::draw_start(const Frame& frame, const Area& area) {
  place_next_window(area);
  start_.draw(frame, panels_);
  panels_.runs.watch(frame, panels_.trainings, false);
}

// What was asked for on the page or in the menu of a run, wherever that stands.
void MainView::follow_start(const Frame& frame) {
  look_at_dropped(frame);
  if (const ChallengeRow* const row = start_.take_challenge()) challenge_.begin(frame, *row);
  challenge_.follow(frame);
  if (start_.take_resume()) frame.send(training::Resume{});
  if (start_.take_tour()) take_tour();
  if (panels_.own_kernels.take_lesson()) take_lesson(frame);
  if (const auto weights = panels_.runs.take_weights()) {
    if (!start_.is_open()) start_.open(frame.snapshot);
    start_.desk().take(*weights);
  }
  if (panels_.runs.take_compared() && start_.is_open()) start_.close();
  const auto run = panels_.runs.take_view();
  if (!run || !start_.desk().services().view) return;
  try {
    start_.desk().services().view(*run);
  } catch (const std::exception& error) {
    tell(core::sentence_of(error), training::LogLevel::error);
  }
}

void MainView::add_challenge_actions(const Frame& frame, ActionScene& scene) {
  for (const ChallengeRow& row : challenges()) {
    scene.challenges.push_back(
        {row.title, row.why_not(frame.snapshot), [this, &frame, &row] { challenge_.begin(frame, row); }});
  }
}

void MainView::take_paths(const Frame& frame, const std::vector<std::filesystem::path>& paths) {
  if (std::ranges::all_of(paths, is_kernel_file)) return load_kernels(frame, paths);
  if (paths.size() != 1 || !frame.snapshot.can.steer) return open_pictures(frame, paths);
  if (start_.is_open()) return start_.desk().take(paths.front());
  dropped_.ask([path = paths.front()](const data::Stopped&) { return std::pair(path, kind_of(path)); });
}

void MainView::look_at_dropped(const Frame& frame) {
  const auto dropped = dropped_.take();
  if (!dropped || !dropped->result) return;
  const auto& [path, kind] = *dropped->result;
  if (kind == PathKind::nothing || kind == PathKind::pictures) return open_pictures(frame, {path});
  if (!start_.is_open()) start_.open(frame.snapshot);
  start_.desk().take(path);
}

// Whether they may be loaded is asked in their panel.
void MainView::load_kernels(const Frame& frame, const std::vector<std::filesystem::path>& files) {
  if (const std::string why = why_no_loading(frame.snapshot); !why.empty())
    return tell("no kernel is loaded: " + why, training::LogLevel::warning);
  if (start_.is_open()) start_.close();
  dock_.show("own_kernels");
  panels_.own_kernels.desk().take(files);
}

void MainView::make_kernel(const Frame& frame, std::optional<ops::Op> op) {
  if (start_.is_open()) start_.close();
  dock_.show("own_kernels");
  panels_.own_kernels.make_new(frame.snapshot, op);
  redraw_at(frame, ImGui::GetTime());
}

void MainView::add_kernel_actions(const Frame& frame, ActionScene& scene) {
  const std::string why = why_no_loading(frame.snapshot);
  const bool makes = static_cast<bool>(panels_.own_kernels.desk().services().write_new);
  scene.own_kernels = {.why_no_loading = why,
                       .why_no_new = !why.empty() || makes ? why : "This window makes no files.",
                       .make = [this, &frame] { make_kernel(frame, {}); },
                       .load =
                           [this] {
                             dock_.show("own_kernels");
                             panels_.own_kernels.browse();
                           },
                       .learn = [this, &frame] { take_lesson(frame); }};
}

void MainView::start_with(const Frame& frame, const std::string& setting, const std::string& text) {
  StartChoices choices = start_.is_open() ? start_.desk().choices() : choices_of(frame.snapshot);
  add_choice(choices, setting, text);
  if (!start_.is_open()) start_.open(frame.snapshot);
  start_.desk().choose(std::move(choices));
}

}  // namespace warpscope::ui
