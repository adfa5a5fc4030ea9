#include "gpu/user_kernels/templates.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/ops/parameters.h"
#include "gpu/ops/shape_sizes.h"
#include "gpu/user_kernels/layout.h"
#include "gpu/user_kernels/source.h"

namespace warpscope::user_kernels {
namespace {

using ops::Access;
using ops::Role;

constexpr std::string_view kBody = ".body";

const ShippedText* body_of(ops::Op op) {
  const std::string name = fmt::format("{}{}", ops::to_string(op), kBody);
  const auto found = std::ranges::find(shipped_texts(), name, &ShippedText::name);
  return found == shipped_texts().end() ? nullptr : &*found;
}

/// What an element is in FP32.
std::string_view element_of(const ops::Operand& operand) {
  if (operand.role == Role::byte) return "unsigned char";
  return operand.role == Role::index ? "unsigned" : "float";
}

std::size_t indices_of(const OperandLayout& layout) {
  return std::max<std::size_t>(1, layout.extents.size());
}

/// "batch x height x width x in_channels"
std::string extents_text(const OperandLayout& layout) {
  std::string text;
  for (const Extent* each : layout.extents) {
    text += text.empty() ? "" : " x ";
    text += each->name;
  }
  return text.empty() ? "1" : text;
}

/// "call.input(n, h, w, c)"
std::string place_text(const OperandLayout& layout) {
  std::string text;
  for (const Extent* each : layout.extents) {
    text += text.empty() ? "" : ", ";
    text += each->letter;
  }
  return fmt::format("call.{}({})", ops::to_string(layout.operand.name), text.empty() ? "0" : text);
}

/// Calls visit(type, name, number) with each parameter that `op` reads.
template <class Visit>
void for_each_parameter(ops::Op op, const Visit& visit) {
  const auto& read = ops::contract(op).parameters;
  int number = 0;
  const ops::OpShape shape;
  ops::visit_parameters(shape, [&](ops::Parameter parameter, auto value, auto) {
    using Type = decltype(value);
    const int own = number++;
    if (std::ranges::find(read, parameter) == read.end()) return;
    const char* const type = std::is_same_v<Type, bool>       ? "bool"
                             : std::is_floating_point_v<Type> ? "float"
                                                              : "Index";
    visit(type, ops::row_of(parameter).name, own);
  });
}

/// The comment that says what the kernel is given and has to give.
std::string contract_text(ops::Op op) {
  std::string text = "// Operands, row-major, the last index the fastest:\n";
  for (const OperandLayout& each : layouts_of(op)) {
    const bool read = each.operand.access == Access::read;
    text += fmt::format("//   {:<34} {:<13} {}   {}\n", place_text(each), element_of(each.operand),
                        read ? "read   " : "written", extents_text(each));
  }
  text += "// Extents:   ";
  for (const std::string_view size : sizes_read(op)) text += fmt::format(" call.{}", size);
  std::string parameters;
  for_each_parameter(
      op, [&](const char*, std::string_view name, int) { parameters += fmt::format(" call.{}", name); });
  if (!parameters.empty()) text += "\n// Parameters:" + parameters;
  return text +
         "\n// What is written holds nothing that means anything before, and lies apart from what is read, "
         "which must\n"
         "// stay as it is. Each element has to be written. The same inputs give the same bits.\n";
}

/// `text` with `blanks` before each of its lines.
std::string indented(std::string_view text, std::size_t blanks) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += std::string(end > 0 ? blanks : 0, ' ') + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

const OperandLayout& first_written(const std::vector<OperandLayout>& layouts) {
  return *std::ranges::find_if(layouts, [](const auto& each) { return each.operand.access != Access::read; });
}

/// A loop for each index of `written` around the body.
std::string loops(const OperandLayout& written, std::string_view body) {
  std::string text = "WARPSCOPE_KERNEL(call) {\n";
  std::size_t depth = 1;
  for (std::size_t i = 0; i < written.extents.size(); ++i, ++depth) {
    text += fmt::format("{0:{1}}for (Index {2} = 0; {2} < call.{3}.extent({4}); ++{2}) {{\n", "", 2 * depth,
                        written.extents[i]->letter, ops::to_string(written.operand.name), i);
  }
  text += indented(body, 2 * depth);
  while (depth > 0) text += fmt::format("{:{}}}}\n", "", 2 * --depth);
  return text;
}

/// A thread for each element of `written`.
std::string threads(const OperandLayout& written, std::string_view body) {
  const std::string_view name = ops::to_string(written.operand.name);
  std::string text = fmt::format(
      "constexpr int kThreads = 256;\nWARPSCOPE_LAUNCH(call, kThreads, (call.{0}.size() + kThreads - 1) / "
      "kThreads)\n\n"
      "WARPSCOPE_KERNEL(call) {{\n"
      "  Index element = Index{{blockIdx.x}} * kThreads + threadIdx.x;\n"
      "  if (element >= call.{0}.size()) return;\n",
      name);
  for (std::size_t i = written.extents.size(); i-- > 0;) {
    text += fmt::format("  const Index {} = element % call.{}.extent({});\n", written.extents[i]->letter,
                        name, i);
    if (i > 0) text += fmt::format("  element /= call.{}.extent({});\n", name, i);
  }
  return text + indented(body, 2) + "}\n";
}

}  // namespace

std::vector<ops::Op> offered_ops() {
  std::vector<ops::Op> offered;
  for (const ops::OpContract& contract : ops::contracts()) {
    if (body_of(contract.op) != nullptr && no_user_kernels(contract.op).empty())
      offered.push_back(contract.op);
  }
  return offered;
}

ops::Op parse_offered_op(std::string_view name) {
  std::string valid;
  for (const ops::Op op : offered_ops()) {
    if (name == ops::to_string(op)) return op;
    valid += valid.empty() ? "" : ", ";
    valid += ops::to_string(op);
  }
  throw core::BadInput(fmt::format("nobody can write kernels of the operation '{}'; valid: {}", name, valid));
}

std::string header_of(ops::Op op) {
  const std::vector<OperandLayout> layouts = layouts_of(op);
  std::string text = fmt::format("#pragma once\n// {}: {}\n\n#include <warpscope/kernel.h>\n\n",
                                 ops::to_string(op), ops::contract(op).summary);
  text += fmt::format(
      "namespace warpscope::kernel {{\n\ninline constexpr const char* kOp = \"{}\";\n\nstruct Call {{\n"
      "  WARPSCOPE_INLINE explicit Call(const RawCall& raw)\n      : ",
      ops::to_string(op));
  std::string members;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const OperandLayout& each = layouts[i];
    const std::string_view name = ops::to_string(each.operand.name);
    text += fmt::format("{}(raw, {}),\n        ", name, i);
    members +=
        fmt::format("  View<{}{}, {}> {};  ///< {}\n", each.operand.access == Access::read ? "const " : "",
                    element_of(each.operand), indices_of(each), name, extents_text(each));
  }
  int number = 0;
  const ops::OpShape shape;
  ops::visit_sizes(shape, [&](const char* name, auto) {
    text += fmt::format("{}{}(raw.sizes[{}])", number == 0 ? "" : ",\n        ", name, number);
    members += fmt::format("  Index {};\n", name);
    ++number;
  });
  for_each_parameter(op, [&](const char* type, std::string_view name, int own) {
    text += fmt::format(",\n        {}(static_cast<{}>(raw.parameters[{}]))", name, type, own);
    members += fmt::format("  {} {};\n", type, name);
  });
  return text + " {}\n\n" + members +
         "};\n\n}  // namespace warpscope::kernel\n\nusing warpscope::kernel::Index;\n";
}

std::string template_of(ops::Op op, Language language, std::string_view file) {
  const std::string_view name = ops::to_string(op);
  const std::string variant = variant_name_of(file);
  const std::string told = files::sayable(file);  // a line break in a name ends a comment
  const std::string check = fmt::format("warpscope kernel check {}", told);
  const std::string train = fmt::format("warpscope train --kernel {} --select {}={}", told, name, variant);
  std::string text = fmt::format("// {} by yourself: {}.\n//\n", name, ops::contract(op).summary);
  text += fmt::format("//   {:<{}}   compiles it, proves it, times it\n", check, train.size());
  text += fmt::format("//   {}   trains with it\n//\n", train);
  text += contract_text(op);
  text += fmt::format("\n#include <warpscope/{}.h>\n\n", name);
  const std::vector<OperandLayout> layouts = layouts_of(op);
  const OperandLayout& written = first_written(layouts);
  const std::string_view body = body_of(op)->text;
  return text + (language == Language::cpp ? loops(written, body) : threads(written, body));
}

}  // namespace warpscope::user_kernels
