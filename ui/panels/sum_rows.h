#pragma once
// What the view of a sum says, without Dear ImGui.

#include <string>
#include <vector>

#include "gpu/inspect/explain.h"

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

}  // namespace warpscope::ui
