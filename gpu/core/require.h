#pragma once
// What a caller must give.

#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::core {

/// Throws BadInput with the sentence unless what was given is valid.
template <class... Arguments>
void require(bool valid, fmt::format_string<Arguments...> sentence, Arguments&&... arguments) {
  if (!valid) throw BadInput(fmt::format(sentence, std::forward<Arguments>(arguments)...));
}

}  // namespace warpscope::core
