#pragma once
// The members of plain structs, found by the compiler: what works on all of them follows whatever they are.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace warpscope::training {

struct Anything {
  template <class T>
  operator T() const;
};

/// How many members an aggregate has; a base counts as one.
template <class T, class... Known>
consteval std::size_t member_count() {
  if constexpr (requires { T{Known{}..., Anything{}}; }) {
    return member_count<T, Known..., Anything>();
  } else {
    return sizeof...(Known);
  }
}

/// An overload of this, for a struct with a base, returns a std::tie() of its members, the base first.
void members_of();

#define WARPSCOPE_WITH(count, ...)      \
  else if constexpr (kCount == count) { \
    auto& [__VA_ARGS__] = value;        \
    return work(__VA_ARGS__);           \
  }
/// work(members...), in the order in which they are declared.
template <class T, class F>
decltype(auto) with_members(T& value, F&& work) {
  constexpr std::size_t kCount = member_count<std::remove_const_t<T>>();
  if constexpr (requires { members_of(value); }) {
    static_assert(std::tuple_size_v<decltype(members_of(value))> == kCount, "a member is not listed");
    return std::apply(work, members_of(value));
  } else if constexpr (kCount == 0) {
    return work();
  }
  // clang-format off
  WARPSCOPE_WITH(1, a)
  WARPSCOPE_WITH(2, a, b)
  WARPSCOPE_WITH(3, a, b, c)
  WARPSCOPE_WITH(4, a, b, c, d)
  WARPSCOPE_WITH(5, a, b, c, d, e)
  WARPSCOPE_WITH(6, a, b, c, d, e, f)
  WARPSCOPE_WITH(7, a, b, c, d, e, f, g)
  WARPSCOPE_WITH(8, a, b, c, d, e, f, g, h)
  WARPSCOPE_WITH(9, a, b, c, d, e, f, g, h, i)
  WARPSCOPE_WITH(10, a, b, c, d, e, f, g, h, i, j)
  WARPSCOPE_WITH(11, a, b, c, d, e, f, g, h, i, j, k)
  WARPSCOPE_WITH(12, a, b, c, d, e, f, g, h, i, j, k, l)
  WARPSCOPE_WITH(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  WARPSCOPE_WITH(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  WARPSCOPE_WITH(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  WARPSCOPE_WITH(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  WARPSCOPE_WITH(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  WARPSCOPE_WITH(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  WARPSCOPE_WITH(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  WARPSCOPE_WITH(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  WARPSCOPE_WITH(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  WARPSCOPE_WITH(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  WARPSCOPE_WITH(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
  WARPSCOPE_WITH(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
  WARPSCOPE_WITH(25, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)
  WARPSCOPE_WITH(26, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z)
  // clang-format on
  else {
    static_assert(kCount == 0, "a line more is needed here");
  }
}
#undef WARPSCOPE_WITH

/// Their types, as those of a tuple.
template <class T>
using MembersOf = decltype(with_members(std::declval<T&>(), []<class... M>(M&... /*members*/) {
  return std::type_identity<std::tuple<std::remove_cv_t<M>...>>();
}));

}  // namespace warpscope::training
