#include "gpu/core/subnormals.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace warpscope::core {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kZeros = 0x8040;  // FTZ for results, DAZ for operands
std::uint64_t control() {
  return _mm_getcsr();
}
void set_control(std::uint64_t value) {
  _mm_setcsr(static_cast<unsigned>(value));
}
#elif defined(__aarch64__)
constexpr std::uint64_t kZeros = std::uint64_t{1} << 24;  // FZ, for both
std::uint64_t control() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_control(std::uint64_t value) {
  asm volatile("msr fpcr, %0" : : "r"(value) : "memory");
}
#else
constexpr std::uint64_t kZeros = 0;
std::uint64_t control() {
  return 0;
}
void set_control(std::uint64_t) {}
#endif

}  // namespace

SubnormalsAsZeros::SubnormalsAsZeros() : before_(control()) {
  set_control(before_ | kZeros);
}

SubnormalsAsZeros::~SubnormalsAsZeros() {
  set_control(before_);
}

}  // namespace warpscope::core
