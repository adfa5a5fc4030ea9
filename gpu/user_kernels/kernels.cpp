#include "gpu/user_kernels/kernels.h"

#include <stdexcept>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/user_kernels/code.h"
#include "gpu/user_kernels/watch.h"

namespace warpscope::user_kernels {

Kernel try_kernel(const std::filesystem::path& file, const CompileOptions& compiling,
                  const TrialOptions& trial) {
  Kernel kernel{read_source(file), {}, {}};
  kernel.headers = headers_of(file, compiling.includes);
  kernel.compiled = compile(kernel.source, compiling);
  if (kernel.compiled.errors.empty()) kernel.verdict = prove(kernel.source, kernel.compiled, trial);
  return kernel;
}

std::string refusal(const Kernel& kernel) {
  if (kernel.compiled.errors.empty()) return kernel.verdict.sentence;
  const Diagnostic& first = kernel.compiled.errors.front();
  const std::size_t more = kernel.compiled.errors.size() - 1;
  const std::string where = first.line > 0 ? fmt::format(", line {}", first.line) : "";
  return fmt::format(
      "{}{} does not compile: {}{}", first.file, where, first.message,
      more > 0 ? fmt::format(" (and {})", files::counted(static_cast<std::int64_t>(more), "more error"))
               : "");
}

ops::Variant loaded(const Kernel& kernel) {
  if (!kernel.usable()) throw std::logic_error("a kernel that is not proved is not loaded");
  return variant_of(kernel.source, load_code(kernel.compiled.fast, kernel.source));
}

}  // namespace warpscope::user_kernels
