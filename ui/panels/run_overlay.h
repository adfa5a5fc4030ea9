#pragma once
// The earlier runs whose curves lie over those of the present one: which, in what colour, and their points.
// No drawing here.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"
#include "ui/panels/run_loader.h"

namespace warpscope::ui {

/// A run in the view.
struct OverlayRun {
  std::filesystem::path folder;
  std::uint64_t id = 0;
  std::string name;
  int color = 0;  ///< of Palette::series
  bool visible = true;
  bool loaded = false;            ///< its curves, as far as the run goes, are there
  std::vector<RunCurves> curves;  ///< of each plot
  std::string error;              ///< why there are none
};

inline constexpr int kRunColors = 8;

/// The first colour of the palette that no run has, those of the present curves last; repeats when all are
/// taken. Curves of the same colour then differ in their dashes (loss_lines.h).
int free_color(std::span<const OverlayRun> runs);

/// The folder whose runs are listed: that of the present run, "runs" without one.
std::filesystem::path folder_of_runs(const std::string& run_dir);

class RunOverlay {
 public:
  /// Once a frame: tells the loader what is wanted for each plot, takes what it has read. The loader starts with
  /// the first request.
  void update(const training::Snapshot& snapshot, std::span<const CurveChoice> choices);
  /// Whether the list of runs is on the screen and has to be kept up to date.
  void want_list(bool wanted) { wants_list_ = wanted; }

  const std::vector<OverlayRun>& runs() const { return runs_; }
  /// nullptr if the run is not in the view.
  const OverlayRun* find(const std::filesystem::path& folder) const;
  /// Brings a run into the view, or lets it be seen again.
  void show(const std::filesystem::path& folder, const std::string& name);
  /// It stays in the view, with its colour, but is not drawn.
  void hide(const std::filesystem::path& folder);
  void recolor(const std::filesystem::path& folder, int color);
  /// Out of the view; its points are let go with the next update(), since the plots of this frame may still show them.
  void remove(const std::filesystem::path& folder);

  /// nullptr until the folder has been looked at.
  std::shared_ptr<const RunList> list() const { return loader_ ? loader_->list() : nullptr; }
  std::shared_ptr<const RunSettings> settings() const;
  const std::filesystem::path& folder() const { return request_.folder; }
  /// True if the loader has something that update() has not fetched yet.
  bool has_update() const { return loader_ && loader_->version() != version_; }

 private:
  void drop_other_curves(std::span<const CurveChoice> choices);
  void take_updates();

  std::vector<OverlayRun> runs_;
  std::vector<OverlayRun> removed_;  ///< since the last update()
  RunRequest request_;
  std::uint64_t last_id_ = 0;
  bool wants_list_ = false;
  std::uint64_t version_ = 0;
  std::unique_ptr<RunLoader> loader_;
};

}  // namespace warpscope::ui
