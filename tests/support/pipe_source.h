#pragma once
// A source at the other end of a connection, as a window in another process has it: all that passes is bytes.

#include <memory>

#include "gpu/messages/source.h"

namespace warpscope::tests {

/// `served`, which a thread serves, as it is seen through a pipe.
std::shared_ptr<training::Source> through_pipes(std::shared_ptr<training::Source> served);

}  // namespace warpscope::tests
