#pragma once
// Messages as bytes, for a window in another process: members one after the other, as they lie in memory
// (little-endian), counts before what they count. What is shared is sent once and then named by a number, as long as
// the sender has it: who reads sees the same object again where the sender saw it.

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/core/enumerators.h"
#include "gpu/core/not_sent.h"
#include "gpu/files/checksum.h"
#include "gpu/messages/members.h"

namespace warpscope::training {

static_assert(std::endian::native == std::endian::little);

namespace bytes {

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class K, class V>
inline constexpr bool kIsMap<std::map<K, V>> = true;
template <class T>
inline constexpr bool kIsPair = false;
template <class A, class B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsShared = false;
template <class T>
inline constexpr bool kIsShared<std::shared_ptr<const T>> = true;
template <class T>
inline constexpr bool kIsVariant = false;
template <class... T>
inline constexpr bool kIsVariant<std::variant<T...>> = true;
template <class T>
inline constexpr bool kIsNotSent = false;
template <class T>
inline constexpr bool kIsNotSent<core::NotSent<T>> = true;
template <class T>
inline constexpr bool kIsText = std::same_as<T, std::string> || std::same_as<T, std::filesystem::path>;
template <class T>
inline constexpr bool kIsTime = false;
template <class C, class D>
inline constexpr bool kIsTime<std::chrono::time_point<C, D>> = true;
/// Lies in memory as it is sent, whatever its bits are.
template <class T>
inline constexpr bool kIsPlain = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

/// What T is made of, in letters: of two programs that differ in that the one cannot read what the other writes.
template <class T>
void describe(std::string& out);
template <class... T>
void describe_all(std::string& out, std::type_identity<std::tuple<T...>> /*types*/) {
  out += '(';
  (describe<T>(out), ...);
  out += ')';
}
template <class... T>
void describe_all(std::string& out, std::type_identity<std::variant<T...>> /*type*/) {
  describe_all(out, std::type_identity<std::tuple<T...>>());
}
template <class T>
void describe(std::string& out) {
  if constexpr (kIsNotSent<T>) {
    out += '-';
  } else if constexpr (std::is_enum_v<T>) {
    out += 'e' + std::to_string(core::enumerators<T>());
  } else if constexpr (std::is_arithmetic_v<T>) {
    out += (std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u') + std::to_string(sizeof(T));
  } else if constexpr (kIsText<T>) {
    out += 's';
  } else if constexpr (kIsTime<T>) {
    out += 't';
  } else if constexpr (kIsVector<T>) {
    out += 'v';
    describe<typename T::value_type>(out);
  } else if constexpr (kIsArray<T>) {
    out += 'a' + std::to_string(std::tuple_size_v<T>);
    describe<typename T::value_type>(out);
  } else if constexpr (kIsOptional<T>) {
    out += 'o';
    describe<typename T::value_type>(out);
  } else if constexpr (kIsShared<T>) {
    out += 'p';
    describe<std::remove_const_t<typename T::element_type>>(out);
  } else if constexpr (kIsMap<T>) {
    out += 'm';
    describe<std::pair<typename T::key_type, typename T::mapped_type>>(out);
  } else if constexpr (kIsPair<T>) {
    describe_all(out, std::type_identity<std::tuple<typename T::first_type, typename T::second_type>>());
  } else if constexpr (kIsVariant<T>) {
    out += 'w';
    describe_all(out, std::type_identity<T>());
  } else if constexpr (requires(const T& value) { sent_as(value); }) {
    describe<decltype(sent_as(std::declval<const T&>()))>(out);
  } else {
    describe_all(out, MembersOf<T>());
  }
}

}  // namespace bytes

/// Before a message's own bytes.
struct MessageHead {
  static constexpr std::size_t kBytes = 32;
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 30;  ///< bytes of a message

  std::uint64_t shape = 0;  ///< of the type that follows
  std::uint64_t length = 0;
  std::uint64_t checksum = 0;

