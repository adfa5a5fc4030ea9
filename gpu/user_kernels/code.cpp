#include "gpu/user_kernels/code.h"

#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/user_kernels/layout.h"

namespace warpscope::user_kernels {
namespace {

class Library final : public Code {
 public:
  Library(const std::filesystem::path& file, const Task& task)
      : library_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr)
      throw core::Error(fmt::format("the compiled kernel cannot be loaded: {}", dlerror()));
    int (*version)() = nullptr;
    const char* (*name)() = nullptr;
    try {
      look_up("warpscope_kernel_version", version);
      look_up("warpscope_kernel_op", name);
      look_up("warpscope_kernel_run", run_);
      if (version() != kernel::kVersion || name() != to_string(task))
        throw core::Error("the compiled kernel is for another version of the program");
    } catch (...) {
      dlclose(library_);
      throw;
    }
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() override { dlclose(library_); }

  std::unique_ptr<ops::Prepared> prepare(const kernel::RawCall&, const ops::OpCall&) const override {
    return nullptr;
  }
  void launch(const kernel::RawCall& raw, const ops::OpCall& call) const override {
    if (run_(&raw) == 0) return;
    throw core::Error(fmt::format("{} {} threw an exception on {}", ops::to_string(call.variant->op),
                                  call.variant->name, ops::describe(call.variant->op, call.shape)));
  }

 private:
  template <class Function>
  void look_up(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) throw core::Error("the file has no WARPSCOPE_KERNEL(call) { ... }");
  }

  void* library_;
  int (*run_)(const kernel::RawCall*) = nullptr;
};

}  // namespace

std::shared_ptr<const Code> load_library(const std::filesystem::path& file, const Task& task) {
  return std::make_shared<const Library>(file, task);
}

std::shared_ptr<const Code> load_code(const std::filesystem::path& file, const Source& source) {
  return source.language == Language::cpp ? load_library(file, source.task()) : load_cubin(file);
}

ops::Variant variant_of(const Source& source, const std::shared_ptr<const Code>& code, Hooks hooks) {
  ops::Variant made{
      .op = source.op,
      .name = source.variant,
      .device = source.language == Language::cpp ? core::DeviceKind::cpu : core::DeviceKind::cuda,
      .precisions = {core::Precision::fp32},
      .in_place = false,
      .chain = source.chain,
      .summary = fmt::format("Your own, {}.", files::sayable(source.file.filename().string()))};
  const auto raw_of = [layouts = layouts_of(source.task()), hooks](const ops::OpCall& call) {
    kernel::RawCall raw = raw_call(layouts, call.shape);
    for (std::size_t i = 0; i < layouts.size(); ++i)
      raw.operands[i].data = call.operands[layouts[i].operand.name];
    raw.report = hooks.report;
    raw.stop = hooks.stop;
    return raw;
  };
  made.prepare = [code, raw_of](const ops::OpCall& call) { return code->prepare(raw_of(call), call); };
  made.launch = [code, raw_of](const ops::OpCall& call) { code->launch(raw_of(call), call); };
  return made;
}

}  // namespace warpscope::user_kernels
