#pragma once
// The kernels panel: what every op of the training step costs, and which variant runs it.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/models/model.h"
#include "ui/frame/frame.h"
#include "ui/panels/kernel_rows.h"
#include "ui/panels/variant_menus.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class KernelsPanel {
 public:
  explicit KernelsPanel(const models::Model& model);
  /// Another network is trained from now on.
  void follow(const models::Model& model);

  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame, const jobs::LaboratoryState& laboratory);

 private:
  void keep_order(const std::vector<KernelRow>& rows);
  void sort_by(int column);
  /// Lists the layers of the first op that has the layer which another view has chosen.
  void follow_layer(const Frame& frame, const std::vector<KernelRow>& rows);
  void choose_layer(const Frame& frame, const std::string& layer);
  void trace();
  void draw_table(const Frame& frame, const jobs::LaboratoryState& laboratory,
                  const std::vector<KernelRow>& rows, const KernelCost& step);
  void draw_row(const Frame& frame, Table& table, const KernelRow& row, const KernelCost& step);
  bool draw_name(const Frame& frame, Table& table, const KernelRow& row) const;
  void draw_layers(const Frame& frame, Table& table, const KernelRow& row, const KernelCost& step);
  bool draw_layer_name(const Frame& frame, Table& table, const training::OpTiming& layer) const;

  models::Model model_;
  std::string layer_;                 ///< that is pointed at; "" for none
  std::optional<ops::Op> scroll_to_;  ///< the row of layer_ in the list of this op comes into view
  std::string traced_;
  VariantMenus menus_;
  std::set<ops::Op> open_;      ///< ops whose layers are listed
  std::vector<ops::Op> order_;  ///< as shown
  bool by_time_ = false;
  bool sort_ = true;  ///< order_ is to be made anew
};

}  // namespace warpscope::ui
