#pragma once
// The sum behind one number of the network: in words, as three small maps (input x weight = product), and term
// by term.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/inspect/explain.h"
#include "ui/frame/frame.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

/// The products of one input channel together.
struct ChannelShare {
  int channel = 0;
  double sum = 0;
};

/// One a channel, the largest magnitude first.
std::vector<ChannelShare> shares_of(const inspect::Explanation& sum);

/// The terms' indices, the largest magnitude of the product first.
std::vector<std::size_t> largest_terms(const inspect::Explanation& sum);

/// How the number at the place came about, a sentence a line: the sum, then each layer that it passes.
std::vector<std::string> words_of(const models::Model& model, const inspect::Explanation& sum);

class SumView {
 public:
  /// The columns of the table of terms.
  static std::span<const Column> columns();
  /// Fills the room that is left. `model` names the layers.
  void draw(const Frame& frame, const models::Model& model, const inspect::Explanation& sum);

 private:
  void draw_terms(const Frame& frame, const inspect::Explanation& sum, int channel);

  std::optional<int>
      channel_;  ///< of the input, that somebody has chosen; else the one with the largest share
  bool every_term_ = false;
  inspect::Place place_;
};

}  // namespace warpscope::ui
