#pragma once
// How the variants `split_k` and `split_k_fused` cut a product C[m,n] = sum_k A(m,k) B(k,n) into blocks: into
// square tiles of C, and the sum of each tile over the depth k into `splits` parts of whole chunks. Chosen by
// a model of the time that a GPU of 132 multiprocessors needs (cuda_split_k_plan.cpp).

#include <cstddef>

#include "gpu/ops/op.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear::split_k {

/// Bytes of depth that a block loads at a time of every row of A and column of B.
inline constexpr unsigned kChunkBytes = 128;

struct Product {
  unsigned rows = 0;
  unsigned columns = 0;
  unsigned depth = 0;
};

Product forward_product(const OpShape& shape);
Product backward_input_product(const OpShape& shape);
Product backward_weights_product(const OpShape& shape);

struct Cut {
  unsigned tile = 16;   ///< side of the tiles: 16, 32 or 64
  unsigned across = 0;  ///< tiles side by side
  unsigned tiles = 0;
  unsigned splits = 1;
  unsigned chunks = 0;  ///< of one part; the last part may have fewer

  constexpr unsigned blocks() const { return tiles * splits; }
};

/// `product` in tiles of `tile` and as many parts; both kept within what the product allows.
Cut cut_into(const Product& product, core::Precision precision, unsigned tile, unsigned splits);

Cut best_cut(const Product& product, core::Precision precision);

/// Two products that one launch computes, in tiles of the same size. The second may be absent.
struct Pair {
  Cut first;
  Cut second;  ///< no tiles if absent
};

Pair best_pair(const Product& first, const Product& second, core::Precision precision);

/// Floats of one part of a tile: its sums and, for a product that adds up the rows of A too, those.
constexpr unsigned part_floats(unsigned tile) {
  return tile * tile + tile;
}

/// How linear.forward and the ops it covers are launched, and linear.backward_weights or linear.backward_input
/// with theirs; of a pair the first is the product of backward_weights. call.prepared are Arrivals, as many
/// as there are tiles.
void launch_forward(const OpCall& call, const Cut& cut);
void launch_backward_weights(const OpCall& call, const Pair& pair);
void launch_backward_input(const OpCall& call, const Cut& cut);

/// Bytes of the parts that the blocks of `cut` leave for the last of each tile; 0 if nothing is split.
std::size_t parts_bytes(const Cut& cut);

}  // namespace warpscope::ops::linear::split_k
