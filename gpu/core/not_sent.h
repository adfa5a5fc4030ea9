#pragma once

#include <utility>

namespace warpscope::core {

/// A member of a message that means something only in the process that made it: bytes leave it out.
template <class T>
struct NotSent : T {
  using T::T;
  NotSent() = default;
  NotSent(T value) : T(std::move(value)) {}
};

}  // namespace warpscope::core
