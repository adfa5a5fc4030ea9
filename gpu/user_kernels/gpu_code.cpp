// Kernels for a GPU, loaded by CUDA's driver. Nothing here needs CUDA to be built: the functions of the driver that are
// called are declared here, as <cuda.h> has them, and are looked up in it.

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/opened_library.h"
#include "gpu/files/text.h"
#include "gpu/user_kernels/code.h"

namespace warpscope::user_kernels {
namespace {

constexpr int kSuccess = 0;
constexpr std::size_t kNumbers = 6;  // of threads and blocks

struct Driver {
  int (*load)(void** module, const void* image) = nullptr;
  int (*unload)(void* module) = nullptr;
  int (*function)(void** function, void* module, const char* name) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;
  int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
  int (*free)(std::uint64_t) = nullptr;
  int (*to_host)(void*, std::uint64_t, std::size_t) = nullptr;
  int (*error_text)(int, const char**) = nullptr;
  std::string missing;

  Driver() {
    core::OpenedLibrary library({"libcuda.so.1"});
    if (!library.is_open()) {
      missing = "CUDA's driver (libcuda.so.1) is not on this machine";
      return;
    }
    library.find("cuModuleLoadData", load);
    library.find("cuModuleUnload", unload);
    library.find("cuModuleGetFunction", function);
    library.find("cuLaunchKernel", launch);
    library.find("cuMemAlloc_v2", allocate);
    library.find("cuMemFree_v2", free);
    library.find("cuMemcpyDtoH_v2", to_host);
    library.find("cuGetErrorString", error_text);
    if (!library.missing().empty())
      missing = fmt::format("CUDA's driver on this machine has no {}", library.missing());
  }
};

const Driver& driver() {
  static const Driver once;
  return once;
}

void expect(int result, const char* what) {
  if (result == kSuccess) return;
  const char* text = nullptr;
  driver().error_text(result, &text);
  throw core::Error(fmt::format("{}: {}", what, text == nullptr ? "unknown error" : text));
}

/// Threads of a block and blocks, x, y, z each.
struct GpuLaunch final : ops::Prepared {
  std::array<unsigned, kNumbers> numbers{};
};

class Cubin final : public Code {
 public:
  explicit Cubin(std::string image) : image_(std::move(image)) {
    if (!driver().missing.empty()) throw core::Error(driver().missing);
  }
  Cubin(const Cubin&) = delete;
  Cubin& operator=(const Cubin&) = delete;
  ~Cubin() override {
    if (module_ != nullptr) driver().unload(module_);
  }

  std::unique_ptr<ops::Prepared> prepare(const kernel::RawCall& raw, const ops::OpCall&) const override {
    std::call_once(loaded_, [this] { load(); });
    auto made = std::make_unique<GpuLaunch>();
    std::uint64_t memory = 0;
    expect(driver().allocate(&memory, sizeof(made->numbers)), "memory for the kernel's launch");
    kernel::RawCall own = raw;
    std::array<void*, 2> arguments{&own, &memory};
    int result = driver().launch(declared_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.data(), nullptr);
    if (result == kSuccess) result = driver().to_host(made->numbers.data(), memory, sizeof(made->numbers));
    driver().free(memory);
    expect(result, "WARPSCOPE_LAUNCH of the kernel");
    for (const unsigned number : made->numbers) {
      if (number == 0) throw core::Error("WARPSCOPE_LAUNCH gives no threads or no blocks");
    }
    return made;
  }

  void launch(const kernel::RawCall& raw, const ops::OpCall& call) const override {
    const auto& [bx, by, bz, gx, gy, gz] = static_cast<const GpuLaunch*>(call.prepared)->numbers;
    kernel::RawCall own = raw;
    std::array<void*, 1> arguments{&own};
    expect(driver().launch(run_, gx, gy, gz, bx, by, bz, 0, call.stream->native(), arguments.data(), nullptr),
           "launching the kernel");
  }

 private:
  void load() const {
    expect(driver().load(&module_, image_.data()), "loading the compiled kernel");
    if (driver().function(&declared_, module_, "warpscope_kernel_launch") != kSuccess ||
        driver().function(&run_, module_, "warpscope_kernel_run") != kSuccess)
      throw core::Error("the file has no WARPSCOPE_LAUNCH(call, ...) or no WARPSCOPE_KERNEL(call) { ... }");
  }

  std::string image_;
  mutable std::once_flag loaded_;
  mutable void* module_ = nullptr;
  mutable void* declared_ = nullptr;
  mutable void* run_ = nullptr;
};

}  // namespace

std::shared_ptr<const Code> load_cubin(const std::filesystem::path& file) {
  return std::make_shared<const Cubin>(files::read_text(file));
}

}  // namespace warpscope::user_kernels
