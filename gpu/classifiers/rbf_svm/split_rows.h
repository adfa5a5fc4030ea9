#pragma once
// Rows of features as sums of two FP16 numbers, so that tensor cores multiply them nearly as exactly as FP32 does.
//
// A number x of a column with the mean m becomes z = 2^e (x - m), rounded to FP32, with the e that brings the largest
// |z| of the training rows to [2^13, 2^14), and z = high + low + error with |error| <= max(2^-22 |z|, 2^-25): the
// first as long as `low` is a normal FP16 number, the second being half of its last digit, 2^-38 of the largest
// number. The product of two rows is high high + high low + low high; what is left out is low low, at most 2^-22 of
// each |product|. Centred rows have the same distances and smaller norms, so that less cancels in
// |x|^2 + |y|^2 - 2 x y.
//
// Numbers lie in slabs of 32 columns, 128 bytes: 32 `high`, then 32 `low`; the last slab of a row ends with zeros.

namespace warpscope::classifiers::rbf {

inline constexpr int kSlabColumns = 32;
inline constexpr int kSlabHalves = 2 * kSlabColumns;

/// The largest |z| is below 2^kTopExponent. Rows seen later may be twice as large before they get another
/// exponent of their own.
inline constexpr int kTopExponent = 14;

inline constexpr int slabs_of(int columns) {
  return (columns + kSlabColumns - 1) / kSlabColumns;
}

/// The e for which `largest` 2^e is in [2^13, 2^14); 0 if `largest` is 0.
int exponent_for(double largest);

}  // namespace warpscope::classifiers::rbf
