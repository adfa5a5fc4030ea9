#include "gpu/core/types.h"

#include <array>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::core {

std::size_t size_of(ElementType type) {
  constexpr std::array<std::size_t, 7> kBytes{4, 2, 2, 8, 1, 4, 1};  // in the order of ElementType
  return kBytes.at(static_cast<std::size_t>(type));
}

std::string_view to_string(DeviceKind kind) {
  return kind == DeviceKind::cpu ? "cpu" : "cuda";
}

std::string_view to_string(Precision precision) {
  constexpr std::array<std::string_view, 5> kNames{"fp32", "tf32", "fp16", "bf16", "fp64"};
  return kNames.at(static_cast<std::size_t>(precision));
}

std::string_view to_string(ElementType type) {
  constexpr std::array<std::string_view, 7> kNames{"f32", "f16", "bf16", "f64", "u8", "u32", "bytes"};
  return kNames.at(static_cast<std::size_t>(type));
}

std::span<const Precision> selectable_precisions() {
  static constexpr std::array kPrecisions{Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16};
  return kPrecisions;
}

std::vector<Precision> or_selectable(std::vector<Precision> chosen) {
  const auto all = selectable_precisions();
  if (chosen.empty()) chosen.assign(all.begin(), all.end());
  return chosen;
}

std::string names_of(std::span<const Precision> precisions) {
  std::vector<std::string_view> names;
  for (const Precision precision : precisions) names.push_back(to_string(precision));
  return fmt::format("{}", fmt::join(names, ", "));
}

Precision parse_precision(std::string_view text) {
  for (const Precision precision : selectable_precisions()) {
    if (text == to_string(precision)) return precision;
  }
  throw BadInput(fmt::format("unknown precision '{}'; valid: {}", text, names_of(selectable_precisions())));
}

}  // namespace warpscope::core
