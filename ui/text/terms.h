#pragma once
// The terms of the field that the window uses, each explained in one sentence. What the figures of a training mean is
// in gpu/runs/figure_table.h.

#include <span>
#include <string>
#include <string_view>

namespace warpscope::ui {

struct Term {
  const char* name;
  const char* sentence;
  const char* also = "";  ///< what labels call it besides, between semicolons: "epoch;epochs"
};

/// In the order of the alphabet.
std::span<const Term> terms();

/// The term that a label stands for: first one that is spelt or also called exactly so (the tab "Time" is the
/// timeline, the column "time" a duration), then one whose name differs only in small and capital letters. nullptr if
/// there is none.
const Term* find_term(std::string_view label);

/// What the figure of that name is and how it is measured, else the sentence of that term; "" if there is neither.
std::string explain(std::string_view label);

/// The tool-tip of a label: the sentence of its term, and below it `more`, such as how it was measured. Either may be
/// missing.
std::string label_tip(std::string_view label, std::string_view more = {});

}  // namespace warpscope::ui
