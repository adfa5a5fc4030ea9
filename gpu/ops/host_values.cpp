#include "gpu/ops/host_values.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace warpscope::ops {
namespace {

using core::ElementType;

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

std::uint16_t to_f16(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | 0x7e00;
  const float size = std::fabs(value);
  if (size >= 65520.0f) return sign | 0x7c00;
  // Scaled so that one unit is the last place of binary16, nearbyint rounds as the format does.
  const int exponent = size < 0x1p-14f ? -14 : std::ilogb(size);
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return static_cast<std::uint16_t>(sign + ((exponent + 14) << 10) + units);
}

float from_f16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  float size = 0;
  if (exponent == 31) {
    size = mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    size = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

template <class Stored, class Convert>
Bytes encode_as(std::span<const double> values, Convert convert) {
  Bytes bytes(values.size() * sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Stored stored = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
  return bytes;
}

template <class Stored, class Convert>
std::vector<double> decode_as(std::span<const std::byte> bytes, Convert convert) {
  std::vector<double> values(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
  return values;
}

}  // namespace

Bytes encode(std::span<const double> values, ElementType type) {
  switch (type) {
    case ElementType::f64:
      return encode_as<double>(values, [](double v) { return v; });
    case ElementType::f32:
      return encode_as<float>(values, [](double v) { return static_cast<float>(v); });
    case ElementType::f16:
      return encode_as<std::uint16_t>(values, [](double v) { return to_f16(static_cast<float>(v)); });
    case ElementType::bf16:
      return encode_as<std::uint16_t>(values, [](double v) { return to_bf16(static_cast<float>(v)); });
    case ElementType::u8:
      return encode_as<std::uint8_t>(values, [](double v) { return static_cast<std::uint8_t>(v); });
    default:
      throw std::logic_error("these elements have no values to encode");
  }
}

std::vector<double> decode(std::span<const std::byte> bytes, ElementType type) {
  switch (type) {
    case ElementType::f64:
      return decode_as<double>(bytes, [](double v) { return v; });
    case ElementType::f32:
      return decode_as<float>(bytes, [](float v) { return double{v}; });
    case ElementType::f16:
      return decode_as<std::uint16_t>(bytes, [](std::uint16_t v) { return from_f16(v); });
    case ElementType::bf16:
      return decode_as<std::uint16_t>(bytes, [](std::uint16_t v) { return from_bf16(v); });
    case ElementType::u8:
      return decode_as<std::uint8_t>(bytes, [](std::uint8_t v) { return static_cast<double>(v); });
    default:
      throw std::logic_error("these elements have no values to decode");
  }
}

}  // namespace warpscope::ops
