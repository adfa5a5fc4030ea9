// A loop for each index: easy to see that it is right, and slow.
//
// conv2d.forward, 1 of 5. The sum of one element goes over the taps of the kernel and the channels of the input:
//
//   output(n, i, j, k) = sum over r, s, c of input(n, h, w, c) * weights(k, r, s, c)
//   h = i * stride + r * dilation - padding,  w likewise with j and s; what lies outside the image is zero
//
// Why it is slow: each addition waits for the one before, since a compiler may not change the order in which numbers
// are added, and so it cannot add several at once either.
// Next: 2_order adds to many elements in turn.

#include <warpscope/conv2d.forward.h>

WARPSCOPE_KERNEL(call) {
  const Index padding_rows = call.valid ? 0 : call.dilation * (call.kernel_height - 1) / 2;
  const Index padding_columns = call.valid ? 0 : call.dilation * (call.kernel_width - 1) / 2;
  for (Index n = 0; n < call.batch; ++n) {
    for (Index i = 0; i < call.output.extent(1); ++i) {
      for (Index j = 0; j < call.output.extent(2); ++j) {
        for (Index k = 0; k < call.out_channels; ++k) {
          float sum = 0;
          for (Index r = 0; r < call.kernel_height; ++r) {
            const Index h = i * call.stride + r * call.dilation - padding_rows;
            if (h < 0 || h >= call.height) continue;
            for (Index s = 0; s < call.kernel_width; ++s) {
              const Index w = j * call.stride + s * call.dilation - padding_columns;
              if (w < 0 || w >= call.width) continue;
              for (Index c = 0; c < call.in_channels; ++c)
                sum += call.input(n, h, w, c) * call.weights(k, r, s, c);
            }
          }
          call.output(n, i, j, k) = sum;
        }
      }
    }
  }
}
