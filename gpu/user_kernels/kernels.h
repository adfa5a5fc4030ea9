#pragma once
// The way of a kernel from a file to a variant, for commands and for who swaps them while a training runs:
// read_source(), compile(), prove(), variant_of(), then ops::with_new_version() makes the table that the next plan is
// built from. The version before goes on in the plans that hold its table, and is unloaded with the last of them. From
// any thread.

#include <memory>
#include <string>
#include <vector>

#include "gpu/ops/variant.h"
#include "gpu/user_kernels/compiler.h"
#include "gpu/user_kernels/kept_headers.h"
#include "gpu/user_kernels/trial.h"

namespace warpscope::user_kernels {

/// A kernel on its way.
struct Kernel {
  Source source;
  Compilation compiled;
  Verdict verdict;                   ///< not proved where it does not compile
  std::vector<Header> headers = {};  ///< of the person's own, as a run keeps them

  bool usable() const { return compiled.errors.empty() && verdict.proved; }
};

/// Compiles and proves. Throws core::BadInput and core::Error as these do.
Kernel try_kernel(const std::filesystem::path& file, const CompileOptions& compiling = {},
                  const TrialOptions& trial = {});

/// Why it cannot be used, in a sentence: its first error, or the verdict.
std::string refusal(const Kernel& kernel);

/// Its fast build, loaded into this process. Throws std::logic_error unless it is usable().
ops::Variant loaded(const Kernel& kernel);

}  // namespace warpscope::user_kernels
