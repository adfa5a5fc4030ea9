#include "gpu/user_kernels/source.h"

#include <optional>
#include <regex>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/text.h"
#include "gpu/ops/variant.h"

namespace warpscope::user_kernels {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr std::string_view kCommon = "kernel";  // <warpscope/kernel.h> is of no op

/// The op in "#include <warpscope/conv2d.forward.h>", whatever stands behind it; nothing of other lines.
std::optional<std::string> op_included(const std::string& line) {
  static const std::regex include(R"(^\s*#\s*include\s*[<"]warpscope/([A-Za-z0-9_.+]{1,200})\.h[>"])");
  std::smatch found;
  if (line.size() > 1000 || !std::regex_search(line, found, include) || found[1].str() == kCommon)
    return std::nullopt;
  return found[1].str();
}

}  // namespace

std::string variant_name_of(std::string_view file) {
  std::filesystem::path stem = std::filesystem::path(file).stem();
  const std::string number = stem.extension().string();
  if (number.size() > 1 && number.find_first_not_of("0123456789", 1) == std::string::npos) stem = stem.stem();
  std::string name = files::lower_case(stem.string());
  for (char& c : name) c = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
  return std::string(ops::kUsers) + (name.empty() ? "kernel" : name);
}

Language language_of(const std::filesystem::path& file) {
  const std::string end = file.extension().string();
  if (end == ".cpp" || end == ".cc" || end == ".cxx") return Language::cpp;
  if (end == ".cu") return Language::cuda;
  throw core::BadInput(
      fmt::format("{} is no file of a kernel: its name ends in .cpp for the CPU, in .cu for CUDA",
                  files::sayable(file.string())));
}

Source source_of(const std::filesystem::path& file, std::string text) {
  Source source{file, std::move(text), {}, variant_name_of(file.string()), language_of(file), {}};
  std::optional<std::string> op;
  std::istringstream lines(source.text);
  for (std::string line; std::getline(lines, line);) {
    std::optional<std::string> found = op_included(line);
    if (!found || found == op) continue;
    if (op) {
      throw core::BadInput(fmt::format(
          "{} includes the headers of two operations, {} and {}; a file is a kernel of one, or of a "
          "chain that has a header of its own",
          files::sayable(file.string()), *op, *found));
    }
    op = std::move(found);
  }
  if (!op) {
    throw core::BadInput(
        fmt::format("{} includes no header of an operation, such as <warpscope/{}.h>; warpscope kernel new "
                    "OP FILE writes "
                    "a file to start from",
                    files::sayable(file.string()), ops::to_string(offered_ops().front())));
  }
  Task task = parse_offered_task(*op);
  source.op = task.op;
  source.chain = std::move(task.chain);
  return source;
}

Source read_source(const std::filesystem::path& file) {
  static_cast<void>(language_of(file));
  const files::InputFile opened(file);
  std::string text = opened.read_up_to(0, kMostBytes + 1);
  if (text.size() > kMostBytes) {
    throw core::BadInput(fmt::format("{} has more than {} bytes, too many for a kernel",
                                     files::sayable(file.string()), kMostBytes));
  }
  return source_of(file, std::move(text));
}

}  // namespace warpscope::user_kernels
