// Tensor cores by mma.sync: a warp multiplies 16 x 8 by 8 x 8 values with one instruction.
//
// conv2d.forward, 5 of 6. The tiles of 4_vectors; each of four warps computes 64 pixels x 32 channels as 4 x 4 results
// of mma.sync.m16n8k8, whose rows and columns are spread over the 32 lanes as the manual of PTX draws them. Lines of
// shared memory are 20 values long: the 32 values that the lanes of an operand read lie in 32 different banks.
//
// Tensor cores take TF32, which has 10 bits behind the point; proofs of FP32 want 23. So each value is split into two,
//   big = x rounded to TF32,   small = x - big rounded to TF32,   x y ~ small big' + big small' + big big'
// which leaves out only what is as small as the rounding of FP32. They also cut off,
// instead of rounding, what they add to: so the products of a step start from zero, and ordinary additions, which
// round, add them to the sums. Three products instead of one are still faster than those of single numbers.
// Needs compute capability 8.0. Infinities become NaN.
// Next: 6_fused adds the bias and ReLU while the sums are in registers.

#include <warpscope/conv2d.forward.h>

using warpscope::kernel::Call;

constexpr int kPixels = 128;   // of a block
constexpr int kChannels = 64;  // of the output, of a block
constexpr int kDepth = 16;     // terms of a step
constexpr int kThreads = 128;  // four warps, two along pixels and two along channels
constexpr int kWarpPixels = 64, kWarpChannels = 32;
constexpr int kRows = kWarpPixels / 16, kColumns = kWarpChannels / 8;  // results of mma.sync of a warp
constexpr int kPad = 4;
constexpr int kLines = kThreads / (kDepth / 4);  // lines that all threads load at once
constexpr int kPatchLoads = kPixels / kLines;    // of a thread in a step, four terms each
constexpr int kWeightLoads = kChannels / kLines;
WARPSCOPE_LAUNCH_3D(call, kThreads, 1, 1, (call.output.size() / call.out_channels + kPixels - 1) / kPixels,
                    (call.out_channels + kChannels - 1) / kChannels, 1)

/// Where the patch of a pixel begins, as place in the input too; h may lie so far outside that all of it does.
struct Patch {
  Index first;
  int h;
  int w;
};

__device__ Patch patch_of(const Call& call, Index pixel) {
  const Index rows = call.output.extent(1), columns = call.output.extent(2);
  if (pixel >= call.batch * rows * columns) return {0, -(1 << 28), 0};
  const Index n = pixel / (rows * columns);
  const Index h =
      pixel / columns % rows * call.stride - (call.valid ? 0 : call.dilation * (call.kernel_height - 1) / 2);
  const Index w =
      pixel % columns * call.stride - (call.valid ? 0 : call.dilation * (call.kernel_width - 1) / 2);
  return {((n * call.height + h) * call.width + w) * call.in_channels, static_cast<int>(h),
          static_cast<int>(w)};
}

/// A term: the tap (r, s) and the channel c.
struct Term {
  int t, r, s, c;

  __device__ Term(const Call& call, int place) : t(place), r(0), s(0), c(place) { carry(call); }
  __device__ void advance(const Call& call, int by) {
    t += by;
    c += by;
    carry(call);
  }

 private:
  __device__ void carry(const Call& call) {
    while (c >= call.in_channels) {
      c -= call.in_channels;
      if (++s < call.kernel_width) continue;
      s = 0;
      ++r;
    }
  }
};

/// The value of a patch at a term, and three more where the channels are a multiple of four.
template <class T>
__device__ T value_of(const Call& call, const Patch& patch, const Term& at) {
  const int dilation = call.dilation;
  const int h = patch.h + at.r * dilation, w = patch.w + at.s * dilation;
  const bool inside = at.r < call.kernel_height && h >= 0 && h < call.height && w >= 0 && w < call.width;
  if (!inside) return T{};
  const Index place =
      patch.first + (Index{at.r} * dilation * call.width + at.s * dilation) * call.in_channels + at.c;
  return *reinterpret_cast<const T*>(&call.input[place]);
}

template <class T>
__device__ T weight_of(const Call& call, Index k, const Term& at) {
  if (k >= call.out_channels || at.r >= call.kernel_height) return T{};
  return *reinterpret_cast<const T*>(&call.weights(k, at.r, at.s, at.c));
}

/// Four terms from `first` on, by one load or by four.
template <class Load>
__device__ float4 four(const Call& call, const Term& first, const Load& load) {
  if (call.in_channels % 4 == 0) return load(float4{}, first);
  float values[4];
  Term at = first;
  for (int i = 0; i < 4; ++i, at.advance(call, 1)) values[i] = load(float{}, at);
  return {values[0], values[1], values[2], values[3]};
}

