#include "gpu/core/types.h"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::core {

std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 8;
    case ElementType::f32:
    case ElementType::u32:
      return 4;
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    case ElementType::u8:
    case ElementType::bytes:
      return 1;
  }
  throw std::logic_error("unknown element type");
}

std::string_view to_string(DeviceKind kind) {
  return kind == DeviceKind::cpu ? "cpu" : "cuda";
}

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::fp16:
      return "fp16";
    case Precision::bf16:
      return "bf16";
    case Precision::fp64:
      return "fp64";
  }
  throw std::logic_error("unknown precision");
}

std::string_view to_string(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return "f32";
    case ElementType::f16:
      return "f16";
    case ElementType::bf16:
      return "bf16";
    case ElementType::f64:
      return "f64";
    case ElementType::u8:
      return "u8";
    case ElementType::u32:
      return "u32";
    case ElementType::bytes:
      return "bytes";
  }
  throw std::logic_error("unknown element type");
}

std::span<const Precision> selectable_precisions() {
  static constexpr std::array kPrecisions{Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16};
  return kPrecisions;
}

Precision parse_precision(std::string_view text) {
  std::string valid;
  for (const Precision precision : selectable_precisions()) {
    if (text == to_string(precision)) return precision;
    valid += valid.empty() ? "" : ", ";
    valid += to_string(precision);
  }
  throw BadInput(fmt::format("unknown precision '{}'; valid: {}", text, valid));
}

}  // namespace warpscope::core
