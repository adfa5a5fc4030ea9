#pragma once
// How GoogleTest prints a variant.

#include <ostream>

#include "gpu/ops/variant.h"

namespace warpscope::ops {

inline void PrintTo(const Variant& variant, std::ostream* stream) {
  *stream << to_string(variant.op) << " " << variant.name << " on " << to_string(variant.device);
}

}  // namespace warpscope::ops