/// A value as two of TF32.
struct Split {
  unsigned big, small;
};

__device__ Split split(float x) {
  Split parts;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(parts.big) : "f"(x));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(parts.small) : "f"(x - __uint_as_float(parts.big)));
  return parts;
}

/// sums += left right, of 16 x 8 and 8 x 8 values.
__device__ void multiply(float (&sums)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}

/// Two results that are neighbours, of channels k and k + 1.
__device__ void put(const Call& call, Index pixel, Index k, float first, float second) {
  if (k >= call.out_channels) return;
  const bool both = k + 1 < call.out_channels;
  const Index place = pixel * call.out_channels + k;
  if (call.out_channels % 2 == 0) {
    *reinterpret_cast<float2*>(&call.output[place]) = {first, second};
    return;
  }
  call.output[place] = first;
  if (both) call.output[place + 1] = second;
}

WARPSCOPE_KERNEL(call) {
  __shared__ __align__(16) float patches[2][kPixels][kDepth + kPad];
  __shared__ __align__(16) float weights[2][kChannels][kDepth + kPad];
  const int thread = threadIdx.x;
  const int terms = call.kernel_height * call.kernel_width * call.in_channels;
  const Index first_pixel = Index{blockIdx.x} * kPixels;
  const int first_k = blockIdx.y * kChannels;

  // What this thread loads: four terms of some lines.
  const int line = thread / 4, depth = thread % 4 * 4;
  Term at(call, depth);
  Patch loaded[kPatchLoads];
  for (int i = 0; i < kPatchLoads; ++i) loaded[i] = patch_of(call, first_pixel + line + i * kLines);
  float4 next_patches[kPatchLoads], next_weights[kWeightLoads];
  const auto load = [&] {
    for (int i = 0; i < kPatchLoads; ++i) {
      next_patches[i] = four(call, at, [&](auto kind, const Term& term) {
        return value_of<decltype(kind)>(call, loaded[i], term);
      });
    }
    for (int i = 0; i < kWeightLoads; ++i) {
      next_weights[i] = four(call, at, [&](auto kind, const Term& term) {
        return weight_of<decltype(kind)>(call, first_k + line + i * kLines, term);
      });
    }
    at.advance(call, kDepth);
  };
  const auto store = [&](int half) {
    for (int i = 0; i < kPatchLoads; ++i)
      *reinterpret_cast<float4*>(&patches[half][line + i * kLines][depth]) = next_patches[i];
    for (int i = 0; i < kWeightLoads; ++i)
      *reinterpret_cast<float4*>(&weights[half][line + i * kLines][depth]) = next_weights[i];
  };

  // What its warp computes, and which rows and columns of each operand its lane holds.
  const int row = thread / 32 / 2 * kWarpPixels, column = thread / 32 % 2 * kWarpChannels;
  const int group = thread % 32 / 4, lane = thread % 4;
  float sums[kRows][kColumns][4] = {};
  load();
  store(0);
  __syncthreads();
  for (int begin = 0, half = 0; begin < terms; begin += kDepth, half ^= 1) {
    const bool more = begin + kDepth < terms;
    if (more) load();
    unsigned right_big[kDepth / 8][kColumns][2], right_small[kDepth / 8][kColumns][2];
#pragma unroll
    for (int d = 0; d < kDepth / 8; ++d) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const Split parts = split(weights[half][column + 8 * j + group][8 * d + lane + 4 * e]);
          right_big[d][j][e] = parts.big;
          right_small[d][j][e] = parts.small;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float added[kColumns][4] = {};
#pragma unroll
      for (int d = 0; d < kDepth / 8; ++d) {
        unsigned left_big[4], left_small[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const Split parts =
              split(patches[half][row + 16 * i + group + 8 * (e % 2)][8 * d + lane + 4 * (e / 2)]);
          left_big[e] = parts.big;
          left_small[e] = parts.small;
        }
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          multiply(added[j], left_small, right_big[d][j]);
          multiply(added[j], left_big, right_small[d][j]);
          multiply(added[j], left_big, right_big[d][j]);
        }
      }
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[i][j][e] += added[j][e];
      }
    }
    if (more) store(half ^ 1);
    __syncthreads();
  }

  const Index pixels = call.output.size() / call.out_channels;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const Index pixel = first_pixel + row + 16 * i + group + 8 * e;
      if (pixel >= pixels) continue;
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
        put(call, pixel, first_k + column + 8 * j + 2 * lane, sums[i][j][2 * e], sums[i][j][2 * e + 1]);
    }
  }
}
