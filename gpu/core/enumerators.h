#pragma once
// How many enumerators an enum has, found by the compiler.

#include <string_view>

namespace warpscope::core {

template <auto V>
consteval bool is_named() {
  const std::string_view text = __PRETTY_FUNCTION__;  // "... V = Split::test]", "... V = (Split)7]"
  return text[text.rfind(" = ") + 3] != '(';
}

/// From 0 on.
template <class Enum, int N = 0>
consteval int enumerators() {
  if constexpr (is_named<static_cast<Enum>(N)>()) {
    return enumerators<Enum, N + 1>();
  } else {
    return N;
  }
}

}  // namespace warpscope::core
