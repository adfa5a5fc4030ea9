// Tiles in shared memory: a value that is loaded once serves 16 products.
//
// conv2d.forward, 2 of 6. A convolution is a product of matrices: a row for each pixel of the output, a column for each
// of its channels, and the sum over the terms t = (r, s, c), the values below the kernel.
//
//   output[pixel][k] = sum over t of patch[pixel][t] * weights[k][t]
//
// Nobody stores the patches: the input is picked from where it lies. A block computes 16 x 16 elements. It walks along
// the terms, 16 at a time: each thread brings one value of a patch and one weight to shared memory, all wait for that
// (__syncthreads), and each adds 16 products. Neighbouring threads load neighbouring terms, which are neighbours in
// memory.
// Why it is not fast yet: for each product a thread reads two values of shared memory.
// Next: 3_registers lets a thread compute 4 x 4 elements.

#include <warpscope/conv2d.forward.h>

constexpr int kTile = 16;
WARPSCOPE_LAUNCH_3D(call, kTile, kTile, 1, (call.output.size() / call.out_channels + kTile - 1) / kTile,
                    (call.out_channels + kTile - 1) / kTile, 1)

WARPSCOPE_KERNEL(call) {
  // One column more than is used: the 16 threads that read a column meet 16 different banks.
  __shared__ float patches[kTile][kTile + 1];
  __shared__ float weights[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const Index rows = call.output.extent(1), columns = call.output.extent(2);
  const Index pixels = call.batch * rows * columns;
  const int terms = call.kernel_height * call.kernel_width * call.in_channels;
  const int channels = call.in_channels, across = call.kernel_width;
  const int padding_rows = call.valid ? 0 : call.dilation * (call.kernel_height - 1) / 2;
  const int padding_columns = call.valid ? 0 : call.dilation * (call.kernel_width - 1) / 2;

  // What this thread loads: term x of pixel y, and term x of output channel y.
  const Index pixel = Index{blockIdx.x} * kTile + y;
  const Index n = pixel / (rows * columns);
  const int first_h = pixel / columns % rows * call.stride - padding_rows;
  const int first_w = pixel % columns * call.stride - padding_columns;
  const int loaded_k = blockIdx.y * kTile + y;

  float sum = 0;
  for (int begin = 0; begin < terms; begin += kTile) {
    const int t = begin + x;
    const int c = t % channels, s = t / channels % across, r = t / channels / across;
    const int h = first_h + r * static_cast<int>(call.dilation);
    const int w = first_w + s * static_cast<int>(call.dilation);
    const bool inside = pixel < pixels && t < terms && h >= 0 && h < call.height && w >= 0 && w < call.width;
    patches[y][x] = inside ? call.input(n, h, w, c) : 0.0f;
    weights[y][x] = loaded_k < call.out_channels && t < terms ? call.weights(loaded_k, r, s, c) : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += patches[y][i] * weights[x][i];
    __syncthreads();  // the next step overwrites them
  }

  // What it stores: channel x of pixel y, so that neighbours store neighbours.
  const int k = blockIdx.y * kTile + x;
  if (pixel < pixels && k < call.out_channels) call.output[pixel * call.out_channels + k] = sum;
}
