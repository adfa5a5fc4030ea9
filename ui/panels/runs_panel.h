#pragma once
// Earlier runs in a list: which are shown with the curves, their key figures, and where their settings differ
// from the present ones.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/panels/run_overlay.h"
#include "ui/panels/run_rows.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class RunsPanel {
 public:
  static std::span<const Column> columns();
  void draw(const Frame& frame, RunOverlay& overlay);

 private:
  void draw_list(const Frame& frame, RunOverlay& overlay, const RunList& list);
  void draw_run(const Frame& frame, RunOverlay& overlay, Table& table, const runs::RunSummary& run);
  void draw_swatch(const Frame& frame, RunOverlay& overlay, Table& table, const runs::RunSummary& run);
  void draw_palette(const Frame& frame, RunOverlay& overlay);
  void draw_settings(const Frame& frame, const RunOverlay& overlay);

  std::filesystem::path recolored_;  ///< the run whose colour is being chosen
  bool open_palette_ = false;
};

}  // namespace warpscope::ui
