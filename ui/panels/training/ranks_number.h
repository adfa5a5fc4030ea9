#pragma once
// How many ranks make the steps: a choice that holds from the next step on, in the toolbar and in the panel Ranks.

#include <string>
#include <vector>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// Numbers to choose from, smallest first: powers of 2 up to 8, as many as there are now, and all that there can be
/// where these are few. Only the present one where no other can be.
std::vector<int> rank_choices(int now, int most);

struct RankChoice {
  int number = 1;
  std::string refusal;  ///< why it cannot be taken, as a sentence; "" if it can
};

/// The choice as a person sees it.
struct RanksNumber {
  int now = 1;
  std::vector<RankChoice> choices;  ///< the present number among them; none where one rank is all that can be
  std::string why_not;              ///< why none can be taken now, as a sentence; "" if one can
};
RanksNumber ranks_number_of(const training::Snapshot& snapshot);

/// "1 rank", "4 ranks".
std::string ranks_word(int number);

/// A list with the choices, and the width that it takes in pixels; `number` has some. Its items are traced as
/// "<name>.4".
void draw_ranks_number(const Frame& frame, const char* name, const RanksNumber& number);
float ranks_number_width(const Frame& frame);

}  // namespace warpscope::ui
