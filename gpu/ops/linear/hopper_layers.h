#pragma once
// linear on Hopper: hopper_linear_forward.cu, hopper_linear_backward.cu. Precisions fp16 and bf16. Only the shape
// fixes how a product is cut, so that the same input gives the same bits on every GPU.

#include <cstddef>
#include <cstdint>

#include "gpu/core/types.h"
#include "gpu/ops/op.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear::hopper {

inline constexpr int kTile = 128;  ///< rows and columns of a block's tile of the result
inline constexpr int kSlice = 64;  ///< of a product's depth, in one stage of shared memory

/// How a product C[rows, columns], a sum over the depth, is cut: into tiles, a block each; these into clusters, which
/// share what they read; and the depth into parts of whole slices, whose sums a second kernel adds. Tiles of the last
/// clusters may lie outside C.
struct Cut {
  int rows = 0;
  int columns = 0;
  int row_clusters = 0;
  int column_clusters = 0;
  int slices = 0;
  int part_slices = 0;  ///< of one part; the last may have fewer
  int parts = 1;

  constexpr int tile_clusters() const { return row_clusters * column_clusters; }
  constexpr int clusters() const { return tile_clusters() * parts; }  ///< 0: there is no such product
  constexpr std::int64_t elements() const { return std::int64_t{rows} * columns; }
};

/// `splits`: whether the depth may be cut where tiles are too few for the GPU.
Cut cut_of(std::int64_t rows, std::int64_t columns, std::int64_t depth, int cluster_rows, int cluster_columns,
           bool splits);

/// Bytes of the parts' sums; 0 where the depth is not cut.
std::size_t parts_bytes(const Cut& cut);

/// Throws core::Error where an operand, by this name, does not begin at a multiple of 16 bytes.
void require_aligned(const OpCall& call, Name name);

/// Inputs and outputs in multiples of 64; at least 2^21 weights or, of 512 inputs and outputs or more, 2^20 weights and
/// 2^28 weights times rows; at most 2e9 elements of each operand.
bool takes(const OpShape& shape);

std::size_t forward_workspace(const OpShape& shape, core::Precision precision);
void launch_forward(const OpCall& call);

/// linear.backward_weights and what else the call covers.
std::size_t backward_workspace(const OpShape& shape, core::Precision precision);
void launch_backward(const OpCall& call);

}  // namespace warpscope::ops::linear::hopper