  std::string text() const;
  /// Reads the first kBytes of a message. Throws core::BadInput if it is none, of another version, too long (kMost).
  static MessageHead read(std::string_view bytes);
};
/// Throws core::BadInput: "a message is damaged: ..."
[[noreturn]] void refuse_message(std::string_view why);

template <class T>
std::uint64_t shape_of() {
  static const std::uint64_t shape = [] {
    std::string text;
    bytes::describe<T>(text);
    return files::checksum_of(text);
  }();
  return shape;
}

class MessageWriter {
 public:
  /// What MessageReader::read() makes `value` of.
  template <class T>
  std::string write(const T& value) {
    body_.clear();
    std::vector<std::uint64_t> forgotten = std::exchange(forgotten_, {});
    std::erase_if(known_, [&](const auto& each) {
      if (each.second.object.expired()) forgotten.push_back(each.second.number);
      return each.second.object.expired();
    });
    put(forgotten);
    put(value);
    return MessageHead{shape_of<T>(), body_.size(), files::checksum_of(body_)}.text() + body_;
  }
  /// The object that was sent under this number, if it is still there and a T.
  template <class T>
  std::shared_ptr<const T> find(std::uint64_t number) const {
    for (const auto& [key, known] : known_) {
      if (known.number == number && key.second == std::type_index(typeid(T)))
        return std::static_pointer_cast<const T>(known.object.lock());
    }
    return nullptr;
  }

 private:
  struct Known {
    std::uint64_t number = 0;
    std::weak_ptr<const void> object;
  };

  template <class T>
  void put(const T& value) {
    if constexpr (bytes::kIsNotSent<T>) {
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      append(&value, sizeof value);
    } else if constexpr (bytes::kIsTime<T>) {  // how long ago: clocks differ
      put(std::int64_t{std::chrono::nanoseconds(T::clock::now() - value).count()});
    } else if constexpr (std::same_as<T, std::filesystem::path>) {
      put(value.string());
    } else if constexpr (std::same_as<T, std::string>) {
      put(std::uint64_t{value.size()});
      body_ += value;
    } else if constexpr (bytes::kIsVector<T>) {
      put(std::uint64_t{value.size()});
      if constexpr (bytes::kIsPlain<typename T::value_type>) {
        append(value.data(), value.size() * sizeof(typename T::value_type));
      } else {
        for (const auto& each : value) put(each);
      }
    } else if constexpr (bytes::kIsArray<T>) {
      for (const auto& each : value) put(each);
    } else if constexpr (bytes::kIsMap<T>) {
      put(std::uint64_t{value.size()});
      for (const auto& each : value) {
        put(each.first);
        put(each.second);
      }
    } else if constexpr (bytes::kIsPair<T>) {
      put(value.first);
      put(value.second);
    } else if constexpr (bytes::kIsOptional<T>) {
      put(value.has_value());
      if (value) put(*value);
    } else if constexpr (bytes::kIsShared<T>) {
      put_shared(value);
    } else if constexpr (bytes::kIsVariant<T>) {
      put(std::uint64_t{value.index()});
      std::visit([this](const auto& each) { this->put(each); }, value);
    } else if constexpr (requires { sent_as(value); }) {
      put(sent_as(value));
    } else {
      with_members(value, [this](const auto&... members) {
        static_cast<void>(this);  // of a message without members
        (this->put(members), ...);
      });
    }
  }

  /// Its number, then, where the reader does not know it, itself. 0: there is none.
  template <class T>
  void put_shared(const std::shared_ptr<const T>& object) {
    if (!object) return put(std::uint64_t{0});
    Known& known = known_[{object.get(), std::type_index(typeid(T))}];
    const bool same = !known.object.owner_before(object) && !object.owner_before(known.object);
    if (known.number != 0 && same) return put(known.number);
    if (known.number != 0) forgotten_.push_back(known.number);
    known = {++last_, object};
    put(known.number);
    put(*object);
  }
  void append(const void* from, std::size_t count) { body_.append(static_cast<const char*>(from), count); }

  std::string body_;
  std::uint64_t last_ = 0;  ///< number given
  std::map<std::pair<const void*, std::type_index>, Known> known_;
  std::vector<std::uint64_t> forgotten_;
};

class MessageReader {
 public:
  /// Called with each object that is shared, once: its type, itself and its number.
  std::function<void(std::type_index, void*, std::uint64_t)> made;

  /// Throws core::BadInput, in a sentence, if the bytes are no T as this program writes one; no allocation is larger
  /// than the bytes account for.
  template <class T>
  T read(std::string_view message) {
    const MessageHead head = MessageHead::read(message);
    rest_ = message.substr(MessageHead::kBytes);
    if (head.shape != shape_of<T>()) refuse_version();
    if (rest_.size() != head.length) refuse_message("it has another length than it says");
    if (files::checksum_of(rest_) != head.checksum) refuse_message("its checksum is another");
    return read_body<T>(rest_);
  }
  /// The same behind the head.
  template <class T>
  T read_body(std::string_view body) {
    rest_ = body;
    for (const std::uint64_t number : get<std::vector<std::uint64_t>>()) known_.erase(number);
    T value = get<T>();
    if (!rest_.empty()) refuse_message("more follows than belongs to it");
    return value;
  }

 private:
  struct Known {
    std::type_index type;
    std::shared_ptr<const void> object;
  };

