#include "gpu/user_kernels/templates.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
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

const ShippedText* body_of(const Task& task) {
  const std::string name = fmt::format("{}{}", to_string(task), kBody);
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

/// What it computes; of a chain, one formula after the other.
std::string summary_of(const Task& task) {
  std::string text(ops::contract(task.op).summary);
  for (std::size_t i = 1; i < task.chain.size(); ++i)
    text.append(", then ").append(ops::contract(task.chain[i].op).summary);
  return text;
}

/// The comment that says what the kernel is given and has to give.
std::string contract_text(const Task& task) {
  std::string text = "// Operands, row-major, the last index the fastest:\n";
  for (const OperandLayout& each : layouts_of(task)) {
    const bool read = each.operand.access == Access::read;
    text += fmt::format("//   {:<34} {:<13} {}   {}\n", place_text(each), element_of(each.operand),
                        read ? "read   " : "written", extents_text(each));
  }
  text += "// Extents:   ";
  for (const std::string_view size : sizes_read(task.op)) text += fmt::format(" call.{}", size);
  std::string parameters;
  for_each_parameter(
      task.op, [&](const char*, std::string_view name, int) { parameters += fmt::format(" call.{}", name); });
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

std::vector<Task> offered_tasks() {
  std::vector<Task> offered;
  for (const ops::Op op : offered_ops()) offered.emplace_back(op);
  for (const ShippedText& each : shipped_texts()) {
    if (!each.name.ends_with(kBody) || each.name.find('+') == std::string_view::npos) continue;
    offered.push_back(task_of(each.name.substr(0, each.name.size() - kBody.size())));
  }
  return offered;
}

Task parse_offered_task(std::string_view names) {
  std::string valid;
  for (const Task& task : offered_tasks()) {
    const std::string own = to_string(task);
    if (names == own) return task;
    valid += valid.empty() ? "" : ", ";
    valid += own;
  }
  throw core::BadInput(
      fmt::format("nobody can write kernels of the operation '{}'; valid: {}", names, valid));
}

std::string header_of(const Task& task) {
  const std::vector<OperandLayout> layouts = layouts_of(task);
  const std::string whole = to_string(task);
  std::string text =
      fmt::format("#pragma once\n// {}: {}\n\n#include <warpscope/kernel.h>\n\n", whole, summary_of(task));
  text += fmt::format(
      "namespace warpscope::kernel {{\n\ninline constexpr const char* kOp = \"{}\";\n\nstruct Call {{\n"
      "  WARPSCOPE_INLINE explicit Call(const RawCall& raw)\n      : ",
      whole);
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
  for_each_parameter(task.op, [&](const char* type, std::string_view name, int own) {
    text += fmt::format(",\n        {}(static_cast<{}>(raw.parameters[{}]))", name, type, own);
    members += fmt::format("  {} {};\n", type, name);
  });
  return text + " {}\n\n" + members +
         "};\n\n}  // namespace warpscope::kernel\n\nusing warpscope::kernel::Index;\n";
}

std::string template_of(const Task& task, Language language, std::string_view file) {
  const std::string name = to_string(task);
  const std::string variant = variant_name_of(file);
  const std::string told = files::sayable(file);  // a line break in a name ends a comment
  const std::string check = fmt::format("warpscope kernel check {}", told);
  const std::string train =
      fmt::format("warpscope train --kernel {} --select {}={}", told, ops::to_string(task.op), variant);
  std::string text = fmt::format("// {} by yourself: {}.\n//\n", name, summary_of(task));
  text += fmt::format("//   {:<{}}   compiles it, proves it, times it\n", check, train.size());
  text += fmt::format("//   {}   trains with it\n//\n", train);
  text += contract_text(task);
  text += fmt::format("\n#include <warpscope/{}.h>\n\n", name);
  const std::vector<OperandLayout> layouts = layouts_of(task);
  const OperandLayout& written = first_written(layouts);
  const std::string_view body = body_of(task)->text;
  return text + (language == Language::cpp ? loops(written, body) : threads(written, body));
}

void write_new(const std::filesystem::path& file, std::string_view text) {
  const std::string told = files::sayable(file.string());
  std::FILE* const out = std::fopen(file.c_str(), "wxe");  // x: only where nothing is there
  if (out == nullptr) {
    if (errno == EEXIST) throw core::BadInput(fmt::format("{} is there already; name another file", told));
    throw core::BadInput(fmt::format("{} cannot be written: {}", told, std::strerror(errno)));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool closed = std::fclose(out) == 0;
  if (written && closed) return;
  const std::string why = std::strerror(errno);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  throw core::Error(fmt::format("{} cannot be written: {}", told, why));
}

}  // namespace warpscope::user_kernels
