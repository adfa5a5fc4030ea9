#pragma once
// The kernels panel: what every op of the training step costs, and which variant runs it.

#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "ui/frame.h"
#include "ui/panels/kernel_rows.h"
#include "ui/panels/variant_menus.h"

namespace warpscope::ui {

class KernelsPanel {
 public:
  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame, const profiling::LaboratoryState& laboratory);

 private:
  /// The columns, from left to right.
  enum Column : std::uint8_t { kOp, kVariant, kTime, kShare, kRate, kBandwidth, kWas, kColumns };
  /// Left and right edge of each column in pixels, relative to the table's left edge.
  struct Edges {
    std::array<float, kColumns> left{};
    std::array<float, kColumns> right{};
    float width = 0;
  };
  /// Where a line of the table is drawn.
  struct Line {
    const Edges& edges;
    ImVec2 origin;
    ImU32 color;  ///< of the numbers
  };

  static Edges edges(const Frame& frame, float room);
  void keep_order(const std::vector<KernelRow>& rows);
  void draw_header(const Frame& frame, const profiling::LaboratoryState& laboratory, const Edges& edges,
                   ImVec2 origin);
  void draw_rows(const Frame& frame, const Edges& edges, const std::vector<KernelRow>& rows,
                 const StepCost& step);
  void draw_row(const Frame& frame, const Edges& edges, const KernelRow& row, const StepCost& step);
  void draw_layers(const Frame& frame, const Edges& edges, const KernelRow& row, const StepCost& step);
  void draw_numbers(const Frame& frame, const Line& line, const KernelCost& cost, const StepCost& step,
                    std::string_view previous);
  /// In place of the numbers of an op that runs inside the launch of `inside`.
  void draw_inside(const Frame& frame, const Line& line, ops::Op inside) const;
  void draw_total(const Frame& frame, const Edges& edges, ImVec2 origin, const StepCost& step);
  bool draw_name(const Frame& frame, const Line& line, const KernelRow& row);
  bool header_cell(const Frame& frame, const Line& line, Column column, const char* label,
                   const char* tip) const;

  VariantMenus menus_;
  std::set<ops::Op> open_;      ///< ops whose layers are listed
  std::vector<ops::Op> order_;  ///< as shown
  bool by_time_ = false;
  bool sort_ = true;  ///< order_ is to be made anew
};

}  // namespace warpscope::ui
