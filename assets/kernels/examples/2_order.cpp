// Another order of the loops: the innermost goes over what is written, and the compiler makes vectors of it.
//
// conv2d.forward, 2 of 5. A value of the input is multiplied with one weight of each output channel and added to all
// sums of its pixel: no addition waits for another. For that the weights of all channels have to be neighbours, so
// they are copied first, the channel last.
// Why it is not fast yet: each product reads its sum from the cache and writes it back.
// Next: 3_registers keeps the sums of a few pixels in registers.

#include <vector>

#include <warpscope/conv2d.forward.h>

WARPSCOPE_KERNEL(call) {
  const Index padding_rows = call.valid ? 0 : call.dilation * (call.kernel_height - 1) / 2;
  const Index padding_columns = call.valid ? 0 : call.dilation * (call.kernel_width - 1) / 2;
  const Index channels = call.out_channels, terms = call.weights.size() / channels;
  std::vector<float> weights(static_cast<std::size_t>(terms * channels));
  for (Index k = 0; k < channels; ++k) {
    for (Index t = 0; t < terms; ++t)
      weights[static_cast<std::size_t>(t * channels + k)] = call.weights[k * terms + t];
  }
  std::vector<float> sums(static_cast<std::size_t>(channels));
  for (Index n = 0; n < call.batch; ++n) {
    for (Index i = 0; i < call.output.extent(1); ++i) {
      for (Index j = 0; j < call.output.extent(2); ++j) {
        sums.assign(sums.size(), 0.0f);
        for (Index r = 0; r < call.kernel_height; ++r) {
          const Index h = i * call.stride + r * call.dilation - padding_rows;
          if (h < 0 || h >= call.height) continue;
          for (Index s = 0; s < call.kernel_width; ++s) {
            const Index w = j * call.stride + s * call.dilation - padding_columns;
            if (w < 0 || w >= call.width) continue;
            for (Index c = 0; c < call.in_channels; ++c) {
              const float x = call.input(n, h, w, c);
              const Index t = (r * call.kernel_width + s) * call.in_channels + c;
              const float* const row = &weights[static_cast<std::size_t>(t * channels)];
              float* const sum = sums.data();
              for (Index k = 0; k < channels; ++k) sum[k] += x * row[k];
            }
          }
        }
        for (Index k = 0; k < channels; ++k) call.output(n, i, j, k) = sums[static_cast<std::size_t>(k)];
      }
    }
  }
}
