// A thread for each element of the output: easy to see that it is right, and slow.
//
// conv2d.forward, 1 of 6. The sum of one element goes over the taps of the kernel and the channels of the input:
//
//   output(n, i, j, k) = sum over r, s, c of input(n, h, w, c) * weights(k, r, s, c)
//   h = i * stride + r * dilation - padding,  w likewise with j and s; what lies outside the image is zero
//
// Why it is slow: each product needs two loads from memory. Neighbouring threads have neighbouring k, so they read the
// same input, but weights that lie far apart. Most of what a load brings along is thrown away.
// Next: 2_tiles brings what a block needs to shared memory once.

#include <warpscope/conv2d.forward.h>

constexpr int kThreads = 256;
WARPSCOPE_LAUNCH(call, kThreads, (call.output.size() + kThreads - 1) / kThreads)

WARPSCOPE_KERNEL(call) {
  Index element = Index{blockIdx.x} * kThreads + threadIdx.x;
  if (element >= call.output.size()) return;
  const Index k = element % call.out_channels;
  element /= call.out_channels;
  const Index j = element % call.output.extent(2);
  element /= call.output.extent(2);
  const Index i = element % call.output.extent(1);
  const Index n = element / call.output.extent(1);
  const Index padding_rows = call.valid ? 0 : call.dilation * (call.kernel_height - 1) / 2;
  const Index padding_columns = call.valid ? 0 : call.dilation * (call.kernel_width - 1) / 2;
  float sum = 0;
  for (Index r = 0; r < call.kernel_height; ++r) {
    const Index h = i * call.stride + r * call.dilation - padding_rows;
    if (h < 0 || h >= call.height) continue;
    for (Index s = 0; s < call.kernel_width; ++s) {
      const Index w = j * call.stride + s * call.dilation - padding_columns;
      if (w < 0 || w >= call.width) continue;
      for (Index c = 0; c < call.in_channels; ++c) sum += call.input(n, h, w, c) * call.weights(k, r, s, c);
    }
  }
  call.output(n, i, j, k) = sum;
}
