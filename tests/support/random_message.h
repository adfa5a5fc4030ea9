#pragma once
// Messages with random contents.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gpu/core/enumerators.h"
#include "gpu/messages/bytes_of_messages.h"

namespace warpscope::ops {

// What counts is made to fit what it counts, by an overload for each object that a reader looks at (consistent.h).
inline void make_consistent(OpShape& shape) {
  shape.batch &= 0xFFFF;
  shape.count &= 0xFFFF;
  for (int* const size : {&shape.height, &shape.width, &shape.in_channels, &shape.out_channels,
                          &shape.kernel_height, &shape.kernel_width}) {
    *size &= 0xFF;
  }
  visit_parameters(shape, [](Parameter parameter, auto& field, auto standard) {
    const auto value = static_cast<double>(field);
    const ParameterRow& row = row_of(parameter);
    if (!(value >= row.least && value <= row.most)) field = standard;
  });
}

}  // namespace warpscope::ops

namespace warpscope::data {

inline void make_consistent(ImageSet& set) {
  set.height = 2;
  set.width = 3;
  set.channels = 1;
  set.count = static_cast<std::int64_t>(set.labels.size());
  set.pixels.resize(6 * set.labels.size());
  set.texts.clear();
}
inline void make_consistent(OwnImages& images) {
  images.names.resize(images.set.labels.size());
}

}  // namespace warpscope::data

namespace warpscope::training {

inline void make_consistent(Evaluation& e) {
  e.classes = 3;
  e.confusion.resize(9);
  e.predicted.resize(e.image_losses.size());
  for (std::uint8_t& predicted : e.predicted) predicted %= 3;
  e.positions.clear();
}
inline void make_consistent(ImageFacts& facts) {
  facts.height = facts.width = facts.channels = 1;
  facts.count = static_cast<std::int64_t>(facts.labels.size());
  for (std::uint8_t& label : facts.labels) label %= 3;
}
inline void make_consistent(Snapshot& snapshot) {
  if (snapshot.network) snapshot.network = std::make_shared<models::Model>(models::find_model("mlp"));
}
inline void make_consistent(LayerOutput& output) {
  output.height = output.width = 1;
  output.channels = static_cast<int>(output.values.size());
}
inline void make_consistent(Inspection& inspection) {
  inspection.gradients.resize(inspection.parameters.size());
}
inline void make_consistent(LatentMap& map) {
  map.problem.clear();
  map.latent.extent = {1, 2, 1};
  map.count = 3;
  map.rank = 1;
  map.values.resize(6);
  map.mean.resize(2);
  map.components.resize(2);
  map.scores.resize(3);
  map.sigmas.resize(1);
  map.shares.resize(1);
}
inline void make_consistent(KeptView& view) {
  std::visit(
      [](auto& one) {
        if (!one) one = std::make_shared<typename std::remove_cvref_t<decltype(one)>::element_type>();
      },
      view.seen);
}
inline void make_consistent(LatentPictures& pictures) {
  pictures.height = pictures.width = pictures.channels = 1;
  pictures.pixels.resize(pictures.recipes.size());
  pictures.places.resize(pictures.recipes.size());
}
inline void make_consistent(ComparisonRequest& request) {
  request.count &= 0xFF;
}
inline void make_consistent(Comparison& comparison) {
  comparison.shape = {1, 1, 2, 1};
  comparison.original.resize(2);
  comparison.reconstructions.resize(comparison.request.reconstructors.size());
  for (Reconstruction& each : comparison.reconstructions) {
    each.values.resize(2);
    each.errors.resize(1);
  }
}
inline void make_consistent(Distributions& distributions) {
  std::erase(distributions.moments, nullptr);
  distributions.moments.resize(std::min<std::size_t>(distributions.moments.size(), 1));
}
inline void make_consistent(ChannelActivations& activations) {
  activations.images = activations.means.size();
  activations.channels = 1;
  activations.maxima.resize(activations.means.size());
}
inline void make_consistent(TextAttribution& text) {
  text.scores.resize(2);
  text.target = 1;
  text.known.resize(text.shares.size());
}
inline void make_consistent(UserKernel& kernel) {
  std::erase(kernel.versions, nullptr);
  kernel.versions.resize(std::min<std::size_t>(kernel.versions.size(), 1));
}
inline void make_consistent(ShownImages& images) {
  images.shape = {2, 1, 1, 1};
  for (std::vector<float>* const values : {&images.original, &images.reconstruction, &images.errors})
    values->resize(2);
}

}  // namespace warpscope::training

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
      value = static_cast<T>(below(static_cast<std::size_t>(core::enumerators<T>())));
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
      training::with_members(value, [&](auto&... members) { (fill(members), ...); });
    }
    if constexpr (requires { make_consistent(value); }) make_consistent(value);
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
