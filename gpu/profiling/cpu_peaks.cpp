// The ceilings of a CPU: multiply-adds in the widest vectors it has, and copies, on all cores at once.

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "gpu/core/phases.h"
#include "gpu/ops/onednn_support.h"
#include "gpu/profiling/peaks.h"

namespace warpscope::profiling {
namespace {

constexpr double kSeconds = 0.1;  // of each measurement
constexpr int kVectors =
    12;  // of independent sums: they hide the latency of an addition and stay in registers
constexpr int kRounds = 4096;

/// `kFused`: the target has an instruction for a * b + c; std::fma without one is a slow function.
template <bool kFused, int kWidth>
[[gnu::always_inline]] inline float multiply_adds(float factor, float addend) {
  constexpr int kChains = kVectors * kWidth;
  float value[kChains];
  float first = 0;
  for (float& v : value) v = first += 1.0f;
  for (int n = 0; n < kRounds; ++n) {
    for (int i = 0; i < kChains; ++i) {
      value[i] = kFused ? __builtin_fmaf(value[i], factor, addend) : value[i] * factor + addend;
    }
  }
  float sum = 0;
  for (const float v : value) sum += v;
  return sum;
}

float plain(float factor, float addend) {
#ifdef __FP_FAST_FMAF
  return multiply_adds<true, 4>(factor, addend);
#else
  return multiply_adds<false, 4>(factor, addend);
#endif
}
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] float avx2(float factor, float addend) {
  return multiply_adds<true, 8>(factor, addend);
}
[[gnu::target("avx512f,fma")]] float avx512(float factor, float addend) {
  return multiply_adds<true, 16>(factor, addend);
}
#endif

/// The widest loop that this CPU runs, and how many floats its vectors hold.
struct Loop {
  float (*run)(float factor, float addend) = plain;
  int width = 4;
};

Loop widest_loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {avx512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {avx2, 8};
#endif
  return {};
}

/// What is done in a second. `work()` does a bit and returns how much that was; what it does first does not count.
double rate_of(const std::function<double()>& work) {
  work();
  const auto start = core::Clock::now();
  double done = 0;
  double taken = 0;
  while ((taken = core::seconds_since(start)) < kSeconds) done += work();
  return done / taken;
}

/// The sum over all cores of what each does in a second, by `work(core)` as rate_of() takes it. Throws what that does.
double rate_on_all_cores(const std::function<double(unsigned)>& work) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<double> rates(cores);
  std::vector<std::exception_ptr> failures(cores);
  {
    std::vector<std::jthread> threads;
    for (unsigned core = 0; core < cores; ++core) {
      threads.emplace_back([&, core] {
        try {
          rates[core] = rate_of([&] { return work(core); });
        } catch (...) {
          failures[core] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

double multiply_add_rate() {
  const Loop loop = widest_loop();
  return rate_on_all_cores([&](unsigned) {
    volatile float factor = 0.999f;  // keeps the loop from being computed beforehand
    volatile float sink = loop.run(factor, 0.001f);
    (void)sink;
    return 2.0 * kVectors * loop.width * kRounds;
  });
}

double copy_rate() {
  constexpr std::size_t kBytes = std::size_t{64} << 20;  // a core; more than caches hold
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t bytes = kBytes / std::max(1u, cores / 4);
  std::vector<std::vector<char>> source(cores);
  std::vector<std::vector<char>> destination(cores);
  return rate_on_all_cores([&](unsigned core) {
    if (source[core].empty()) {
      source[core].assign(bytes, 1);
      destination[core].assign(bytes, 2);
    }
    std::memcpy(destination[core].data(), source[core].data(), bytes);
    return 2.0 * static_cast<double>(bytes);
  });
}

/// oneDNN's matrix product in bfloat16, 0 where the CPU has no instructions for it.
double bfloat16_rate() {
  using dnnl::memory;
  const auto isa = static_cast<int>(dnnl::get_effective_cpu_isa());
  const int needed = static_cast<int>(dnnl::cpu_isa::avx512_core_bf16);
  if (isa < needed) return 0;
  constexpr memory::dim kSize = 1024;
  try {
    ops::onednn::Program program;
    const memory::desc matrix({kSize, kSize}, memory::data_type::bf16, memory::format_tag::ab);
    const memory::desc result({kSize, kSize}, memory::data_type::f32, memory::format_tag::ab);
    program.add<dnnl::matmul>(ops::onednn::describe<dnnl::matmul>(program, matrix, matrix, result),
                              {{DNNL_ARG_SRC, program.scratch(matrix)},
                               {DNNL_ARG_WEIGHTS, program.scratch(matrix)},
                               {DNNL_ARG_DST, program.scratch(result)}});
    const ops::OpCall call;
    program.run(call);
    const auto start = core::Clock::now();
    double done = 0;
    double taken = 0;
    while ((taken = core::seconds_since(start)) < kSeconds) {
      program.run(call);
      done += 2.0 * kSize * kSize * kSize;
    }
    return done / taken;
  } catch (const dnnl::error&) {
    return 0;
  }
}

}  // namespace

Peaks measure_cpu_peaks() {
  Peaks peaks;
  peaks.fp32 = multiply_add_rate();
  peaks.bf16 = bfloat16_rate();
  peaks.bytes = copy_rate();
  return peaks;
}

}  // namespace warpscope::profiling
