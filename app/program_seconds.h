#pragma once

namespace warpscope::app {

/// Seconds since this process began, to 10 ms: loading its libraries counts. 0 where the system does not tell.
double program_seconds();

}  // namespace warpscope::app
