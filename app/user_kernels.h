#pragma once
// --kernel: kernels that people wrote, proved in trial processes before they become variants like the others.

#include <string>
#include <vector>

#include "app/ranks.h"
#include "gpu/ops/variant.h"
#include "gpu/runs/run_kernels.h"
#include "gpu/user_kernels/workshop.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is the library's
class App;
}

namespace warpscope::training {
struct TrainerOptions;
}

namespace warpscope::app {

struct KernelArguments {
  std::vector<std::string> files;
  std::vector<std::string> includes;  ///< folders of their own headers
};

void add_kernel_options(CLI::App& app, KernelArguments& arguments);

/// Compiles and proves a file for `device` ("auto", "cpu", "cuda:0"). An interrupt ends it with core::Error.
user_kernels::Kernel tried_kernel(const std::string& file, const std::vector<std::string>& includes,
                                  const std::string& device);

/// What becomes of a kernel that does not compile or is wrong.
enum class Refused { is_bad_input, is_told };

struct UsedKernels {
  ops::Variants variants = ops::built_in_variants();  ///< with those that can be used
  std::vector<runs::KernelFile> files;                ///< of these
  std::vector<user_kernels::TriedKernel> tried;       ///< all of them
};

/// Throws core::BadInput with a sentence where a file is none of a kernel, and, unless it is only to be told, where one
/// cannot be used.
UsedKernels use_kernels(const KernelArguments& arguments, const std::string& device,
                        Refused refused = Refused::is_bad_input);

/// Throws core::BadInput where both are asked for: ranks beside this one would not have the kernels. Call it before any
/// rank is started.
void refuse_with_ranks(const KernelArguments& arguments, const RankArguments& ranks);

/// Gives them to a training, which watches their files. Throws core::BadInput as well where it has ranks beside this
/// one.
void use_kernels(const KernelArguments& arguments, training::TrainerOptions& options,
                 Refused refused = Refused::is_bad_input);

}  // namespace warpscope::app
