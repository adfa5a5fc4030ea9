#pragma once
// Memory of many steps, and threads that wait for a disk, take long to let go: no frame waits for that.

#include <future>
#include <optional>
#include <system_error>
#include <utility>

namespace warpscope::ui {

/// Another thread destroys `what`, and waits for the one before, of `before`, so that nobody else has to.
template <class T>
std::future<void> let_go(T what, std::future<void> before) {
  try {
    return std::async(std::launch::async,
                      [what = std::optional<T>(std::move(what)), before = std::move(before)]() mutable {
                        what.reset();
                        if (before.valid()) before.wait();
                      });
  } catch (const std::system_error&) {  // there are no more threads: it has been destroyed here
    return {};
  }
}

}  // namespace warpscope::ui
