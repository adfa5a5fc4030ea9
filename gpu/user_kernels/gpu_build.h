#pragma once
// What NVRTC has made of a kernel: what a block of it takes, and of which instructions it is.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpscope::user_kernels {

struct GpuBuildFacts {
  int registers = 0;     ///< a thread
  int shared_bytes = 0;  ///< a block
  int local_bytes =
      0;            ///< a thread: what registers had no room for, and arrays that are indexed by variables
  int threads = 0;  ///< a block: the launch bounds
  int blocks = 0;   ///< that fit on a multiprocessor
  double occupancy = 0;  ///< their threads over the most that fit
};

/// That of a cubin, in the context that is current. Throws core::Error where the driver cannot load it.
GpuBuildFacts facts_of(const std::filesystem::path& cubin);

/// "58 registers, 17.0 KiB of shared memory, no local memory; 4 blocks of 256 threads on a multiprocessor, 50 % ..."
std::string to_string(const GpuBuildFacts& facts);

/// How many instructions of a kind a kernel has: "FFMA", "HMMA", "LDG", ..., the most first, "others" last.
using InstructionMix = std::vector<std::pair<std::string, int>>;

/// Counts what cuobjdump -sass has written of warpscope_kernel_run.
InstructionMix mix_in(std::string_view disassembly);

/// By cuobjdump, on the PATH or in CUDA's usual folder; nothing where it is not installed or fails.
std::optional<InstructionMix> mix_of(const std::filesystem::path& cubin);

/// "96 HMMA, 64 FADD, 300 others"
std::string to_string(const InstructionMix& mix);

}  // namespace warpscope::user_kernels
