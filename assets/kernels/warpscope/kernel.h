#pragma once
// What a kernel of your own is written against, on a CPU and on a GPU. The program writes this file, and a header for
// each operation beside it (<warpscope/conv2d.forward.h>), where its compiler looks for them.
//
//   a view        view(n, h, w, c): an element, by as many indices as the operand has; view[i]: the i-th, row-major
//   built twice   checked: each access is held against the operand's extents, and the trial ends with operation, line,
//                 index and extent; fast: none is, and the kernel is optimized. What is right in both may train.

#ifdef __CUDACC__
#define WARPSCOPE_INLINE __device__ __forceinline__
#else
#define WARPSCOPE_INLINE inline
#endif
#ifndef WARPSCOPE_CHECKED
#define WARPSCOPE_CHECKED 0
#endif

namespace warpscope::kernel {

using Index = long long;

inline constexpr int kVersion = 1;  // of what stands below
inline constexpr int kMostOperands = 8;
inline constexpr int kMostIndices = 4;
inline constexpr int kMostSizes = 8;
inline constexpr int kMostParameters = 16;
inline constexpr Index kLongest =
    1'000'000'000;  // nanoseconds that a thread of a checked build on a GPU may take

/// An operand as the program passes it: row-major, the last index the fastest.
struct RawOperand {
  void* data;
  Index extents[kMostIndices];
};

/// What a checked build tells. `line`: of the newest access, on a CPU. The rest: of the first access outside, or, on a
/// GPU, of the first that comes too late.
struct Report {
  int line;
  int faults;  ///< set when the rest is
  int late;
  int fault_line;
  int operand;
  int dimension;  ///< -1: view[i]
  Index index;
  Index extent;
};

/// A call as the program passes it.
struct RawCall {
  RawOperand operands[kMostOperands];  ///< in the order of the contract
  Index sizes[kMostSizes];
  double parameters[kMostParameters];
  Report* report;  ///< of checked builds only
  void (*stop)();  ///< of those on a CPU: ends the trial
};

#if WARPSCOPE_CHECKED
#ifdef __CUDACC__
static __device__ int warpscope_faults = 0;
static __device__ volatile int warpscope_told = 0;

WARPSCOPE_INLINE Index now() {
  Index time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

/// The first thread tells and traps; the others wait for that, since a trap of theirs would cut it short.
static __device__ __noinline__ void end(const RawCall& call, const Report& told) {
  if (atomicAdd(&warpscope_faults, 1) != 0) {
    for (int i = 0; i < 20'000 && warpscope_told == 0; ++i) __nanosleep(10'000);
    __trap();
  }
  *call.report = told;
  __threadfence_system();
  warpscope_told = 1;
  __trap();
}
#else
/// The first thread tells; the others wait for the end.
inline void end(const RawCall& call, const Report& told) {
  static int faults = 0;
  while (__atomic_fetch_add(&faults, 1, __ATOMIC_ACQ_REL) != 0) {
  }
  *call.report = told;
  call.stop();
}
#endif

#ifdef __CUDACC__
#define WARPSCOPE_CHECKING static __device__ __noinline__  // many accesses, one copy: it compiles faster
#else
#define WARPSCOPE_CHECKING inline
#endif
WARPSCOPE_CHECKING void check(const RawCall& call, [[maybe_unused]] Index begin, int operand, int dimension,
                              Index index, Index extent, int line) {
#ifdef __CUDACC__
  const bool late = now() - begin > kLongest;
#else
  constexpr bool late = false;
  *const_cast<volatile int*>(&call.report->line) = line;
#endif
  const bool inside = index >= 0 && index < extent;
  if (inside && !late) return;
  end(call, {line, 1, inside ? 1 : 0, line, operand, dimension, index, extent});
}
#define WARPSCOPE_LINE , int line = __builtin_LINE()
#define WARPSCOPE_CHECK(dimension, index, extent) \
  check(*call_, begin_, operand_, dimension, index, extent, line)
#else
#define WARPSCOPE_LINE
#define WARPSCOPE_CHECK(dimension, index, extent) static_cast<void>(0)
#endif

/// An index of view[i], with the line where it stands.
struct Place {
  WARPSCOPE_INLINE constexpr Place(Index at WARPSCOPE_LINE)
      : index(at)
#if WARPSCOPE_CHECKED
        ,
        line(line)
#endif
  {
  }
  Index index;
#if WARPSCOPE_CHECKED
  int line;
#endif
};

/// An operand of T with so many indices.
template <class T, int kIndices>
class View {
 public:
  WARPSCOPE_INLINE View(const RawCall& call, int operand)
      : data_(static_cast<T*>(call.operands[operand].data)) {
    for (int i = 0; i < kIndices; ++i) extents_[i] = call.operands[operand].extents[i];
#if WARPSCOPE_CHECKED
    call_ = &call;
    operand_ = operand;
#ifdef __CUDACC__
    begin_ = now();
#endif
#endif
  }

  /// Values of index `i`, from 0 on.
  WARPSCOPE_INLINE Index extent(int i) const {
    return extents_[i];
  }
  /// Elements.
  WARPSCOPE_INLINE Index size() const {
    Index product = 1;
    for (int i = 0; i < kIndices; ++i) product *= extent(i);
    return product;
  }
  /// For vector loads and the like: what goes through it is not checked.
  WARPSCOPE_INLINE T* data() const {
    return data_;
  }

  WARPSCOPE_INLINE T& operator()(Index a WARPSCOPE_LINE) const requires(kIndices == 1) {
    WARPSCOPE_CHECK(0, a, extent(0));
    return data_[a];
  }
  WARPSCOPE_INLINE T& operator()(Index a, Index b WARPSCOPE_LINE) const requires(kIndices == 2) {
    WARPSCOPE_CHECK(0, a, extent(0));
    WARPSCOPE_CHECK(1, b, extent(1));
    return data_[a * extent(1) + b];
  }
  WARPSCOPE_INLINE T& operator()(Index a, Index b, Index c WARPSCOPE_LINE) const requires(kIndices == 3) {
    WARPSCOPE_CHECK(0, a, extent(0));
    WARPSCOPE_CHECK(1, b, extent(1));
    WARPSCOPE_CHECK(2, c, extent(2));
    return data_[(a * extent(1) + b) * extent(2) + c];
  }
  WARPSCOPE_INLINE T& operator()(Index a, Index b, Index c, Index d WARPSCOPE_LINE) const
      requires(kIndices == 4) {
    WARPSCOPE_CHECK(0, a, extent(0));
    WARPSCOPE_CHECK(1, b, extent(1));
    WARPSCOPE_CHECK(2, c, extent(2));
    WARPSCOPE_CHECK(3, d, extent(3));
    return data_[((a * extent(1) + b) * extent(2) + c) * extent(3) + d];
  }
  WARPSCOPE_INLINE T& operator[](Place place) const {
#if WARPSCOPE_CHECKED
    check(*call_, begin_, operand_, -1, place.index, size(), place.line);
#endif
    return data_[place.index];
  }

 private:
  T* data_;
  Index extents_[kIndices];
#if WARPSCOPE_CHECKED
  const RawCall* call_;
  int operand_;
  Index begin_ = 0;
#endif
};

}  // namespace warpscope::kernel

#ifdef __CUDACC__
/// The launch: `threads` of a block, which are the launch bounds too, and `blocks` of the grid, an expression of
/// `call`.
#define WARPSCOPE_LAUNCH(call, threads, blocks) WARPSCOPE_LAUNCH_3D(call, threads, 1, 1, blocks, 1, 1)
/// The same in three dimensions.
#define WARPSCOPE_LAUNCH_3D(call, threads_x, threads_y, threads_z, blocks_x, blocks_y, blocks_z)       \
  constexpr unsigned warpscope_threads = (threads_x) * (threads_y) * (threads_z);                      \
  static_assert(warpscope_threads > 0 && warpscope_threads <= 1024, "a block has 1 to 1,024 threads"); \
  extern "C" __global__ void warpscope_kernel_launch(const warpscope::kernel::RawCall warpscope_raw,   \
                                                     unsigned* warpscope_launch) {                     \
    [[maybe_unused]] const warpscope::kernel::Call call(warpscope_raw);                                \
    const unsigned                                                                                     \
        warpscope_numbers[6] = {static_cast<unsigned>(threads_x), static_cast<unsigned>(threads_y),    \
                                static_cast<unsigned>(threads_z), static_cast<unsigned>(blocks_x),     \
                                static_cast<unsigned>(blocks_y),  static_cast<unsigned>(blocks_z)};    \
    for (int i = 0; i < 6; ++i) warpscope_launch[i] = warpscope_numbers[i];                            \
  }
/// The kernel itself: WARPSCOPE_KERNEL(call) { ... }, after WARPSCOPE_LAUNCH.
#define WARPSCOPE_KERNEL(call)                                                       \
  static __device__ void warpscope_user_kernel(const warpscope::kernel::Call& call); \
  extern "C" __global__ void __launch_bounds__(warpscope_threads)                    \
      warpscope_kernel_run(const warpscope::kernel::RawCall warpscope_raw) {         \
    warpscope_user_kernel(warpscope::kernel::Call(warpscope_raw));                   \
  }                                                                                  \
  static __device__ void warpscope_user_kernel([[maybe_unused]] const warpscope::kernel::Call& call)
#else
/// The kernel itself: WARPSCOPE_KERNEL(call) { ... }. What it throws ends the call with an error.
#define WARPSCOPE_KERNEL(call)                                                          \
  static void warpscope_user_kernel(const warpscope::kernel::Call& call);               \
  extern "C" __attribute__((visibility("default"))) int warpscope_kernel_version() {    \
    return warpscope::kernel::kVersion;                                                 \
  }                                                                                     \
  extern "C" __attribute__((visibility("default"))) const char* warpscope_kernel_op() { \
    return warpscope::kernel::kOp;                                                      \
  }                                                                                     \
  extern "C" __attribute__((visibility("default"))) int warpscope_kernel_run(           \
      const warpscope::kernel::RawCall* warpscope_raw) {                                \
    try {                                                                               \
      warpscope_user_kernel(warpscope::kernel::Call(*warpscope_raw));                   \
    } catch (...) {                                                                     \
      return 1;                                                                         \
    }                                                                                   \
    return 0;                                                                           \
  }                                                                                     \
  static void warpscope_user_kernel([[maybe_unused]] const warpscope::kernel::Call& call)
#endif
