#pragma once
// How rows of the table of settings reach the fields that they fill.

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "gpu/settings/numbers.h"
#include "gpu/settings/setting.h"

namespace warpscope::training {

/// What a field holds.
inline Value held_value(bool field) {
  return field;
}
inline Value held_value(int field) {
  return std::int64_t{field};
}
inline Value held_value(std::int64_t field) {
  return field;
}
inline Value held_value(std::uint64_t field) {
  return static_cast<std::int64_t>(field);
}
inline Value held_value(float field) {
  return shortest(field);
}
inline Value held_value(double field) {
  return field;
}
inline Value held_value(const std::string& field) {
  return field;
}

template <class T>
constexpr Kind kKindOf = std::is_same_v<T, bool>       ? Kind::boolean
                         : std::is_integral_v<T>       ? Kind::integer
                         : std::is_floating_point_v<T> ? Kind::real
                                                       : Kind::text;

/// The alternative of Value in which a field of type T is held.
template <class T>
using Held = std::variant_alternative_t<static_cast<std::size_t>(kKindOf<T>), Value>;

/// The field to which `F` leads.
template <class F>
constexpr Field field(F) {
  using T = std::remove_cvref_t<decltype(F{}(std::declval<TrainingSettings&>()))>;
  return {.kind = kKindOf<T>,
          .single = std::is_same_v<T, float>,
          .get = [](const TrainingSettings& s) -> std::optional<Value> { return held_value(F{}(s)); },
          .set = [](TrainingSettings& s,
                    const Value& value) { F{}(s) = static_cast<T>(std::get<Held<T>>(value)); }};
}

/// A number of the optimizer.
template <float OptimizerSettings::*Number>
constexpr Field number() {
  Field result = field([](auto& s) -> auto& { return s.optimizer.*Number; });
  result.number = Number;
  return result;
}

/// A field that is another type, read and written as text.
template <class Get, class Set>
constexpr Field text_field(Get, Set) {
  return {.kind = Kind::text,
          .get = [](const TrainingSettings& s) -> std::optional<Value> { return Get{}(s); },
          .set = [](TrainingSettings& s, const Value& value) { Set{}(s, std::get<std::string>(value)); }};
}

}  // namespace warpscope::training
