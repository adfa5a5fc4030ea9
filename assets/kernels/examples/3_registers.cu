// Tiles in registers: a thread computes 4 x 4 elements, so that 8 reads of shared memory serve 16 products.
//
// conv2d.forward, 3 of 6. The product of 2_tiles, in tiles of 64 pixels x 64 channels. 256 threads bring 16 terms of
// each to shared memory, four values of either kind a thread; then each thread reads four pixels and four channels of
// a term and adds all 16 products, in registers that it keeps to the end (an "outer product"). The strips lie with the
// terms outside, so that the four values are neighbours and one instruction reads them.
// Why it is not fast yet: single values are loaded from memory, and while they come nobody multiplies.
// Next: 4_vectors loads four values at once, ahead of time.

#include <warpscope/conv2d.forward.h>

constexpr int kTile = 64;      // pixels and channels of a block
constexpr int kDepth = 16;     // terms of a step
constexpr int kThreads = 256;  // 16 x 16, each with 4 x 4 elements
constexpr int kOwn = 4;
constexpr int kPad = 4;  // keeps the strips aligned to 16 bytes and spreads stores over the banks
WARPSCOPE_LAUNCH_3D(call, kThreads, 1, 1, (call.output.size() / call.out_channels + kTile - 1) / kTile,
                    (call.out_channels + kTile - 1) / kTile, 1)

/// Where the patch of a pixel begins; h may lie so far outside that all of it does.
struct Patch {
  Index n;
  int h;
  int w;
};

__device__ Patch patch_of(const warpscope::kernel::Call& call, Index pixel) {
  const Index rows = call.output.extent(1), columns = call.output.extent(2);
  if (pixel >= call.batch * rows * columns) return {0, -(1 << 28), 0};
  const Index padding_rows = call.valid ? 0 : call.dilation * (call.kernel_height - 1) / 2;
  const Index padding_columns = call.valid ? 0 : call.dilation * (call.kernel_width - 1) / 2;
  return {pixel / (rows * columns), static_cast<int>(pixel / columns % rows * call.stride - padding_rows),
          static_cast<int>(pixel % columns * call.stride - padding_columns)};
}

WARPSCOPE_KERNEL(call) {
  __shared__ __align__(16) float patches[kDepth][kTile + kPad];
  __shared__ __align__(16) float weights[kDepth][kTile + kPad];
  const int thread = threadIdx.x;
  const int terms = call.kernel_height * call.kernel_width * call.in_channels;
  const int channels = call.in_channels, across = call.kernel_width, dilation = call.dilation;
  const Index first_pixel = Index{blockIdx.x} * kTile;
  const int first_k = blockIdx.y * kTile;

  // What this thread loads in each step: one term of four pixels and of four output channels.
  const int loaded_term = thread % kDepth, loaded_line = thread / kDepth;
  Patch loaded[kOwn];
  for (int i = 0; i < kOwn; ++i) loaded[i] = patch_of(call, first_pixel + loaded_line + i * kDepth);

  // What it computes.
  const int row = thread / 16 * kOwn, column = thread % 16 * kOwn;
  float sums[kOwn][kOwn] = {};
  for (int begin = 0; begin < terms; begin += kDepth) {
    const int t = begin + loaded_term;
    const int c = t % channels, s = t / channels % across, r = t / channels / across;
    for (int i = 0; i < kOwn; ++i) {
      const int line = loaded_line + i * kDepth;
      const int h = loaded[i].h + r * dilation, w = loaded[i].w + s * dilation;
      const bool inside = t < terms && h >= 0 && h < call.height && w >= 0 && w < call.width;
      patches[loaded_term][line] = inside ? call.input(loaded[i].n, h, w, c) : 0.0f;
      const int k = first_k + line;
      weights[loaded_term][line] = t < terms && k < call.out_channels ? call.weights(k, r, s, c) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      float left[kOwn], right[kOwn];
      for (int i = 0; i < kOwn; ++i) left[i] = patches[d][row + i];
      for (int j = 0; j < kOwn; ++j) right[j] = weights[d][column + j];
      for (int i = 0; i < kOwn; ++i) {
        for (int j = 0; j < kOwn; ++j) sums[i][j] += left[i] * right[j];
      }
    }
    __syncthreads();
  }

  const Index pixels = call.output.size() / call.out_channels;
  for (int i = 0; i < kOwn; ++i) {
    for (int j = 0; j < kOwn; ++j) {
      const Index pixel = first_pixel + row + i, k = first_k + column + j;
      if (pixel < pixels && k < call.out_channels) call.output[pixel * call.out_channels + k] = sums[i][j];
    }
  }
}
