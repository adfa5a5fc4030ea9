#pragma once
// Waiting for what another thread or process does.

#include <chrono>
#include <thread>

namespace warpscope::tests {

/// Seconds: far more than anything takes. A test that waits in vain must fail; a busy machine must not make
/// it fail.
constexpr double kPatience = 120;

/// Asks again and again until `condition` holds; false after kPatience. For what cannot wake who waits: a
/// file that a thread of its own writes.
template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kPatience);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace warpscope::tests