  [[noreturn]] static void refuse_version();

  template <class T>
  T get() {
    T value{};
    fill(value);
    return value;
  }
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) refuse_message("it ends too soon");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  template <class T>
  void fill(T& value) {
    if constexpr (bytes::kIsNotSent<T>) {
    } else if constexpr (std::same_as<T, bool>) {
      const auto byte = get<std::uint8_t>();
      if (byte > 1) refuse_message("a choice of two is neither");
      value = byte == 1;
    } else if constexpr (std::is_enum_v<T>) {
      const auto number = get<std::underlying_type_t<T>>();
      if (number < 0 || std::cmp_greater_equal(number, core::enumerators<T>()))
        refuse_message("a name is unknown");
      value = static_cast<T>(number);
    } else if constexpr (std::is_arithmetic_v<T>) {
      std::memcpy(&value, take(sizeof value).data(), sizeof value);
    } else if constexpr (bytes::kIsTime<T>) {
      const std::chrono::nanoseconds ago(get<std::int64_t>());
      if (ago < -std::chrono::hours(1 << 20) || ago > std::chrono::hours(1 << 20))
        refuse_message("a time is out of all measure");
      value = T::clock::now() - std::chrono::duration_cast<typename T::duration>(ago);
    } else if constexpr (bytes::kIsText<T>) {
      value = std::string(take(get<std::uint64_t>()));
    } else if constexpr (bytes::kIsVector<T>) {
      fill_vector(value);
    } else if constexpr (bytes::kIsArray<T>) {
      for (auto& each : value) fill(each);
    } else if constexpr (bytes::kIsMap<T>) {
      value.clear();
      for (auto left = get<std::uint64_t>(); left > 0; --left) {
        auto key = get<typename T::key_type>();
        value.insert_or_assign(std::move(key), get<typename T::mapped_type>());
      }
    } else if constexpr (bytes::kIsPair<T>) {
      fill(value.first);
      fill(value.second);
    } else if constexpr (bytes::kIsOptional<T>) {
      value.reset();
      if (get<bool>()) fill(value.emplace());
    } else if constexpr (bytes::kIsShared<T>) {
      fill_shared(value);
    } else if constexpr (bytes::kIsVariant<T>) {
      fill_variant(value, get<std::uint64_t>(), std::make_index_sequence<std::variant_size_v<T>>());
    } else if constexpr (requires { sent_as(value); }) {
      take_as(value, get<decltype(sent_as(value))>());
    } else {
      with_members(value, [this](auto&... members) {
        static_cast<void>(this);  // of a message without members
        (this->fill(members), ...);
      });
    }
    if constexpr (requires { inconsistency_in(value); }) {
      if (const std::string_view what = inconsistency_in(value); !what.empty()) refuse_message(what);
    }
  }
  template <class T>
  void fill_vector(std::vector<T>& value) {
    const auto count = get<std::uint64_t>();
    if constexpr (bytes::kIsPlain<T>) {
      if (count > rest_.size() / sizeof(T)) refuse_message("it ends too soon");
      const std::string_view from = take(count * sizeof(T));
      value.resize(count);
      if (count > 0) std::memcpy(value.data(), from.data(), from.size());
    } else {
      // None is reserved: a count that is too large ends where the bytes do.
      if (count > rest_.size()) refuse_message("it ends too soon");
      value.clear();
      for (std::uint64_t i = 0; i < count; ++i) value.push_back(get<T>());
    }
  }
  template <class T>
  void fill_shared(std::shared_ptr<const T>& value) {
    const auto number = get<std::uint64_t>();
    if (number == 0) {  // what begins with something is never without it
      if (value) refuse_message("a part of it is missing");
      return;
    }
    if (number == last_ + 1) {
      ++last_;
      const auto object = std::make_shared<T>();
      fill(*object);
      if (made) made(std::type_index(typeid(T)), object.get(), number);
      value = object;
      known_.insert_or_assign(number, Known{std::type_index(typeid(T)), value});
      return;
    }
    const auto known = known_.find(number);
    if (known == known_.end() || known->second.type != std::type_index(typeid(T)))
      refuse_message("it speaks of what was not sent");
    value = std::static_pointer_cast<const T>(known->second.object);
  }
  template <class T, std::size_t... Place>
  void fill_variant(T& value, std::uint64_t index, std::index_sequence<Place...> /*places*/) {
    const bool known = ((index == Place && (fill(value.template emplace<Place>()), true)) || ...);
    if (!known) refuse_message("its kind is unknown");
  }

  std::string_view rest_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Known> known_;
};

}  // namespace warpscope::training
