#pragma once
// The kernels panel: what every op of the training step costs, and which variant runs it.

#include <set>
#include <vector>

#include "ui/frame.h"
#include "ui/panels/kernel_rows.h"
#include "ui/panels/variant_menus.h"
#include "ui/table.h"

namespace warpscope::ui {

class KernelsPanel {
 public:
  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame, const profiling::LaboratoryState& laboratory);

 private:
  void keep_order(const std::vector<KernelRow>& rows);
  void sort_by(int column);
  void draw_table(const Frame& frame, const profiling::LaboratoryState& laboratory,
                  const std::vector<KernelRow>& rows, const StepCost& step);
  void draw_row(const Frame& frame, Table& table, const KernelRow& row, const StepCost& step);
  bool draw_name(const Frame& frame, Table& table, const KernelRow& row) const;

  VariantMenus menus_;
  std::set<ops::Op> open_;      ///< ops whose layers are listed
  std::vector<ops::Op> order_;  ///< as shown
  bool by_time_ = false;
  bool sort_ = true;  ///< order_ is to be made anew
};

}  // namespace warpscope::ui
