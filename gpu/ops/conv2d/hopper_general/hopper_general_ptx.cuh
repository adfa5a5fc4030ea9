#pragma once
// Two instructions as functions, beside those of hopper_ptx.cuh: the copy of what a tap reads for many pixels, and
// D += A B of a warpgroup for every width that the tiles of hopper_general.cuh have: 64 x n sums, 32 bytes of k, both
// operands in shared memory with k along their rows or, turned, across them. Sums lie as hopper_ptx.cuh says. Needs
// sm_90a.
//
// Source: NVIDIA, "Parallel Thread Execution ISA", sections "Asynchronous Warpgroup Level Matrix Instructions",
// "cp.async.bulk.tensor" and "im2col mode".

#include <cstdint>

#include <cuda.h>

#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::hopper_general {

/// Copies a slice of channels of the map's number of pixels to shared memory: those that follow (column, row, image)
/// within the map's box of pixels, row by row and image by image, each `right` columns and `down` rows further. What
/// lies outside the tensor becomes zero. `barrier` gets the bytes of all.
__device__ __forceinline__ void load_pixels(mma::SharedAddress to, const CUtensorMap& map,
                                            mma::SharedAddress barrier, int channel, int column, int row,
                                            int image, std::uint16_t right, std::uint16_t down) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(to),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(barrier), "r"(channel), "r"(column), "r"(row),
      "r"(image), "h"(right), "h"(down)
      : "memory");
}

// The instructions name their sums one by one: their places in the text, and the operands.
// clang-format off
#define WARPSCOPE_PLACES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define WARPSCOPE_PLACES_16 WARPSCOPE_PLACES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define WARPSCOPE_PLACES_24 WARPSCOPE_PLACES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define WARPSCOPE_PLACES_32 WARPSCOPE_PLACES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define WARPSCOPE_PLACES_40 WARPSCOPE_PLACES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define WARPSCOPE_PLACES_48 WARPSCOPE_PLACES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define WARPSCOPE_PLACES_56 WARPSCOPE_PLACES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define WARPSCOPE_PLACES_64 WARPSCOPE_PLACES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define WARPSCOPE_PLACES_72 WARPSCOPE_PLACES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define WARPSCOPE_PLACES_80 WARPSCOPE_PLACES_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define WARPSCOPE_PLACES_88 WARPSCOPE_PLACES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define WARPSCOPE_PLACES_96 WARPSCOPE_PLACES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define WARPSCOPE_SUMS_FROM(i) \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), \
  "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define WARPSCOPE_SUMS_8 WARPSCOPE_SUMS_FROM(0)
#define WARPSCOPE_SUMS_16 WARPSCOPE_SUMS_8, WARPSCOPE_SUMS_FROM(8)
#define WARPSCOPE_SUMS_24 WARPSCOPE_SUMS_16, WARPSCOPE_SUMS_FROM(16)
#define WARPSCOPE_SUMS_32 WARPSCOPE_SUMS_24, WARPSCOPE_SUMS_FROM(24)
#define WARPSCOPE_SUMS_40 WARPSCOPE_SUMS_32, WARPSCOPE_SUMS_FROM(32)
#define WARPSCOPE_SUMS_48 WARPSCOPE_SUMS_40, WARPSCOPE_SUMS_FROM(40)
#define WARPSCOPE_SUMS_56 WARPSCOPE_SUMS_48, WARPSCOPE_SUMS_FROM(48)
#define WARPSCOPE_SUMS_64 WARPSCOPE_SUMS_56, WARPSCOPE_SUMS_FROM(56)
#define WARPSCOPE_SUMS_72 WARPSCOPE_SUMS_64, WARPSCOPE_SUMS_FROM(64)
#define WARPSCOPE_SUMS_80 WARPSCOPE_SUMS_72, WARPSCOPE_SUMS_FROM(72)
#define WARPSCOPE_SUMS_88 WARPSCOPE_SUMS_80, WARPSCOPE_SUMS_FROM(80)
#define WARPSCOPE_SUMS_96 WARPSCOPE_SUMS_88, WARPSCOPE_SUMS_FROM(88)

