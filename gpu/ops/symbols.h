#pragma once
// Characters and other symbols on their way through a network: bytes that batch.gather divides by 255. Byte k comes
// back exactly from each precision, because k / 255 is nearer to what is stored than half of 1 / 255: the error of BF16
// is at most 2^-9 below 1, that of the others less.

#include "gpu/core/both.h"

namespace warpscope::ops {

/// The symbol that stands as `x`: round(255 x) if that is 1 to `most`, which is at most 255, else 0. NaN is 0 too.
WARPSCOPE_BOTH inline int symbol_of(float x, int most) {
  const float above = 255.0f * x + 0.5f;
  return above >= 1.0f && above < static_cast<float>(most + 1) ? static_cast<int>(above) : 0;
}

/// The most symbols beside 0 that a byte tells apart.
inline constexpr int kMostSymbols = 255;

}  // namespace warpscope::ops
