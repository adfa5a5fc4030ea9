#include "gpu/user_kernels/gpu_build.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/user_kernels/driver.h"
#include "gpu/user_kernels/process.h"

namespace warpscope::user_kernels {
namespace {

constexpr std::size_t kMostDisassembly = std::size_t{64} << 20;
constexpr auto kLongestDisassembly = std::chrono::seconds(20);

// As <cuda.h> numbers them.
constexpr int kMostThreads = 0, kSharedBytes = 1, kLocalBytes = 3, kRegisters = 4;
constexpr int kThreadsOfMultiprocessor = 39;

void expect(int result) {
  if (result != kSuccess)
    throw core::Error(fmt::format("the compiled kernel cannot be read: it {}", failure_text(result)));
}

/// Unloaded with the object.
class Module {
 public:
  explicit Module(const std::string& image) { expect(driver().load(&module_, image.data())); }
  ~Module() { driver().unload(module_); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  void* function(const char* name) const {
    void* found = nullptr;
    expect(driver().function(&found, module_, name));
    return found;
  }

 private:
  void* module_ = nullptr;
};

/// The instructions that are told apart; a name stands for all that begin with it.
constexpr std::array<std::string_view, 22> kKinds{
    "HGMMA", "HMMA", "IMMA", "FFMA", "FADD", "FMUL", "IMAD", "IADD", "LEA",  "LDGSTS", "LDG",
    "STG",   "LDSM", "LDS",  "STS",  "LDL",  "STL",  "LDC",  "BAR",  "SHFL", "ATOM",   "BRA"};

/// "FFMA" of "        /*0070*/   @!P0 FFMA R1, R2, R3, R4 ;  /* 0x... */"; "" of other lines.
std::string_view instruction_in(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || !line.substr(begin).starts_with("/*")) return "";
  const std::size_t end = line.find("*/", begin);
  if (end == std::string_view::npos || end - begin > 8) return "";  // not a place, but code as numbers
  line.remove_prefix(end + 2);
  while (true) {
    const std::size_t word = line.find_first_not_of(" \t");
    if (word == std::string_view::npos) return "";
    line.remove_prefix(word);
    const std::string_view found = line.substr(0, line.find_first_of(" \t;"));
    if (!found.starts_with('@') && !found.starts_with('{')) return found.starts_with("/*") ? "" : found;
    line.remove_prefix(std::max<std::size_t>(1, found.size()));
  }
}

std::string disassembler() {
  for (const char* folder : {"/usr/local/cuda/bin", "/usr/bin", "/opt/cuda/bin"}) {
    std::string file = fmt::format("{}/cuobjdump", folder);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return "cuobjdump";
}

}  // namespace

GpuBuildFacts facts_of(const std::filesystem::path& cubin) {
  if (!driver().missing.empty()) throw core::Error(driver().missing);
  const Module module(files::read_text(cubin));
  void* const function = module.function("warpscope_kernel_run");
  const auto attribute = [&](int which) {
    int value = 0;
    expect(driver().function_attribute(&value, which, function));
    return value;
  };
  GpuBuildFacts facts{.registers = attribute(kRegisters),
                      .shared_bytes = attribute(kSharedBytes),
                      .local_bytes = attribute(kLocalBytes),
                      .threads = attribute(kMostThreads)};
  int device = 0, most = 0;
  expect(driver().resident_blocks(&facts.blocks, function, facts.threads, 0));
  expect(driver().device(&device));
  expect(driver().device_attribute(&most, kThreadsOfMultiprocessor, device));
  if (most > 0) facts.occupancy = static_cast<double>(facts.blocks * facts.threads) / most;
  return facts;
}

std::string to_string(const GpuBuildFacts& facts) {
  const std::string local = facts.local_bytes == 0
                                ? "no local memory"
                                : fmt::format("{} bytes of local memory a thread", facts.local_bytes);
  return fmt::format(
      "{} registers, {:.1f} KiB of shared memory, {}; {} block{} of {} threads on a multiprocessor, {:.0f} % "
      "of its threads",
      facts.registers, facts.shared_bytes / 1024.0, local, facts.blocks, facts.blocks == 1 ? "" : "s",
      facts.threads, 100 * facts.occupancy);
}

InstructionMix mix_in(std::string_view disassembly) {
  std::array<int, kKinds.size()> counts{};
  int others = 0;
  bool ours = false;
  std::istringstream lines{std::string(disassembly)};
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find("Function : "); at != std::string::npos)
      ours = line.find("warpscope_kernel_run", at) != std::string::npos;
    if (!ours) continue;
    const std::string_view name = instruction_in(line);
    if (name.empty() || name == "NOP") continue;
    const auto kind =
        std::ranges::find_if(kKinds, [&](std::string_view each) { return name.starts_with(each); });
    ++(kind == kKinds.end() ? others : counts[static_cast<std::size_t>(kind - kKinds.begin())]);
  }
  InstructionMix mix;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (counts[i] > 0) mix.emplace_back(kKinds[i], counts[i]);
  }
  std::ranges::stable_sort(mix, [](const auto& a, const auto& b) { return a.second > b.second; });
  if (others > 0) mix.emplace_back("others", others);
  return mix;
}

std::optional<InstructionMix> mix_of(const std::filesystem::path& cubin) {
  try {
    const ranks::Descriptor output = memory_file("warpscope_disassembly");
    Process process(disassembler(), {"-sass", cubin.string()}, output.number());
    const auto last = std::chrono::steady_clock::now() + kLongestDisassembly;
    const End end = process.wait([&] { return std::chrono::steady_clock::now() < last; });
    if (end.killed || end.signal != 0 || end.code != 0) return std::nullopt;
    InstructionMix mix = mix_in(contents_of(output, kMostDisassembly));
    if (mix.empty()) return std::nullopt;
    return mix;
  } catch (const core::Error&) {
    return std::nullopt;
  }
}

std::string to_string(const InstructionMix& mix) {
  std::string text;
  for (const auto& [name, count] : mix) {
    text += text.empty() ? "" : ", ";
    text += fmt::format("{} {}", count, name);
  }
  return text;
}

}  // namespace warpscope::user_kernels
