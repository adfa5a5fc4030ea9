#pragma once
// The kernels panel: what every op of the training step costs, and which variant runs it.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/jobs/laboratory.h"
#include "gpu/models/model.h"
#include "ui/frame/frame.h"
#include "ui/panels/kernels/kernel_cells.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

/// The drop-downs that choose variants: one for each op, one for all.
class VariantMenus {
 public:
  /// Once a frame, before the menus: forgets requests that the trainer has answered and notes the times of
  /// the variants in use.
  void update(const Frame& frame, const std::vector<KernelRow>& rows);
  /// The drop-down of one op, `width` pixels wide; named "kernels.<op>", its items
  /// "kernels.<op>=automatic" and "kernels.<op>=<variant>".
  void draw_op(const Frame& frame, const KernelRow& row, float width);
  /// The drop-down for all ops, named "kernels.all", its items "kernels.all=automatic",
  /// "kernels.all=fastest_here" and "kernels.all=<preset>".
  void draw_all(const Frame& frame, const jobs::LaboratoryState& laboratory, float width);
  /// The op of which somebody wants to write a kernel since the last call: "kernels.<op>=new".
  std::optional<ops::Op> take_new_kernel() { return std::exchange(new_kernel_, {}); }

 private:
  /// The selection as it will be when the trainer has taken every request.
  const plan::Selection& coming(const Frame& frame) const;
  void request(const Frame& frame, plan::Selection selection);
  /// selection_word(), computed only when the selection changes: it goes through all presets.
  const std::string& word(const plan::Selection& selection, const plan::Machine& machine);
  void draw_presets(const Frame& frame, const plan::Selection& selection);
  std::string measured(const Frame& frame, ops::Op op, const std::string& variant) const;

  std::vector<plan::Selection> requested_;  ///< sent and not yet answered
  plan::Selection before_;                  ///< in use when the oldest of them was sent
  std::uint64_t notice_id_ = 0;             ///< the newest then
  std::optional<ops::Op> new_kernel_;
  plan::Selection word_of_;
  std::string word_;
  /// Times by op, variant, precision and batch.
  std::map<std::tuple<ops::Op, std::string, core::Precision, int>, double> measured_;
};

class KernelsPanel {
 public:
  explicit KernelsPanel(const models::Model& model);
  /// Another network is trained from now on.
  void follow(const models::Model& model);

  /// Draws the rest of the title row of the panel that the caller has begun, and the body. `loaded`: another job than
  /// the laboratory's runs beside the training.
  void draw(const Frame& frame, const jobs::LaboratoryState& laboratory, bool loaded);
  /// VariantMenus::take_new_kernel()
  std::optional<ops::Op> take_new_kernel() { return menus_.take_new_kernel(); }

 private:
  void keep_order(const std::vector<KernelRow>& rows);
  void sort_by(int column);
  /// Lists the layers of the first op that has the layer which another view has chosen.
  void follow_layer(const Frame& frame, const std::vector<KernelRow>& rows);
  void choose_layer(const Frame& frame, const std::string& layer);
  void trace(const Frame& frame);
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
