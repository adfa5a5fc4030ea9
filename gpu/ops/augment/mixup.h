#pragma once
// The share of a batch that is mixed, for the images and for the losses of their labels.
//
//   S = l if b, else 1 - l, each with probability 1/2,   l = 1/2 (1 - q),   q = c sqrt((1 - w) / (c^2 + w s^2)),
//   w = U^(1 / alpha),   s = sin(pi/2 V),   c = cos(pi/2 V),   U and V uniform in (0, 1)
//
// where U and V are (2 k + 1) 2^-24 for the whole numbers k of bits 0 to 22 and 23 to 45 of
// random_bits(key, 2^64 - 1), key as in augment.cpp, and b is bit 63. S is Beta(alpha, alpha): L. Devroye, "Random
// variate generation in one line of code" (1996), for symmetric beta distributions, after R. Bailey, "Polar
// generation of random variates with the t-distribution" (1994). l is computed as w / (2 (c^2 + w s^2) (1 + q)), so
// that small shares keep their digits. In FP32 its relative error is about 10^-7 (1 + |log U| / alpha); U, V and b
// are the same bits everywhere.

#include <cmath>
#include <cstdint>

#include "gpu/core/both.h"
#include "gpu/ops/dropout/mask.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::augment {

/// Part of the key of what is drawn here: no layer has this number.
inline constexpr std::uint32_t kSalt = 0xA0C3E5D7u;
/// The counter of the batch's bits: no image has this one.
inline constexpr std::uint64_t kBatchCounter = ~std::uint64_t{0};

/// How much of image n and of the next one there is in image n of a mixed batch; the sum is 1.
template <class Real>
struct Shares {
  Real own;
  Real next;
  bool next_leads;  ///< the next image has the larger one
};

/// The image that image n of a batch of `images` is mixed with.
WARPSCOPE_BOTH inline std::int64_t partner_of(std::int64_t n, std::int64_t images) {
  return n + 1 == images ? 0 : n + 1;
}

/// sin(pi/2 x), x in (0, 1).
template <class Real>
WARPSCOPE_BOTH Real sine_of_quarter(Real x) {
#ifdef __CUDA_ARCH__
  return sinpif(x / 2);
#else
  return std::sin(static_cast<Real>(1.57079632679489661923) * x);
#endif
}

/// The number (2 k + 1) 2^-24 of the 23 lowest bits k: never 0 or 1, and exact as 1 - it is.
template <class Real>
WARPSCOPE_BOTH Real open_unit(std::uint64_t bits) {
  return static_cast<Real>(2 * (bits & 0x7FFFFFu) + 1) * static_cast<Real>(0x1p-24);
}

/// The shares of the (micro-)batch at hand.
template <class Real>
WARPSCOPE_BOTH Shares<Real> shares_of(const step::StepControl& control) {
  if (!(control.mixup > 0.0f)) return {Real{1}, Real{0}, false};
  const std::uint64_t bits = core::random_bits(dropout::key_of(control, kSalt), kBatchCounter);
  const Real exponent = std::log(open_unit<Real>(bits)) / static_cast<Real>(control.mixup);
  const Real v = open_unit<Real>(bits >> 23);
  const Real w = std::exp(exponent);
  const Real s = sine_of_quarter(v);
  const Real c = sine_of_quarter(Real{1} - v);
  const Real both = c * c + w * s * s;
  const Real q = c * std::sqrt(-std::expm1(exponent) / both);
  const Real less = w / (2 * both * (1 + q));
  const bool next_leads = (bits >> 63) != 0;
  return next_leads ? Shares<Real>{less, 1 - less, true} : Shares<Real>{1 - less, less, false};
}

}  // namespace warpscope::ops::augment
