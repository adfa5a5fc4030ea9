#pragma once
// Determinism: the same step run twice with the current selection, and where the bits differ.

#include <cstdint>
#include <span>

#include "ui/frame/frame.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class DeterminismPanel {
 public:
  static std::span<const Column> columns();
  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame);

 private:
  void draw_button(const Frame& frame);

  bool waiting_ = false;         ///< asked for a check that has not come
  std::uint64_t id_before_ = 0;  ///< of the report when it was asked for
  std::uint64_t notice_id_ = 0;  ///< of the newest notice then: a refusal comes as one
  bool differences_only_ = false;
};

}  // namespace warpscope::ui
