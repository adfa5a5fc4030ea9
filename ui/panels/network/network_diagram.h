#pragma once
// The network as a diagram: a row a layer, as wide as its output is large, with what it costs; lines from layers to
// those that add them. A click points at the layer in all views.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "gpu/models/model.h"
#include "ui/frame/frame.h"
#include "ui/panels/kernels/kernel_cells.h"
#include "ui/panels/network/network_diagram_rows.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class NetworkDiagram {
 public:
  void draw(const Frame& frame, const models::Model& model);
  /// The next frame shows another network.
  void forget() { scene_.reset(); }
  static std::span<const Column> columns();

 private:
  void refresh(const Frame& frame, const models::Model& model);
  void draw_row(const Frame& frame, Table& table, std::size_t index, const StepTimes& times);
  void draw_total(const Frame& frame, std::span<const Cell> cells, std::span<const bool> shown,
                  const StepTimes& times) const;
  void draw_flow(const Frame& frame, const Table& table, std::size_t index) const;
  void draw_links(const Frame& frame, ImVec2 min, ImVec2 max, std::size_t index, float axis) const;
  float half_width(const Frame& frame, const DiagramRow& row) const;
  void trace(const Frame& frame, const StepTimes& times, float kind_width);

  std::optional<MemoryScene> scene_;  ///< of `diagram_`
  Diagram diagram_;
  double least_ = 0, most_ = 1;         ///< logarithms of the fewest and most numbers that a layer puts out
  std::optional<std::size_t> pointed_;  ///< Cursor::output of the last frame
  std::string traced_;
};

}  // namespace warpscope::ui
