#pragma once
// The table of panels: the window shows what stands in it.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ui/panels/panels.h"

namespace warpscope::ui {

/// Which part of the window a panel stands in at first (ui/docking/layouts.h). Panels of one place are tabs.
enum class Place : std::uint8_t { curves, images, workbench, training };

struct PanelRow {
  const char* id;     ///< "kernels": in the settings file
  const char* title;  ///< "Kernels": of its tab and in the palette
  Place place;
  float least_width, least_height;  ///< below which it cannot be read, in design pixels
  /// What stands in the title row, panel_body() and the body.
  void (*draw)(Panels& panels, const Frame& frame);
  /// Every frame, before any panel is drawn; `shown`: it will be.
  void (*watch)(Panels& panels, const Frame& frame, bool shown) = nullptr;
  /// The step that it shows while the cursor is at one; nullptr of panels that follow no step, nothing where there is
  /// nothing to show.
  std::optional<std::uint64_t> (*step)(const Panels& panels, const Frame& frame) = nullptr;
  bool own_title = false;  ///< it draws its title itself (panel_title(), panel_tabs())
  bool computes = false;   ///< what it shows of a past step can be computed again (training::LookAside)
};

/// In the order of their tabs.
std::span<const PanelRow> panel_table();

/// nullptr if there is no such panel.
const PanelRow* find_panel(std::string_view id);

}  // namespace warpscope::ui
