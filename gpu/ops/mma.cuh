#pragma once
// Tensor-core arithmetic, asynchronous copies and 16-bit conversions as functions, one instruction each. No
// other file has inline PTX of these.
//
// A matrix product of one warp is D[16][8] += A[16][k] * B[k][8] with 32 bytes of k: 16 halves or 8 TF32
// numbers. With group = lane / 4 and member = lane % 4 a lane holds
//
//   A  a[0], a[2]: row `group`, a[1], a[3]: row `group + 8`; a[0], a[1]: the first 16 bytes of k, a[2], a[3]
//      the last; of these 16 bytes the 4-byte word `member`
//   B  b[0], b[1]: column `group`, first and last 16 bytes of k, word `member`
//   D  d[0], d[1]: row `group`, columns 2 member and 2 member + 1; d[2], d[3]: row `group + 8`
//
// Source: NVIDIA, "Parallel Thread Execution ISA", sections "Warp Level Matrix Multiply-Accumulate
// Instructions", "ldmatrix" and "cp.async". Needs compute capability 8.0: kernels leave their bodies out
// where they are compiled for less, and their variants say so (minimum_compute_capability).

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/core/types.h"

namespace warpscope::ops::mma {

/// The arithmetics: how an operand's elements are stored and multiplied. Sums are FP32 in all.
struct Fp16 {
  using Storage = std::uint16_t;
};
struct Bf16 {
  using Storage = std::uint16_t;
};
struct Tf32 {
  using Storage = std::uint32_t;  ///< FP32, rounded when it becomes an operand
};

// ---- memory ----

/// A place in shared memory, in bytes.
using SharedAddress = unsigned;

__device__ __forceinline__ SharedAddress shared_address(const void* shared) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(shared));
}

/// Copies 16 bytes to shared memory without waiting, or writes zeros there where `exists` is false; `from`
/// must be a readable address even then. Passes by the L1 cache.
__device__ __forceinline__ void copy_async(SharedAddress to, const void* from, bool exists) {
  const int bytes = exists ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

/// The same through the L1 cache, for what this multiprocessor will read again.
__device__ __forceinline__ void copy_async_cached(SharedAddress to, const void* from, bool exists) {
  const int bytes = exists ? 16 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

/// The same for 4 bytes, aligned to as many.
__device__ __forceinline__ void copy_word_async(SharedAddress to, const void* from, bool exists) {
  const int bytes = exists ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

/// Closes a group of this thread's copies, which may be empty.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most `kPending` of this thread's newest groups are not complete.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Four matrices of 8 rows of 16 bytes; lane l gives the address of row l % 8 of matrix l / 8, and gets word
/// l % 4 of row l / 4 of each.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

/// Two matrices, whose rows the first 16 lanes give.
__device__ __forceinline__ void load_matrices(unsigned (&to)[2], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(row)
               : "memory");
}

/// Four, each 8x8 matrix of 16-bit elements transposed.
__device__ __forceinline__ void load_matrices_transposed(unsigned (&to)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

/// Two, transposed.
__device__ __forceinline__ void load_matrices_transposed(unsigned (&to)[2], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(row)
               : "memory");
}

__device__ __forceinline__ unsigned load_word(SharedAddress from) {
  unsigned word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(from) : "memory");
  return word;
}

/// Sixteen bytes, aligned to as many.
__device__ __forceinline__ void load_chunk(unsigned (&to)[4], SharedAddress from) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}
__device__ __forceinline__ void store_chunk(SharedAddress to, const unsigned (&from)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(from[0]), "r"(from[1]), "r"(from[2]),
               "r"(from[3])
               : "memory");
}

// ---- arithmetic ----

__device__ __forceinline__ void multiply_add(Fp16, float (&d)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void multiply_add(Bf16, float (&d)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// D = C + A B: the same without the copy that C takes where it is needed again.
__device__ __forceinline__ void multiply_add(Fp16, float (&d)[4], const float (&c)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
        "f"(c[3]));
}
__device__ __forceinline__ void multiply_add(Bf16, float (&d)[4], const float (&c)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
        "f"(c[3]));
}

__device__ __forceinline__ void multiply_add(Tf32, float (&d)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// A stored word as the multiplication takes it. TF32 is rounded to nearest: the multiplication itself would
/// cut the low bits off, which doubles the error and shifts it to one side.
__device__ __forceinline__ unsigned operand_word(Fp16, unsigned stored) {
  return stored;
}
__device__ __forceinline__ unsigned operand_word(Bf16, unsigned stored) {
  return stored;
}
__device__ __forceinline__ unsigned operand_word(Tf32, unsigned stored) {
  unsigned rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(stored)));
  return rounded;
}

// ---- conversions ----

__device__ __forceinline__ float widen(Fp16, std::uint16_t stored) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(stored));
  return value;
}
__device__ __forceinline__ float widen(Bf16, std::uint16_t stored) {
  return __uint_as_float(static_cast<unsigned>(stored) << 16);
}
__device__ __forceinline__ float widen(Tf32, std::uint32_t stored) {
  return __uint_as_float(stored);
}

/// Two numbers rounded to 16 bits, `low` in the low half of the word.
__device__ __forceinline__ unsigned narrow_pair(Fp16, float low, float high) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ unsigned narrow_pair(Bf16, float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// Calls launch(Math{}) with the arithmetic of a precision of 16 bits.
template <class Launch>
void with_16_bits(core::Precision precision, Launch launch) {
  if (precision == core::Precision::fp16) return launch(Fp16{});
  launch(Bf16{});
}

/// The same, also with that of TF32.
template <class Launch>
void with_math(core::Precision precision, Launch launch) {
  if (precision == core::Precision::fp16 || precision == core::Precision::bf16) {
    return with_16_bits(precision, launch);
  }
  launch(Tf32{});
}

}  // namespace warpscope::ops::mma
