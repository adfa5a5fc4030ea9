#pragma once
// Ctrl-C and SIGTERM ask a command to end in good order.

#include <atomic>

namespace warpscope::app {

/// From now on SIGINT and SIGTERM set the flag that is returned instead of ending the process.
const std::atomic<bool>& catch_interrupts();

}  // namespace warpscope::app
