// embedding.backward_weights, variant `scatter_rows`: a thread takes four channels of a span of characters and adds
// each row of dy to a table in shared memory, of which it has a column to itself; a second kernel adds the tables. Over
// `atomic` it adds a fixed order of the sums, the same bits every time, and that frequent characters are no bottleneck.
// Limits: none on the shape; channels in multiples of four are read as vectors. Bound by reading dy. At most 56 KB of
// shared memory; registers: row_sums.cuh. Source: embedding.cpp; row_sums.cuh.

#include "gpu/ops/embedding/embedding.h"
#include "gpu/ops/row_sums.cuh"
#include "gpu/ops/sizes.h"
#include "gpu/ops/symbols.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::embedding {
namespace {

row_sums::Sums sums_of(const OpShape& s) {
  return {sizes::pixels(s), s.out_channels, static_cast<int>(s.count), 1};
}

template <class T>
struct Symbols {
  const T* x;
  int most;
  __device__ __forceinline__ int operator()(std::int64_t position, int /*tap*/) const {
    return symbol_of(to_float(x[position]), most);
  }
};

struct Store {
  float* dw;
  int channels;
  __device__ __forceinline__ void operator()(int /*tap*/, int row, int channel, float sum) const {
    dw[row * channels + channel] = sum;
  }
};

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&]<class T>(T) {
    row_sums::launch<T>(call, sums_of(s),
                        Symbols<T>{call.operand<const T>(Name::input), static_cast<int>(s.count) - 1},
                        Store{call.operand<float>(Name::weights_gradient), s.out_channels});
  });
}

std::size_t workspace(const OpShape& s, core::Precision) {
  return sizeof(float) * static_cast<std::size_t>(row_sums::partial_elements(sums_of(s)));
}

}  // namespace

Variant scatter_rows_backward_weights() {
  return cuda_variant(Op::embedding_backward_weights, "scatter_rows", backward_weights,
                      "Tables of sums in shared memory, a column a thread, added in a fixed order.",
                      {.workspace_bytes = workspace});
}

}  // namespace warpscope::ops::embedding
