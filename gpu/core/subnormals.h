#pragma once
// Subnormal numbers: those closer to zero than the least normal float, 1.2e-38. A CPU takes some 150 cycles for an
// operation on one, where it takes one for others.

#include <cstdint>

namespace warpscope::core {

/// As long as it lives, this thread takes subnormal operands for zeros and makes zeros of subnormal results, and so do
/// threads that it starts meanwhile (POSIX: a thread begins with the floating-point environment of its creator). Does
/// nothing where the processor is neither x86-64 nor of 64-bit ARM. Sources: Intel 64 and IA-32 Architectures Software
/// Developer's Manual, volume 1, 10.2.3, MXCSR; Arm Architecture Reference Manual for A-profile, FPCR.
class SubnormalsAsZeros {
 public:
  SubnormalsAsZeros();
  ~SubnormalsAsZeros();
  SubnormalsAsZeros(const SubnormalsAsZeros&) = delete;
  SubnormalsAsZeros& operator=(const SubnormalsAsZeros&) = delete;

 private:
  std::uint64_t before_;  ///< the thread's control register
};

}  // namespace warpscope::core
