#include "app/bench_shapes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/models/layer.h"
#include "gpu/ops/symbols.h"

namespace warpscope::app {
namespace {

using ops::Op;

constexpr std::int64_t kMostElements = std::int64_t{1} << 34;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw core::BadInput(
      fmt::format("--shape '{}': {}; valid: NxHxWxC:KxRxS (convolutions; behind it :stride2, :dilationD, "
                  ":valid), NxHxWxC:RxS "
                  "(pooling), NxC:K (linear layers), NxHxWx1:C (one-hot characters), NxHxWx1:VxD (embeddings "
                  "of more than 3 rows), "
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

/// The parts between colons.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', begin)) {
    parts.push_back(text.substr(begin, colon - begin));
    begin = colon + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// The largest that layers may have.
int most_of(std::string_view field) {
  for (const models::LayerField& each : models::row_of(models::LayerKind::conv2d).fields) {
    if (each.key == field) return static_cast<int>(each.most);
  }
  throw std::logic_error("convolutions have no such field");
}

/// "stride2", "dilation3" and "valid" behind a convolution's kernel.
void read_convolution_word(const std::string& word, ops::OpShape& shape, const std::string& text) {
  if (word == "valid") {
    shape.valid = true;
    return;
  }
  for (const auto& [name, field] : {std::pair{std::string_view("stride"), &ops::OpShape::stride},
                                    std::pair{std::string_view("dilation"), &ops::OpShape::dilation}}) {
    if (!word.starts_with(name)) continue;
    const std::vector<int> numbers = numbers_of(word.substr(name.size()), text);
    const int most = most_of(name);
    if (numbers.size() != 1 || numbers[0] > most) {
      refuse(text, fmt::format("{} is a number from 1 to {}", name, most));
    }
    shape.*field = numbers[0];
    return;
  }
  refuse(text, fmt::format("'{}' says nothing of a convolution", word));
}

/// A shape as typed and as contracts describe it.
struct TypedShape {
  ops::OpShape shape;
  std::string described;
};

TypedShape parse(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text);
  const auto input = numbers_of(parts[0], text);
  const auto weights = numbers_of(parts.size() == 1 ? std::string() : parts[1], text);
  if (parts.size() > 2 && weights.size() != 3) refuse(text, "nothing more is said of what is no convolution");
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
    for (std::size_t i = 2; i < parts.size(); ++i) read_convolution_word(parts[i], shape, text);
    return {shape, fmt::format("{} -> {}, {}x{}", fmt::join(input, "x"), weights[0], weights[1], weights[2])};
  }
  if (weights.size() == 1 && input[3] == 1) {
    shape.out_channels = weights[0];
    if (weights[0] > ops::kMostSymbols) refuse(text, "a byte tells at most 255 characters apart");
    return {shape, fmt::format("{} -> {}", fmt::join(input, "x"), weights[0])};
  }
  if (weights.size() == 2 && input[3] == 1 && weights[0] > 3) {
    shape.count = weights[0];
    shape.out_channels = weights[1];
    if (weights[0] > ops::kMostSymbols + 1) refuse(text, "an embedding of bytes has at most 256 rows");
    return {shape, fmt::format("{}, {}x{}", fmt::join(input, "x"), weights[0], weights[1])};
  }
  if (weights.size() == 2) {
    shape.kernel_height = weights[0];
    shape.kernel_width = weights[1];
    if (std::max(weights[0], weights[1]) > 3) refuse(text, "windows of pooling have extents of 1 to 3");
    if (weights[0] * weights[1] == 1) refuse(text, "a window of one pixel pools nothing");
    if (weights[0] == 2 && weights[1] == 2) refuse(text, "a window of 2x2 is what pooling has without :RxS");
    return {shape, fmt::format("{}, {}x{}", fmt::join(input, "x"), weights[0], weights[1])};
  }
  if (parts.size() > 1) refuse(text, "a kernel has three extents, a window two");
  return {shape, fmt::format("{}", fmt::join(input, "x"))};
}

/// The shape if it can be of this op: it belongs to a layer, and its contract describes shapes as typed. A window that
/// was not typed is one of 2x2.
std::optional<ops::OpShape> shape_for(const ops::OpContract& contract, const TypedShape& typed) {
  if (contract.scope != ops::Scope::layer) return std::nullopt;
  ops::OpShape shape = typed.shape;
  if (contract.describe(shape) == typed.described) return shape;
  shape.kernel_height = shape.kernel_width = 2;
  if (contract.describe(shape) == typed.described) return shape;
  return std::nullopt;
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
    const std::optional<ops::OpShape> shape = shape_for(contract, typed);
    if (!shape) continue;
    if (!ops.empty() && std::find(ops.begin(), ops.end(), contract.op) == ops.end()) continue;
    check_size(text, contract, *shape);
    cases.push_back({contract.op, "", *shape});
  }
  if (cases.empty()) refuse(text, "none of the operations of --op takes a shape of this form");
  return cases;
}

}  // namespace warpscope::app
