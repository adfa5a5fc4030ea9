#pragma once
// The drop-downs of the kernels table that choose variants: one for each op, one for all.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/jobs/laboratory.h"
#include "ui/frame/frame.h"
#include "ui/panels/kernel_rows.h"

namespace warpscope::ui {

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
  plan::Selection word_of_;
  std::string word_;
  /// Times by op, variant, precision and batch.
  std::map<std::tuple<ops::Op, std::string, core::Precision, int>, double> measured_;
};

}  // namespace warpscope::ui
