#pragma once
// A workshop that makes a kernel of its text without a compiler: by words in the text.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/ops/variant.h"
#include "gpu/user_kernels/workshop.h"
#include "tests/support/waiting.h"

namespace warpscope::tests {

/// What has gone through it, and a gate at which compilers wait for tests.
struct WorkshopLog {
  std::atomic<int> compiled = 0, cancelled = 0, proved = 0, launches = 0;
  std::atomic<bool> closed = false;  ///< a compiler that has begun waits until it is open or not to go on
};

/// The text of a kernel of relu.forward: right, unless `words` say that it is "bad" (does not compile), "wrong" (is
/// refused), or gives "zeros", which nobody proves.
inline std::string relu_kernel(const std::string& words = "") {
  return "#include <warpscope/relu.forward.h>\n// " + words + "\n";
}

inline void save(const std::filesystem::path& file, const std::string& text) {
  files::write_file_atomically(file, text);
}

inline user_kernels::Compilation compiled_by_words(WorkshopLog& log, const user_kernels::Source& source,
                                                   const user_kernels::CompileOptions& options) {
  ++log.compiled;
  const bool went_on = eventually([&] { return !log.closed || !options.go_on(); });
  if (!went_on || !options.go_on()) {
    ++log.cancelled;
    throw core::Error("the compiler was ended before it was done");
  }
  user_kernels::Compilation made;
  made.milliseconds = 1;
  if (source.text.find("bad") != std::string::npos)
    made.errors.push_back({source.file.filename().string(), 2, 4, "'bad' was not declared", "// bad"});
  if (source.text.find("no compiler") != std::string::npos) throw core::BadInput("there is no C++ compiler");
  return made;
}

inline ops::Variant loaded_by_words(const std::shared_ptr<WorkshopLog>& log,
                                    const user_kernels::Kernel& kernel) {
  const ops::Variant* const loops =
      ops::find_variant(*ops::built_in_variants(), kernel.source.op, core::DeviceKind::cpu, "loops");
  ops::Variant made;
  made.op = kernel.source.op;
  made.name = kernel.source.variant;
  made.precisions = {core::Precision::fp32};
  made.in_place = loops->in_place;
  const bool zeros = kernel.source.text.find("zeros") != std::string::npos;
  made.launch = [log, zeros, run = loops->launch](const ops::OpCall& call) {
    ++log->launches;
    run(call);
    if (!zeros) return;
    auto* const output = call.operand<float>(ops::Name::output);
    const ops::OpContract& contract = ops::contract(call.variant->op);
    for (const ops::Operand& each : contract.operands) {
      if (each.name == ops::Name::output) std::fill_n(output, each.elements(call.shape), 0.0f);
    }
  };
  return made;
}

inline user_kernels::Workshop fake_workshop(const std::shared_ptr<WorkshopLog>& log) {
  user_kernels::Workshop shop;
  shop.compile = [log](const auto& source, const auto& options) {
    return compiled_by_words(*log, source, options);
  };
  shop.prove = [log](const user_kernels::Source& source, const auto&, const auto&) {
    ++log->proved;
    user_kernels::Verdict verdict;
    verdict.proved = source.text.find("wrong") == std::string::npos;
    verdict.sentence = source.variant + (verdict.proved ? " is right in 3 calls" : " gives 7 for output(0)");
    verdict.calls = 3;
    return verdict;
  };
  shop.time = [](const auto&, const auto&, const auto& others, const user_kernels::TrialOptions& options) {
    user_kernels::Times times;
    for (std::size_t i = 0; i < options.shapes.size(); ++i) {
      times.calls.push_back({i, "", 0, 9, 5, 1});
      times.calls.push_back({i, "loops", 0, 9, 7, 1});
      for (const auto& other : others) times.calls.push_back({i, other.variant, other.version, 9, 6, 1});
    }
    return times;
  };
  shop.load = [log](const user_kernels::Kernel& kernel) { return loaded_by_words(log, kernel); };
  return shop;
}

}  // namespace warpscope::tests
