#pragma once
// A selection as text, in items.

#include <string>
#include <string_view>
#include <vector>

namespace warpscope::plan {

/// "conv2d.forward=naive": what is before and after the sign.
struct SelectionItem {
  std::string op;
  std::string variant;

  bool operator==(const SelectionItem&) const = default;
};

/// The items between commas. Throws core::BadInput for one without a sign, and if two name the same.
std::vector<SelectionItem> selection_items(std::string_view text);

}  // namespace warpscope::plan
