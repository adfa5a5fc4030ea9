#pragma once
// The terms of the field that the window uses, each explained in one sentence.

#include <span>
#include <string_view>

namespace warpscope::ui {

struct Term {
  const char* name;
  const char* sentence;
};

/// In the order of the alphabet.
std::span<const Term> terms();

/// The sentence of a term, whose letters may be small or capital; "" if it is not in the table.
std::string_view explain(std::string_view term);

}  // namespace warpscope::ui
