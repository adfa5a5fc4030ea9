#pragma once
// A convolution of one-hot characters without the products with zeros. With the byte b = round(255 x) of a character
// (one_hot.cpp), and weights w (K,R,S,C):
//
//   gather_rows of forward            y[n,p,:] = sum over the taps t of row(t, b[n, p + t])
//   scatter_rows of backward_weights  dw[:,t,c] = sum over all (n,p) with b[n, p + t] = c + 1 of dy[n,p,:]
//
// row(t, c + 1) is w[:,t,c], K numbers, made of the weights once a call; row(t, 0), of characters without a channel,
// and what lies in the padding are 0. A call covers one_hot.forward before it, whose output is never made, and
// computes R S additions of a number where the product has R S C. shared_rows of forward keeps the rows in shared
// memory, shared_rows_normed covers a layer norm and a max pooling behind the convolution as well. mma_rows and
// hopper_rows of backward_weights make the same dw, as a product on tensor cores whose one-hot operand is made in
// registers, and the gradient of the bias.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/ops/chains.h"
#include "gpu/ops/symbols.h"

namespace warpscope::ops::conv2d::fused::rows {

/// The shape of one_hot.forward before a convolution.
inline OpShape shape_of_text(const OpShape& own) {
  OpShape shape = input_shape(own);
  shape.in_channels = 1;
  return shape;
}

inline Link one_hot_before() {
  return {.op = Op::one_hot_forward, .renames = {{Name::output, Name::encoded}}, .shape = shape_of_text};
}

/// one_hot.forward, conv2d.forward, and what may follow it: [bias.forward [relu.forward]].
inline std::vector<Link> forward_chain() {
  std::vector<Link> chain = bias_and_relu_after(Op::conv2d_forward);
  chain.front().renames.push_back({Name::input, Name::encoded});
  chain.insert(chain.begin(), one_hot_before());
  return chain;
}

/// The shape of a pooling, in the windows that the call tells, of what its convolution gives.
inline OpShape pooled_result_shape(const OpShape& own) {
  OpShape shape = result_shape(own);
  shape.kernel_height = own.window_height;
  shape.kernel_width = own.window_width;
  return shape;
}

/// one_hot.forward, conv2d.forward [bias.forward] layer_norm.forward [relu.forward] maxpool2d.forward.
inline std::vector<Link> normed_chain() {
  return {
      one_hot_before(),
      {.op = Op::conv2d_forward, .renames = {{Name::input, Name::encoded}, {Name::output, Name::product}}},
      optional_link(Op::bias_forward, Name::product, Name::biased, result_shape),
      {.op = Op::layer_norm_forward,
       .renames = {{Name::input, Name::biased},
                   {Name::weights, Name::norm_weights},
                   {Name::bias, Name::norm_bias},
                   {Name::output, Name::normed}},
       .shape = result_shape},
      optional_link(Op::relu_forward, Name::normed, Name::activated, result_shape),
      {.op = Op::maxpool2d_forward,
       .renames = {{Name::input, Name::activated}},
       .shape = pooled_result_shape,
       .takes = take_window}};
}

inline std::vector<Link> backward_weights_chain() {
  return {one_hot_before(), {.op = Op::conv2d_backward_weights, .renames = {{Name::input, Name::encoded}}}};
}

/// The same, and what may follow it: [conv2d.backward_bias].
inline std::vector<Link> backward_weights_and_bias_chain() {
  std::vector<Link> chain = backward_weights_chain();
  chain.push_back({.op = Op::conv2d_backward_bias, .optional = true});
  return chain;
}

inline int taps_of(const OpShape& s) {
  return s.kernel_height * s.kernel_width;
}

/// Numbers of all rows: (taps, C + 1, K).
inline std::int64_t elements_of(const OpShape& s) {
  return std::int64_t{taps_of(s)} * (s.in_channels + 1) * s.out_channels;
}

inline std::string refuses(const OpShape& s) {
  if (s.in_channels > kMostSymbols) return "a byte tells at most 255 characters apart";
  return elements_of(s) <= kMostElements ? "" : "at most 2e9 weights";
}

}  // namespace warpscope::ops::conv2d::fused::rows
