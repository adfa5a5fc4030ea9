#pragma once
// What the variants of conv2d.forward share that run the batch norm behind the convolution in the same call: their
// chains, and the call of the batch norm, which begins with moments that the convolution left.

#include <string>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

/// conv2d.forward bias? batch_norm batch_norm.track? (relu add?)? maxpool2d?. A variant of this chain stores what the
/// batch norm reads (`biased`), the statistics, and what is added to (`activated`). Nobody reads that but the gradient
/// of the ReLU, so without one there would be nothing to store.
std::vector<Link> normed_chain();

/// conv2d.forward bias? batch_norm batch_norm.track? add (relu | gelu)?. Stored: `biased`, the statistics, and for
/// others what GELU reads (`unactivated`).
std::vector<Link> normed_sum_chain();

/// Why a call of normed_chain() cannot take so much behind the norm, or "".
std::string refuses_behind_norm(const OpShape& shape);

/// The batch norm in a call of either chain, with what is behind it, for batch_norm::forward_from() or summed_from().
OpCall norm_call(const OpCall& call);

}  // namespace warpscope::ops::conv2d
