#pragma once
// Compiled kernels, loaded, and the variants that they are. Loading a library runs what it has for its beginning, with
// the rights of this process: what is not proved (trial.h) is loaded in a trial process only.

#include <filesystem>
#include <memory>
#include <string>

#include "assets/kernels/warpscope/kernel.h"
#include "gpu/ops/variant.h"
#include "gpu/user_kernels/source.h"

namespace warpscope::user_kernels {

/// Where a checked build tells what it did (kernel.h).
struct Hooks {
  kernel::Report* report = nullptr;
  void (*stop)() = nullptr;
};

/// Machine code of one kernel, unloaded with the object. Calls may come from several threads.
class Code {
 public:
  virtual ~Code() = default;
  /// What calls of one shape share; nullptr: nothing. `raw` has no operands yet.
  virtual std::unique_ptr<ops::Prepared> prepare(const kernel::RawCall& raw,
                                                 const ops::OpCall& call) const = 0;
  /// Throws core::Error that says what went wrong.
  virtual void launch(const kernel::RawCall& raw, const ops::OpCall& call) const = 0;
  /// What a call has done that its device ended all work for, behind the kernel's name ("touches memory that is not
  /// its own"); "" where nothing of the kind is known.
  virtual std::string device_failure() const { return ""; }
};

/// A shared library for `task`. Throws core::Error where it is none or is for another one or version.
std::shared_ptr<const Code> load_library(const std::filesystem::path& file, const Task& task);

/// A cubin, which is loaded by CUDA's driver when it is first prepared, into the context that is current then. Throws
/// core::Error where there is no driver.
std::shared_ptr<const Code> load_cubin(const std::filesystem::path& file);

/// By the language.
std::shared_ptr<const Code> load_code(const std::filesystem::path& file, const Source& source);

/// The variant that `code` is: FP32, one op or chain, on the language's kind of device. It holds the code.
ops::Variant variant_of(const Source& source, const std::shared_ptr<const Code>& code, Hooks hooks = {});

}  // namespace warpscope::user_kernels
