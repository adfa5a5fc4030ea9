#pragma once
// Numbers of elements that contracts share (OpContract::operands).

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

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
/// Elements of the op's input, an image batch.
inline std::int64_t input(const OpShape& s) {
  return pixels(s) * s.in_channels;
}
inline std::int64_t in_channels(const OpShape& s) {
  return s.in_channels;
}
inline std::int64_t out_channels(const OpShape& s) {
  return s.out_channels;
}
/// Elements of a batch without pixels.
inline std::int64_t features_in(const OpShape& s) {
  return s.batch * s.in_channels;
}
inline std::int64_t features_out(const OpShape& s) {
  return s.batch * s.out_channels;
}
/// Pixels of what a convolution gives.
inline std::int64_t output_pixels(const OpShape& s) {
  return s.batch * output_height(s) * output_width(s);
}
inline std::int64_t output(const OpShape& s) {
  return output_pixels(s) * s.out_channels;
}
/// The images of a data set.
inline std::int64_t data_set(const OpShape& s) {
  return s.count * s.height * s.width * s.in_channels;
}
/// Only what is picked of a data set counts (OpContract::touched).
inline OpShape picked(const OpShape& s) {
  OpShape touched = s;
  touched.count = s.batch;
  return touched;
}
/// Parts of a sum over all parameters.
inline std::int64_t sum_parts(const OpShape&) {
  return kSumParts;
}
std::int64_t step_control(const OpShape&);
std::int64_t step_metrics(const OpShape&);
std::int64_t step_statistics(const OpShape&);

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
inline OpContract each_element(const char* name, const char* summary, std::span<const Operand> operands,
                               std::vector<Parameter> parameters = {}) {
  return {.name = name,
          .summary = summary,
          .operands = operands,
          .flops = one_flop_each,
          .describe = describe_images,
          .parameters = std::move(parameters)};
}

}  // namespace warpscope::ops::sizes
