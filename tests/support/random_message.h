#pragma once
// Messages with random contents.

#include <chrono>
#include <cstring>
#include <random>
#include <string>

#include "gpu/messages/bytes_of_messages.h"

namespace warpscope::tests {

class RandomMessage {
 public:
  explicit RandomMessage(std::uint32_t seed) : bits_(seed) {}

  template <class T>
  T make() {
    T value{};
    fill(value);
    return value;
  }
  /// An alternative of the variant, by its index.
  template <class T, std::size_t... Place>
  void fill_variant(T& value, std::size_t index, std::index_sequence<Place...> /*places*/) {
    (void)((index == Place && (fill(value.template emplace<Place>()), true)) || ...);
  }

 private:
  static constexpr std::size_t kMost = 3;  ///< elements of a list

  std::size_t below(std::size_t end) { return bits_() % end; }

  template <class T>
  void fill(T& value) {
    namespace bytes = training::bytes;
    if constexpr (bytes::kIsNotSent<T>) {
    } else if constexpr (std::same_as<T, bool>) {
      value = below(2) == 1;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(below(static_cast<std::size_t>(bytes::enumerators<T>())));
    } else if constexpr (std::is_arithmetic_v<T>) {
      const std::uint64_t bits = std::uint64_t{bits_()} << 32 | bits_();  // of a float: also NaN
      std::memcpy(&value, &bits, sizeof value);
    } else if constexpr (bytes::kIsTime<T>) {
      value = T::clock::now() - std::chrono::hours(2 * below(9));
    } else if constexpr (bytes::kIsText<T>) {
      std::string text;
      for (std::size_t i = below(9); i > 0; --i) text += static_cast<char>(1 + below(255));
      value = text;
    } else if constexpr (bytes::kIsVector<T>) {
      value.clear();  // some begin with elements
      for (std::size_t i = below(kMost + 1); i > 0; --i) value.push_back(make<typename T::value_type>());
    } else if constexpr (bytes::kIsArray<T>) {
      for (auto& each : value) fill(each);
    } else if constexpr (bytes::kIsMap<T>) {
      for (std::size_t i = below(kMost + 1); i > 0; --i) {
        auto key = make<typename T::key_type>();
        fill(value[std::move(key)]);
      }
    } else if constexpr (bytes::kIsPair<T>) {
      fill(value.first);
      fill(value.second);
    } else if constexpr (bytes::kIsOptional<T>) {
      if (below(4) > 0) fill(value.emplace());
    } else if constexpr (bytes::kIsShared<T>) {
      using Object = std::remove_const_t<typename T::element_type>;
      if (below(4) > 0) value = std::make_shared<const Object>(make<Object>());
    } else if constexpr (bytes::kIsVariant<T>) {
      constexpr std::size_t kinds = std::variant_size_v<T>;
      fill_variant(value, below(kinds), std::make_index_sequence<kinds>());
    } else if constexpr (std::same_as<T, training::Configuration>) {
      const training::Configuration known = training::defaults();
      for (const training::Setting& row : training::settings()) {
        const training::Value* const given = known.find(row.name);
        if (given != nullptr && below(4) == 0) value.put(row, *given);
      }
    } else if constexpr (requires { sent_as(value); }) {
      take_as(value, make<decltype(sent_as(value))>());
    } else {
      training::with_members(value, [this](auto&... members) { (fill(members), ...); });
    }
  }

  std::mt19937 bits_;
};

/// Bit by bit, but for what is not sent and for times.
template <class T>
bool same(const T& a, const T& b) {
  namespace bytes = training::bytes;
  if constexpr (bytes::kIsNotSent<T>) {
    return true;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  } else if constexpr (bytes::kIsTime<T>) {
    return std::chrono::abs(a - b) < std::chrono::hours(1);  // it is sent as how long ago it was
  } else if constexpr (bytes::kIsText<T>) {
    return a == b;
  } else if constexpr (bytes::kIsVector<T> || bytes::kIsArray<T> || bytes::kIsMap<T>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return same(x, y); });
  } else if constexpr (bytes::kIsPair<T>) {
    return same(a.first, b.first) && same(a.second, b.second);
  } else if constexpr (bytes::kIsOptional<T> || bytes::kIsShared<T>) {
    return !a == !b && (!a || same(*a, *b));
  } else if constexpr (bytes::kIsVariant<T>) {
    return a.index() == b.index() &&
           std::visit([&](const auto& x) { return same(x, std::get<std::remove_cvref_t<decltype(x)>>(b)); },
                      a);
  } else if constexpr (requires { sent_as(a); }) {
    return same(sent_as(a), sent_as(b));
  } else {
    return training::with_members(a, [&](const auto&... x) {
      return training::with_members(b, [&](const auto&... y) { return (same(x, y) && ...); });
    });
  }
}

}  // namespace warpscope::tests
