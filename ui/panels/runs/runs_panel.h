#pragma once
// Earlier runs in a list, of the folder and of the user's data: which are shown with the curves, their key figures,
// what can be done with them, and where their settings differ from the present ones.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/runs/unsaved.h"
#include "gpu/runs/user_runs.h"
#include "ui/frame/frame.h"
#include "ui/panels/runs/run_loader.h"
#include "ui/panels/runs/run_rows.h"
#include "ui/panels/trainings.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class RunsPanel {
 public:
  static std::span<const Column> columns();
  /// Once a frame; `shown`: the list is on the screen and has to be kept up to date.
  void watch(const Frame& frame, const Trainings& trainings, bool shown);
  void draw(const Frame& frame, Trainings& trainings);
  /// True if something was read that watch() has not taken note of.
  bool has_update() const { return loader_.version() != version_; }
  /// The run that somebody has chosen to go on with since the last call.
  std::optional<runs::UnsavedTraining> take_go_on() { return std::exchange(go_on_, {}); }
  /// The run that a window of its own is to be opened on, and the one whose weights are to begin a training.
  std::optional<std::filesystem::path> take_view() { return std::exchange(view_, {}); }
  std::optional<std::filesystem::path> take_weights() { return std::exchange(weights_, {}); }
  /// True if curves of a run were asked for in its menu since the last call.
  bool take_compared() { return std::exchange(compared_, false); }
  /// What could not be done, in a sentence.
  std::optional<std::string> take_message() { return std::exchange(message_, {}); }

  // For another list of runs, the start page's:
  /// Opens the menu of a run, which draw_menu() then draws. `doubled`: a double click goes on with it.
  void choose(const runs::RunSummary& run, bool doubled = false) {
    chosen_ = run;
    open_menu_ = true;
    doubled_ = doubled;
  }
  void draw_menu(const Frame& frame, Trainings& trainings);
  /// That a run was deleted, and the way back.
  void draw_deleted(const Frame& frame);
  /// Grows with each run that is deleted or brought back.
  std::uint64_t deletions() const { return deletions_; }

 private:
  void draw_list(const Frame& frame, Trainings& trainings, const RunList& list);
  void draw_run(const Frame& frame, Trainings& trainings, Table& table, const runs::RunSummary& run);
  void draw_swatch(const Frame& frame, Trainings& trainings, Table& table, const runs::RunSummary& run);
  void draw_palette(const Frame& frame, const Trainings& trainings);
  void go_on_with(const runs::RunSummary& run);
  bool draw_choices(const Frame& frame, Trainings& trainings, const runs::RunSummary& run);
  bool draw_further_choices(const Frame& frame, const runs::RunSummary& run);
  void remove(Trainings& trainings, const std::filesystem::path& run);
  void draw_settings(const Frame& frame, const Trainings& trainings, const RunSettings& settings);

  RunLoader loader_;
  std::uint64_t version_ = 0;
  std::filesystem::path recolored_;  ///< the run whose colour is being chosen
  bool open_palette_ = false;
  runs::RunSummary chosen_;  ///< whose menu is open
  bool open_menu_ = false, doubled_ = false;
  double menu_opened_ = 0;  ///< ImGui time
  std::optional<runs::DeletedRun>
      deleted_;  ///< the last one, until it is brought back or that is not wanted any more
  std::optional<runs::UnsavedTraining> go_on_;
  std::optional<std::filesystem::path> view_, weights_;
  bool compared_ = false;
  std::uint64_t deletions_ = 0;
  std::optional<std::string> message_;
};

}  // namespace warpscope::ui
