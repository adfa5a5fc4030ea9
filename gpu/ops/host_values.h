#pragma once
// Operands on the host as bytes, and their values as doubles, for every element type. IEEE binary16 and
// bfloat16 are rounded to nearest, ties to even.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "gpu/core/types.h"
#include "gpu/ops/names.h"

namespace warpscope::ops {

using Bytes = std::vector<std::byte>;

/// The bytes of `values` as elements of `type`: f64, f32, f16, bf16 or u8.
Bytes encode(std::span<const double> values, core::ElementType type);

/// The values of elements of `type`: f64, f32, f16, bf16 or u8. 16-bit subnormals, infinities and NaN
/// included.
std::vector<double> decode(std::span<const std::byte> bytes, core::ElementType type);

/// The bytes of the operands of a call, by name; empty for all other names, and where an input need not be
/// given.
class Operands {
 public:
  Operands() = default;
  Operands(std::initializer_list<std::pair<Name, Bytes>> list) {
    for (const auto& [name, bytes] : list) bytes_[name] = bytes;
  }
  Bytes& operator[](Name name) { return bytes_[name]; }
  const Bytes& operator[](Name name) const { return bytes_[name]; }
  bool operator==(const Operands& other) const { return bytes_.values == other.bytes_.values; }

 private:
  ByName<Bytes> bytes_;
};

}  // namespace warpscope::ops
