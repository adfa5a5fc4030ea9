#include "app/user_kernels.h"

#include <CLI/App.hpp>
#include <atomic>
#include <utility>

#include "app/interrupt.h"
#include "app/options.h"
#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/training/trainer.h"

namespace warpscope::app {
namespace {

constexpr const char* kOneProcess = "kernels of your own run in one process";

[[noreturn]] void refuse_ranks() {
  throw core::BadInput(std::string("--kernel: ") + kOneProcess + "; leave the other ranks out");
}

}  // namespace

void add_kernel_options(CLI::App& app, KernelArguments& arguments) {
  app.add_option("--kernel", arguments.files,
                 "Kernels of your own (.cpp, .cu): each is compiled, proved and then a variant user:NAME, "
                 "which --select "
                 "chooses; warpscope kernel new writes a file to start from")
      ->type_name("FILE")
      ->group("Device");
  app.add_option("--include", arguments.includes, "Folders of headers that they include")
      ->type_name("DIR")
      ->group("Device");
}

user_kernels::Kernel tried_kernel(const std::string& file, const std::vector<std::string>& includes,
                                  const std::string& device) {
  const std::atomic<bool>& interrupted = catch_interrupts();
  user_kernels::CompileOptions compiling;
  compiling.includes.assign(includes.begin(), includes.end());
  compiling.go_on = [&interrupted] { return !interrupted; };
  user_kernels::TrialOptions trial;
  trial.go_on = compiling.go_on;
  if (user_kernels::language_of(file) == user_kernels::Language::cuda) {
    const core::DeviceInfo gpu = core::open_device(device)->info();
    compiling.compute_capability = gpu.compute_capability;
    trial.device = gpu.id();
  }
  return user_kernels::try_kernel(file, compiling, trial);
}

UsedKernels use_kernels(const KernelArguments& arguments, const std::string& device, Refused refused) {
  refuse_repeated("--kernel", arguments.files);
  UsedKernels used;
  for (const std::string& file : arguments.files) {
    user_kernels::TriedKernel tried{{user_kernels::read_source(file), {}, {}}, ""};
    try {
      tried.kernel = tried_kernel(file, arguments.includes, device);
      if (!tried.usable() && refused == Refused::is_bad_input)
        throw core::BadInput(user_kernels::refusal(tried.kernel));
    } catch (const core::Error& error) {
      if (refused == Refused::is_bad_input || catch_interrupts()) throw;
      tried.problem = error.what();
    }
    if (tried.usable()) {
      ops::Variant variant = user_kernels::loaded(tried.kernel);
      variant.version = 1;
      used.variants = ops::with_variant(*used.variants, std::move(variant));
      const user_kernels::Source& source = tried.kernel.source;
      used.files.push_back(
          {source.op, source.variant, source.file.filename().string(), source.text, tried.kernel.headers});
    }
    used.tried.push_back(std::move(tried));
  }
  return used;
}

void refuse_with_ranks(const KernelArguments& arguments, const RankArguments& ranks) {
  const bool several = ranks.ranks > 1 || ranks.rank >= 0 || !ranks.gpus.empty() || !ranks.meet.empty();
  if (several && !arguments.files.empty()) refuse_ranks();
}

void use_kernels(const KernelArguments& arguments, training::TrainerOptions& options, Refused refused) {
  options.live_kernels.includes.assign(arguments.includes.begin(), arguments.includes.end());
  if (arguments.files.empty()) return;
  if (options.ranks) refuse_ranks();
  UsedKernels used = use_kernels(arguments, options.device, refused);
  options.variants = std::move(used.variants);
  options.kernels = std::move(used.files);
  options.live_kernels.tried = std::move(used.tried);
  options.rank_supply = {};
  options.rank_supply.why_not = kOneProcess;
}

}  // namespace warpscope::app
