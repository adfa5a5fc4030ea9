#pragma once
// The sum behind one number of the network: in words, as three small maps (input x weight = product), and term
// by term.

#include <optional>
#include <span>

#include "gpu/inspect/explain.h"
#include "ui/frame/frame.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class SumView {
 public:
  /// Of the table of terms.
  static std::span<const Column> columns();
  /// Fills the room that is left. `model` names the layers.
  void draw(const Frame& frame, const models::Model& model, const inspect::Explanation& sum);

 private:
  void draw_words(const Frame& frame, const models::Model& model, const inspect::Explanation& sum) const;
  void draw_maps(const Frame& frame, const inspect::Explanation& sum, int channel) const;
  void draw_terms(const Frame& frame, const inspect::Explanation& sum, int channel);

  std::optional<int>
      channel_;  ///< of the input, that somebody has chosen; else the one with the largest share
  bool every_term_ = false;
  inspect::Place place_;
};

}  // namespace warpscope::ui
