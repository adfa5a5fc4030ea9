#pragma once
// Work in pieces, spread over threads.

#include <cstdint>
#include <functional>

namespace warpscope::core {

/// Calls body(begin, end) for pieces of at most `piece` elements that together cover [0, count), on `threads`
/// threads (0: one for each core, at most 16). Pieces are handed out in order. If bodies throw, no new piece
/// is started and the exception of the lowest failed piece is rethrown: every piece before it was completed,
/// so that the error is the same for any number of threads.
void parallel_for(std::int64_t count, std::int64_t piece, int threads,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace warpscope::core
