#include "app/bench_shapes.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/former_ops.h"

namespace warpscope::app {
namespace {

using ops::Op;

constexpr std::int64_t kMostElements = std::int64_t{1} << 34;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw core::BadInput(fmt::format(
      "--shape '{}': {}; valid: NxHxWxC:KxRxS (convolutions), NxHxWxC:RxS (pooling), NxC:K (linear layers), "
      "NxHxWxC (others; pooling: 2x2)",
      text, why));
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

/// A shape as typed and as contracts describe it.
struct TypedShape {
  ops::OpShape shape;
  std::string described;
};

TypedShape parse(const std::string& text) {
  const auto colon = text.find(':');
  const auto input = numbers_of(text.substr(0, colon), text);
  const auto weights = numbers_of(colon == std::string::npos ? std::string() : text.substr(colon + 1), text);
  ops::OpShape shape;
  if (input.size() == 2 && weights.size() == 1) {
    shape.batch = input[0];
    shape.in_channels = input[1];
    shape.out_channels = weights[0];
    return {shape, fmt::format("{} -> {}", fmt::join(input, "x"), weights[0])};
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
    return {shape, fmt::format("{} -> {}, {}x{}", fmt::join(input, "x"), weights[0], weights[1], weights[2])};
  }
  if (weights.size() == 2) {
    shape.kernel_height = weights[0];
    shape.kernel_width = weights[1];
    if (std::max(weights[0], weights[1]) > 3) refuse(text, "windows of pooling have extents of 1 to 3");
    if (weights[0] * weights[1] == 1) refuse(text, "a window of one pixel pools nothing");
    if (weights[0] == 2 && weights[1] == 2) refuse(text, "a window of 2x2 is what pooling has without :RxS");
    return {shape, fmt::format("{}, {}x{}", fmt::join(input, "x"), weights[0], weights[1])};
  }
  if (colon != std::string::npos) refuse(text, "a kernel has three extents, a window two");
  return {shape, fmt::format("{}", fmt::join(input, "x"))};
}

/// True if the shape can be of this op: it belongs to a layer, and its contract describes shapes this way.
bool takes(const ops::OpContract& contract, const TypedShape& typed) {
  if (contract.scope != ops::Scope::layer) return false;
  return contract.describe(ops::shape_now(contract.op, typed.shape)) == typed.described;
}

void check_size(const std::string& text, const ops::OpContract& contract, const ops::OpShape& shape) {
  for (const ops::Operand& operand : contract.operands) {
    const std::int64_t elements = operand.elements(shape);
    if (elements > kMostElements) refuse(text, "an operand would have more than 2^34 elements");
    if (elements < 1)
      refuse(text, fmt::format("{} would have nothing to do on so few pixels", contract.name));
  }
}

}  // namespace

std::vector<profiling::BenchCase> cases_of_shape(const std::string& text, const std::vector<Op>& ops) {
  const TypedShape typed = parse(text);
  std::vector<profiling::BenchCase> cases;
  for (const ops::OpContract& contract : ops::contracts()) {
    if (!takes(contract, typed)) continue;
    if (!ops.empty() && std::find(ops.begin(), ops.end(), contract.op) == ops.end()) continue;
    const ops::OpShape shape = ops::shape_now(contract.op, typed.shape);  // without a window: of 2x2
    check_size(text, contract, shape);
    cases.push_back({contract.op, "", shape});
  }
  if (cases.empty()) refuse(text, "none of the operations of --op takes a shape of this form");
  return cases;
}

}  // namespace warpscope::app
