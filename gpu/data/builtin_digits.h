#pragma once
// The built-in digits: drawn by strokes, so that the MLP trains on a machine that has no MNIST.

#include <cstdint>

#include "gpu/data/dataset.h"

namespace warpscope::data {

/// `train` and `test` grey images of 28x28x1 of the digits 0 to 9, light on black as in MNIST: strokes in
/// several hands (a 7 with and without a bar, an open and a closed 4), turned, slanted, stretched, bent and
/// shifted at random, with pens of several widths, stray marks and a little noise. Every ten images from the
/// first on hold each digit once, in random order. Classes are "0" to "9".
///
/// Image i depends on i, its set and `seed` alone: a smaller set is the beginning of a larger one, and the
/// bits are the same on every machine and for any number of `threads` (0: one for each core). All arithmetic
/// is on integers, but for square roots, which IEEE 754 rounds correctly everywhere.
///
/// Throws BadInput if a count is negative or above 10,000,000.
DataSet make_builtin_digits(std::int64_t train = 12'000, std::int64_t test = 2'000, std::uint64_t seed = 0,
                            int threads = 0);

}  // namespace warpscope::data
