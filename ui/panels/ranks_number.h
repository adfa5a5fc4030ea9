#pragma once
// How many ranks make the steps: a choice that holds from the next step on.

#include <vector>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// Numbers to choose from, smallest first: powers of 2 up to 8, as many as there are now, and all that there can be
/// where these are few. Only the present one where no other can be.
std::vector<int> rank_choices(int now, int most);

/// A row with them; nothing where there is no choice.
void draw_ranks_number(const Frame& frame);

}  // namespace warpscope::ui
