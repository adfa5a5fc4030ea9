#include "app/bench_shapes.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::app {
namespace {

using ops::Op;

constexpr std::int64_t kMostElements = std::int64_t{1} << 34;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw core::BadInput(fmt::format(
      "--shape '{}': {}; valid: NxHxWxC:KxRxS (convolutions), NxC:K (linear layers), NxHxWxC (others)", text,
      why));
}

/// "64x16x3": positive numbers; nothing for "".
std::vector<int> numbers_of(const std::string& part, const std::string& text) {
  std::vector<int> numbers;
  const char* at = part.data();
  const char* const end = at + part.size();
  while (at != end) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 1) refuse(text, "not a list of positive numbers");
    numbers.push_back(number);
    at = next;
    if (at == end) break;
    if (*at != 'x' || ++at == end) refuse(text, "numbers are separated by x");
  }
  return numbers;
}

/// Which ops take a shape of this form, and the shape.
std::vector<Op> parse(const std::string& text, ops::OpShape& shape) {
  const auto colon = text.find(':');
  const auto input = numbers_of(text.substr(0, colon), text);
  const auto weights = numbers_of(colon == std::string::npos ? std::string() : text.substr(colon + 1), text);
  if (input.size() == 2 && weights.size() == 1) {
    shape.batch = input[0];
    shape.in_channels = input[1];
    shape.out_channels = weights[0];
    return {Op::linear_forward, Op::linear_backward_input, Op::linear_backward_weights,
            Op::linear_backward_bias};
  }
  if (input.size() != 4) refuse(text, "an image has four extents");
  shape.batch = input[0];
  shape.height = input[1];
  shape.width = input[2];
  shape.in_channels = shape.out_channels = input[3];
  if (weights.size() == 3) {
    shape.out_channels = weights[0];
    shape.kernel_height = weights[1];
    shape.kernel_width = weights[2];
    if (shape.kernel_height % 2 == 0 || shape.kernel_width % 2 == 0) refuse(text, "kernels have odd extents");
    return {Op::conv2d_forward, Op::conv2d_backward_input, Op::conv2d_backward_weights,
            Op::conv2d_backward_bias};
  }
  if (colon != std::string::npos) refuse(text, "a kernel has three extents");
  return {Op::bias_forward,        Op::relu_forward,       Op::relu_backward,
          Op::maxpool2d_forward,   Op::maxpool2d_backward, Op::upsample2d_forward,
          Op::upsample2d_backward, Op::mse_forward,        Op::mse_backward};
}

void check_size(const std::string& text, Op op, const ops::OpShape& shape) {
  for (const ops::Operand& operand : ops::contract(op).operands) {
    if (operand.elements(shape) > kMostElements)
      refuse(text, "an operand would have more than 2^34 elements");
  }
  const bool pools = op == Op::maxpool2d_forward || op == Op::maxpool2d_backward;
  if (pools && (shape.height < 2 || shape.width < 2)) refuse(text, "pooling needs at least 2x2 pixels");
}

}  // namespace

std::vector<profiling::BenchCase> cases_of_shape(const std::string& text, const std::vector<Op>& ops) {
  ops::OpShape shape;
  std::vector<profiling::BenchCase> cases;
  for (const Op op : parse(text, shape)) {
    if (!ops.empty() && std::find(ops.begin(), ops.end(), op) == ops.end()) continue;
    check_size(text, op, shape);
    cases.push_back({op, "", shape});
  }
  if (cases.empty()) refuse(text, "none of the operations of --op takes a shape of this form");
  return cases;
}

}  // namespace warpscope::app