#define WARPSCOPE_PRODUCT(name, Math, count, shape, type, first, second, turns)                                \
  __device__ __forceinline__ void name(mma::Math, float (&d)[count], std::uint64_t a, std::uint64_t b) {       \
    asm volatile(                                                                                              \
        "{\n"                                                                                                  \
        ".reg .pred add;\n"                                                                                    \
        "setp.eq.u32 add, 0, 0;\n"                                                                             \
        "wgmma.mma_async.sync.aligned." shape ".f32." type "." type " "                                        \
        "{" WARPSCOPE_PLACES_##count "}, %" #first ", %" #second ", add, 1, 1" turns ";\n"                     \
        "}"                                                                                                    \
        : WARPSCOPE_SUMS_##count                                                                               \
        : "l"(a), "l"(b)                                                                                       \
        : "memory");                                                                                           \
  }
/// One for each arithmetic, and with both operands turned, as those of 16 bits can be: k runs across their rows.
#define WARPSCOPE_PRODUCTS(width, count, first, second)                                                        \
  WARPSCOPE_PRODUCT(add_product, Bf16, count, "m64n" #width "k16", "bf16", first, second, ", 0, 0")            \
  WARPSCOPE_PRODUCT(add_product, Fp16, count, "m64n" #width "k16", "f16", first, second, ", 0, 0")             \
  WARPSCOPE_PRODUCT(add_product, Tf32, count, "m64n" #width "k8", "tf32", first, second, "")                   \
  WARPSCOPE_PRODUCT(add_turned_product, Bf16, count, "m64n" #width "k16", "bf16", first, second, ", 1, 1")     \
  WARPSCOPE_PRODUCT(add_turned_product, Fp16, count, "m64n" #width "k16", "f16", first, second, ", 1, 1")
WARPSCOPE_PRODUCTS(32, 16, 16, 17)
WARPSCOPE_PRODUCTS(48, 24, 24, 25)
WARPSCOPE_PRODUCTS(64, 32, 32, 33)
WARPSCOPE_PRODUCTS(80, 40, 40, 41)
WARPSCOPE_PRODUCTS(96, 48, 48, 49)
WARPSCOPE_PRODUCTS(112, 56, 56, 57)
WARPSCOPE_PRODUCTS(128, 64, 64, 65)
WARPSCOPE_PRODUCTS(160, 80, 80, 81)
WARPSCOPE_PRODUCTS(192, 96, 96, 97)
// clang-format on

#undef WARPSCOPE_PLACES_8
#undef WARPSCOPE_SUMS_8
#undef WARPSCOPE_PLACES_16
#undef WARPSCOPE_SUMS_16
#undef WARPSCOPE_PLACES_24
#undef WARPSCOPE_SUMS_24
#undef WARPSCOPE_PLACES_32
#undef WARPSCOPE_SUMS_32
#undef WARPSCOPE_PLACES_40
#undef WARPSCOPE_SUMS_40
#undef WARPSCOPE_PLACES_48
#undef WARPSCOPE_SUMS_48
#undef WARPSCOPE_PLACES_56
#undef WARPSCOPE_SUMS_56
#undef WARPSCOPE_PLACES_64
#undef WARPSCOPE_SUMS_64
#undef WARPSCOPE_PLACES_72
#undef WARPSCOPE_SUMS_72
#undef WARPSCOPE_PLACES_80
#undef WARPSCOPE_SUMS_80
#undef WARPSCOPE_PLACES_88
#undef WARPSCOPE_SUMS_88
#undef WARPSCOPE_PLACES_96
#undef WARPSCOPE_SUMS_96
#undef WARPSCOPE_SUMS_FROM
#undef WARPSCOPE_PRODUCT
#undef WARPSCOPE_PRODUCTS

}  // namespace warpscope::ops::conv2d::hopper_general
