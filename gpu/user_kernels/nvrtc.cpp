#include "gpu/user_kernels/nvrtc.h"

#include <cstddef>
#include <regex>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/opened_library.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/paths.h"
#include "gpu/files/sha256.h"
#include "gpu/user_kernels/both_builds.h"
#include "gpu/user_kernels/cache.h"

namespace warpscope::user_kernels {
namespace {

// As <nvrtc.h> has them in all versions of CUDA 12 and 13.
using Program = void*;
constexpr int kDone = 0;
constexpr int kOldest = 12;

/// Functions of the library, which stays open.
struct Nvrtc {
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  std::string missing;
  int major = 0;
  int minor = 0;

  Nvrtc() {
    core::OpenedLibrary library(
        {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
    if (!library.is_open()) {
      missing =
          "NVRTC (libnvrtc.so) is not on this machine; install it with CUDA's toolkit, or name its folder in "
          "LD_LIBRARY_PATH";
      return;
    }
    library.find("nvrtcVersion", version);
    library.find("nvrtcCreateProgram", create);
    library.find("nvrtcCompileProgram", compile);
    library.find("nvrtcGetProgramLogSize", log_size);
    library.find("nvrtcGetProgramLog", log);
    library.find("nvrtcGetCUBINSize", cubin_size);
    library.find("nvrtcGetCUBIN", cubin);
    library.find("nvrtcDestroyProgram", destroy);
    if (!library.missing().empty()) {
      missing = fmt::format("NVRTC on this machine has no {}; CUDA 12 or newer has", library.missing());
      return;
    }
    if (version(&major, &minor) != kDone || major < kOldest) {
      missing =
          fmt::format("NVRTC on this machine is that of CUDA {}.{}; 12 or newer is needed", major, minor);
    }
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc once;
  return once;
}

/// A program of NVRTC's.
class OwnProgram {
 public:
  explicit OwnProgram(const std::string& text) {
    if (nvrtc().create(&program_, text.c_str(), std::string(kShownFile).c_str(), 0, nullptr, nullptr) !=
        kDone)
      throw core::Error("NVRTC cannot take the kernel's file");
  }
  OwnProgram(const OwnProgram&) = delete;
  OwnProgram& operator=(const OwnProgram&) = delete;
  ~OwnProgram() { nvrtc().destroy(&program_); }

  bool compile(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    for (const std::string& each : options) words.push_back(each.c_str());
    return nvrtc().compile(program_, static_cast<int>(words.size()), words.data()) == kDone;
  }
  std::string log() const { return taken(nvrtc().log_size, nvrtc().log); }
  std::string cubin() const { return taken(nvrtc().cubin_size, nvrtc().cubin); }

 private:
  std::string taken(int (*size_of)(Program, std::size_t*), int (*take)(Program, char*)) const {
    std::size_t size = 0;
    if (size_of(program_, &size) != kDone || size == 0) return "";
    std::string bytes(size, '\0');
    return take(program_, bytes.data()) == kDone ? bytes : "";
  }

  Program program_ = nullptr;
};

std::vector<std::string> gpu_options(const Source& source, const CompileOptions& options, bool checked) {
  std::vector<std::string> words{
      fmt::format("--gpu-architecture=sm_{}{}", options.compute_capability,
                  options.compute_capability == 90 ? "a" : ""),
      "--std=c++20", "--device-as-default-execution-space",
      "--include-path=" + include_folder(options.cache).string(),
      "--include-path=" + files::absolute_path(source.file).parent_path().string()};
  for (const auto& each : options.includes)
    words.push_back("--include-path=" + files::absolute_path(each).string());
  words.emplace_back(checked ? "--define-macro=WARPSCOPE_CHECKED=1" : "--extra-device-vectorization");
  return words;
}

/// Whether the file includes what may change beside it: NVRTC does not tell what it has read.
bool has_own_headers(const Source& source, const CompileOptions& options) {
  static const std::regex include(R"(^\s*#\s*include\s*(?:<([^<>]+)>)?)");
  std::istringstream lines(source.text);
  std::error_code error;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (line.size() > 1000 || !std::regex_search(line, found, include)) continue;
    const std::string name = found[1].str();
    if (name.starts_with("warpscope/")) continue;
    if (name.empty() || !options.includes.empty()) return true;
    if (std::filesystem::exists(files::absolute_path(source.file).parent_path() / name, error)) return true;
  }
  return false;
}

/// Kept by content, but where the file has headers of its own: then its name tells what is in it, and it is made anew.
Build build_for_gpu(const Source& source, const CompileOptions& options, bool checked) {
  const std::vector<std::string> words = gpu_options(source, options, checked);
  files::Sha256 sum;
  const auto add = [&sum](std::string_view text) { sum.update(text.data(), text.size()); };
  add(fmt::format("{}.{}\n", nvrtc().major, nvrtc().minor));
  for (const std::string& each : words) add(each + '\n');
  add(source.text);
  const bool own_headers = has_own_headers(source, options);
  const auto place = [&] { return options.cache / (sum.finish().substr(0, 32) + ".cubin"); };
  Build made;
  if (!own_headers) {
    made.code = place();
    const CacheUse use(options.cache);
    std::error_code error;
    made.cached = std::filesystem::exists(made.code, error);
    if (made.cached) {
      CacheUse::note(made.code);
      return made;
    }
  }
  OwnProgram program(source.text);
  if (!program.compile(words)) {
    made.errors = diagnostics_in(program.log(), source);
    return made;
  }
  const std::string code = program.cubin();
  if (code.empty()) throw core::Error("NVRTC gives no code for this GPU");
  if (code.find("warpscope_kernel_run") == std::string::npos) {
    made.errors.push_back(
        {source.file.filename().string(), 0, 0, "the file has no WARPSCOPE_KERNEL(call) { ... }", ""});
    return made;
  }
  if (own_headers) {
    add(code);
    made.code = place();
  }
  files::write_file_atomically(made.code, code);
  return made;
}

}  // namespace

std::string no_nvrtc() {
  return nvrtc().missing;
}

Compilation compile_for_gpu(const Source& source, const CompileOptions& options) {
  if (!no_nvrtc().empty()) throw core::BadInput(no_nvrtc());
  if (options.compute_capability == 0) {
    throw core::BadInput(fmt::format("{} is for CUDA, and there is no GPU that it could be compiled for",
                                     source.file.filename().string()));
  }
  include_folder(options.cache);  // both need it
  return make_both([&](bool checked) { return build_for_gpu(source, options, checked); });
}

}  // namespace warpscope::user_kernels
