#pragma once
// Numbers of elements that contracts share (OpContract::operands).

#include <cstdint>
#include <span>
#include <string>

#include "gpu/ops/op.h"

namespace warpscope::ops::sizes {

inline std::int64_t one(const OpShape&) {
  return 1;
}
inline std::int64_t batch(const OpShape& s) {
  return s.batch;
}
inline std::int64_t count(const OpShape& s) {
  return s.count;
}
inline std::int64_t pixels(const OpShape& s) {
  return s.batch * s.height * s.width;
}
/// Of the op's input, an image batch.
inline std::int64_t input(const OpShape& s) {
  return pixels(s) * s.in_channels;
}
inline std::int64_t in_channels(const OpShape& s) {
  return s.in_channels;
}
inline std::int64_t out_channels(const OpShape& s) {
  return s.out_channels;
}
/// Of a batch without pixels.
inline std::int64_t features_in(const OpShape& s) {
  return s.batch * s.in_channels;
}
inline std::int64_t features_out(const OpShape& s) {
  return s.batch * s.out_channels;
}
/// Of what a convolution gives.
inline std::int64_t output_pixels(const OpShape& s) {
  return s.batch * output_height(s) * output_width(s);
}
inline std::int64_t output(const OpShape& s) {
  return output_pixels(s) * s.out_channels;
}
/// Parts of a sum over all parameters.
inline std::int64_t sum_parts(const OpShape&) {
  return kSumParts;
}
std::int64_t step_control(const OpShape&);
std::int64_t step_metrics(const OpShape&);
std::int64_t step_statistics(const OpShape&);

inline double no_flops(const OpShape&) {
  return 0.0;
}
inline std::int64_t two_terms(const OpShape&) {
  return 2;
}
inline double one_flop_each(const OpShape& s) {
  return static_cast<double>(input(s));
}

/// "64x32x32x3"
std::string describe_images(const OpShape& shape);
/// "751875 parameters"
std::string describe_parameters(const OpShape& shape);

/// The contract of an op that does something with each element of an image batch by itself.
inline OpContract each_element(const char* name, const char* summary, std::span<const Operand> operands) {
  return {.name = name,
          .summary = summary,
          .operands = operands,
          .flops = one_flop_each,
          .terms = one,
          .describe = describe_images};
}

}  // namespace warpscope::ops::sizes
