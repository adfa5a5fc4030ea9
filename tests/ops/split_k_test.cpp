// How split_k cuts products into blocks.

#include "gpu/ops/linear/split_k.h"

#include <gtest/gtest.h>

#if WARPSCOPE_HAVE_CUDA

namespace warpscope::ops::linear::split_k::split_k_test {
namespace {

using core::Precision;

OpShape layer(std::int64_t batch, int in, int out) {
  return {.batch = batch, .in_channels = in, .out_channels = out};
}

unsigned chunks_of(const Product& p, Precision precision) {
  const unsigned depth =
      kChunkBytes / static_cast<unsigned>(core::size_of(element_type(Role::activation, precision)));
  return (p.depth + depth - 1) / depth;
}

/// Tiles cover the product and parts its depth, none without work.
void expect_covers(const Product& p, const Cut& cut, Precision precision) {
  EXPECT_EQ(cut.across, (p.columns + cut.tile - 1) / cut.tile);
  EXPECT_EQ(cut.tiles, cut.across * ((p.rows + cut.tile - 1) / cut.tile));
  const unsigned chunks = chunks_of(p, precision);
  EXPECT_GE(cut.splits * cut.chunks, chunks);
  EXPECT_LT((cut.splits - 1) * cut.chunks, chunks);
}

TEST(SplitK, CutsCoverTheWholeProductAndNoBlockIsIdle) {
  for (const Precision precision : core::selectable_precisions()) {
    for (const OpShape& shape : {layer(1, 1, 1), layer(1, 784, 128), layer(128, 784, 128), layer(3, 8192, 10),
                                 layer(2048, 128, 10), layer(65, 513, 33), layer(60000, 70, 513)}) {
      for (const Product& p :
           {forward_product(shape), backward_input_product(shape), backward_weights_product(shape)}) {
        expect_covers(p, best_cut(p, precision), precision);
        for (const unsigned splits : {1u, 3u, 7u, 1000u}) {
          expect_covers(p, cut_into(p, precision, 32, splits), precision);
        }
      }
      const Product weights = backward_weights_product(shape);
      const Product input = backward_input_product(shape);
      const Pair pair = best_pair(weights, input, precision);
      EXPECT_EQ(pair.first.tile, pair.second.tile);
      expect_covers(weights, pair.first, precision);
      expect_covers(input, pair.second, precision);
    }
  }
}

TEST(SplitK, SmallDeepProductsAreSharedByManyBlocks) {
  const Product p = forward_product(layer(64, 8192, 128));
  for (const Precision precision : core::selectable_precisions()) {
    EXPECT_GE(best_cut(p, precision).blocks(), 100u);
  }
}

TEST(SplitK, ProductsWithTilesEnoughAreNotSplit) {
  const Product p = forward_product(layer(8192, 512, 512));
  for (const Precision precision : core::selectable_precisions()) {
    const Cut cut = best_cut(p, precision);
    EXPECT_EQ(cut.splits, 1u);
    EXPECT_EQ(parts_bytes(cut), 0u);
  }
}

TEST(SplitK, PartsStaySmall) {
  for (const Precision precision : core::selectable_precisions()) {
    for (const int in : {1, 100, 784, 8192}) {
      for (const std::int64_t batch : {1, 128, 2048, 60000}) {
        const OpShape shape = layer(batch, in, 128);
        const Pair pair =
            best_pair(backward_weights_product(shape), backward_input_product(shape), precision);
        EXPECT_LE(parts_bytes(pair.first) + parts_bytes(pair.second), std::size_t{16} << 20);
      }
    }
  }
}

}  // namespace
}  // namespace warpscope::ops::linear::split_k::split_k_test

#endif  // WARPSCOPE_HAVE_CUDA
