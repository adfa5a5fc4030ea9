// Kernels for a GPU, loaded by CUDA's driver.

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/user_kernels/code.h"
#include "gpu/user_kernels/driver.h"

namespace warpscope::user_kernels {
namespace {

constexpr std::size_t kNumbers = 6;  // of threads and blocks

/// Throws core::Error with the kernel's name and its call unless all is well.
void expect(int result, const ops::OpCall& call, std::string_view more = "") {
  if (result == kSuccess) return;
  const ops::Op op = call.variant->op;
  throw core::Error(fmt::format("{} {} {}{}, on {}", ops::to_string(op), call.variant->name,
                                failure_text(result), more, ops::describe(op, call.shape)));
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

  std::unique_ptr<ops::Prepared> prepare(const kernel::RawCall& raw, const ops::OpCall& call) const override {
    std::call_once(loaded_, [&] { load(call); });
    auto made = std::make_unique<GpuLaunch>();
    std::uint64_t memory = 0;
    expect(driver().allocate(&memory, sizeof(made->numbers)), call);
    kernel::RawCall own = raw;
    std::array<void*, 2> arguments{&own, &memory};
    int result = driver().launch(declared_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.data(), nullptr);
    if (result == kSuccess) result = driver().to_host(made->numbers.data(), memory, sizeof(made->numbers));
    driver().free(memory);
    expect(result, call, " in its WARPSCOPE_LAUNCH");
    for (const unsigned number : made->numbers) {
      if (number != 0) continue;
      throw core::Error(fmt::format("{} {} gives no threads or no blocks in its WARPSCOPE_LAUNCH, on {}",
                                    ops::to_string(call.variant->op), call.variant->name,
                                    ops::describe(call.variant->op, call.shape)));
    }
    return made;
  }

  void launch(const kernel::RawCall& raw, const ops::OpCall& call) const override {
    const auto& [bx, by, bz, gx, gy, gz] = static_cast<const GpuLaunch*>(call.prepared)->numbers;
    kernel::RawCall own = raw;
    std::array<void*, 1> arguments{&own};
    const int result =
        driver().launch(run_, gx, gy, gz, bx, by, bz, 0, call.stream->native(), arguments.data(), nullptr);
    if (result == kSuccess) return;
    expect(result, call, fmt::format(": {}x{}x{} blocks of {}x{}x{} threads", gx, gy, gz, bx, by, bz));
  }

  std::string device_failure() const override {
    const int result = driver().synchronize();
    return result == kSuccess ? "" : failure_text(result);
  }

 private:
  void load(const ops::OpCall& call) const {
    expect(driver().load(&module_, image_.data()), call, " when it is loaded");
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
