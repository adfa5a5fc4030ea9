#pragma once
// An embedding: each character is a row of a table. Of a byte b = round(255 x), 0 if that is V or more,
//
//   forward           y[n,h,w,:] = w[b[n,h,w],:]
//   backward_weights  dw[v,:] = sum over all (n,h,w) with b[n,h,w] = v of dy[n,h,w,:]
//
// Row 0 is that of what is not in the alphabet; it learns like the others. x is (N,H,W,1), w (V,D), y (N,H,W,D). No
// gradient goes to x, which is what batch.gather makes of the data. OpShape: batch, height, width, in_channels = 1,
// out_channels = D, count = V, at most 256. Source: PyTorch's nn.Embedding.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::embedding {

OpContract forward_contract();
OpContract backward_weights_contract();

const OpTests& forward_tests();
const OpTests& backward_weights_tests();

std::vector<Variant> variants();

/// Elements of the table.
std::int64_t table(const OpShape& shape);

}  // namespace warpscope::ops::embedding
