// Vector loads ahead of time: 16 bytes an instruction, while the products of the step before are added.
//
// conv2d.forward, 4 of 6. Tiles of 128 pixels x 64 channels and 8 x 8 elements a thread: 16 values of shared memory
// serve 64 products. Where the input's channels are a multiple of four, four terms that follow each other lie in one
// tap and are loaded at once; else one by one. What the next step needs is loaded to registers before this step's
// products are added, and put into the other half of shared memory after them: the time of the loads is hidden, and
// one __syncthreads() a step is enough.
// What is left: each product is an instruction of its own on the units for single numbers.
// Next: 5_tensor_cores uses those that multiply whole matrices.

#include <warpscope/conv2d.forward.h>

using warpscope::kernel::Call;

constexpr int kPixels = 128;   // of a block
constexpr int kChannels = 64;  // of the output, of a block
constexpr int kDepth = 16;     // terms of a step
constexpr int kThreads = 128;  // 16 x 8, each with 8 x 8 elements, in four squares of 4 x 4
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

WARPSCOPE_KERNEL(call) {
  __shared__ __align__(16) float patches[2][kDepth][kPixels + kPad];
  __shared__ __align__(16) float weights[2][kDepth][kChannels + kPad];
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
    for (int i = 0; i < kPatchLoads; ++i) {
      const float4 value = next_patches[i];
      patches[half][depth][line + i * kLines] = value.x;
      patches[half][depth + 1][line + i * kLines] = value.y;
      patches[half][depth + 2][line + i * kLines] = value.z;
      patches[half][depth + 3][line + i * kLines] = value.w;
    }
    for (int i = 0; i < kWeightLoads; ++i) {
      const float4 value = next_weights[i];
      weights[half][depth][line + i * kLines] = value.x;
      weights[half][depth + 1][line + i * kLines] = value.y;
      weights[half][depth + 2][line + i * kLines] = value.z;
      weights[half][depth + 3][line + i * kLines] = value.w;
    }
  };

  // What it computes: rows 4 * (thread / 8) and 64 more, columns 4 * (thread % 8) and 32 more, so that neighbours read
  // neighbouring 16 bytes of shared memory.
  const int row = thread / 8 * 4, column = thread % 8 * 4;
  float sums[8][8] = {};
  load();
  store(0);
  __syncthreads();
  for (int begin = 0, half = 0; begin < terms; begin += kDepth, half ^= 1) {
    const bool more = begin + kDepth < terms;
    if (more) load();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      float left[8], right[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        left[i] = patches[half][d][row + i % 4 + i / 4 * 64];
        right[i] = weights[half][d][column + i % 4 + i / 4 * 32];
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[i][j] += left[i] * right[j];
      }
    }
    if (more) store(half ^ 1);
    __syncthreads();
  }

  const Index pixels = call.output.size() / call.out_channels;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const Index pixel = first_pixel + row + i % 4 + i / 4 * 64;
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
      const Index k = first_k + column + j / 4 * 32;
      if (pixel >= pixels) continue;
      const Index place = pixel * call.out_channels + k;
      if (call.out_channels % 4 == 0 && k < call.out_channels) {
        *reinterpret_cast<float4*>(&call.output[place]) = {sums[i][j], sums[i][j + 1], sums[i][j + 2],
                                                           sums[i][j + 3]};
        continue;
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (k + e < call.out_channels) call.output[place + e] = sums[i][j + e];
      }
    }
  }
}
