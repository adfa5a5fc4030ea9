#pragma once
// A source at the other end of two pipes, as a window in another process would have it: all that passes is bytes.

#include <memory>

#include "gpu/messages/source.h"

namespace warpscope::tests {

/// `served`, which a thread serves, as it is seen through pipes. On the CPU: pictures lie in host memory.
std::shared_ptr<training::Source> through_pipes(std::shared_ptr<training::Source> served);

}  // namespace warpscope::tests
