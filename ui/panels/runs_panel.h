#pragma once
// Earlier runs in a list: which are shown with the curves, their key figures, and where their settings differ
// from the present ones.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/panels/run_loader.h"
#include "ui/panels/run_rows.h"
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

 private:
  void draw_list(const Frame& frame, Trainings& trainings, const RunList& list);
  void draw_run(const Frame& frame, Trainings& trainings, Table& table, const runs::RunSummary& run);
  void draw_swatch(const Frame& frame, Trainings& trainings, Table& table, const runs::RunSummary& run);
  void draw_palette(const Frame& frame, const Trainings& trainings);
  void draw_settings(const Frame& frame, const Trainings& trainings, const RunSettings& settings);

  RunLoader loader_;
  std::uint64_t version_ = 0;
  std::filesystem::path recolored_;  ///< the run whose colour is being chosen
  bool open_palette_ = false;
};

}  // namespace warpscope::ui
