#pragma once
// What the kernels of narrow.h share: tiles of 4x8 windows of the narrow tensor, and the patch of it that a
// tile needs, made into the rows of a matrix in shared memory.
//
// A window is 2x2 pixels of the narrow tensor: a window of the pooling where it is x, the outputs of one
// pixel of x where it is y. A patch is a tile's 8x16 pixels and a border of one, zero outside the image:
// fetched into registers while the tile before it is multiplied, stored as it is in the tensor, then copied
// into rows: the 3x3 pixels around each pixel (PixelRows), or the 4x4 around each window (WindowRows).
//
// Rows are padded to an odd number of 16 bytes, so that eight of them, of one matrix of ldmatrix, lie in
// different banks.
// Source: K. Chellapilla et al., "High performance convolutional neural networks for document processing"
// (2006), for the rows.

#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/implicit_gemm_loaders.cuh"
#include "gpu/ops/conv2d/mma_plan.h"
#include "gpu/ops/mma.cuh"
#include "gpu/ops/op.h"

namespace warpscope::ops::conv2d::fused::narrow {

using Half = std::uint16_t;         ///< a stored element of either 16-bit type
using Single = mma::Tf32::Storage;  ///< and one of FP32

inline constexpr int kTileRows = 4;  // windows
inline constexpr int kTileColumns = 8;
inline constexpr int kTileWindows = kTileRows * kTileColumns;
inline constexpr int kTilePixels = 4 * kTileWindows;
inline constexpr int kPatchRows = 2 * kTileRows + 2;  // pixels
inline constexpr int kPatchColumns = 2 * kTileColumns + 2;
inline constexpr int kPatchPixels = kPatchRows * kPatchColumns;
inline constexpr int kSlabChannels = 256;  // wide channels of a block

/// The tiles of all images, and the wide tensor: (images, rows, columns, channels).
struct Tiles {
  int rows;  ///< windows of an image
  int columns;
  int channels;
  int count;
  conv2d::FastDivide by_across;  ///< tiles of an image
  conv2d::FastDivide by_down;
  int across;
  int down;

  /// Elements of the wide tensor from one row of windows, and from one image, to the next.
  __device__ __forceinline__ int line() const { return columns * channels; }
  __device__ __forceinline__ int image() const { return rows * columns * channels; }
};

struct TilePlace {
  int image;
  int row;  ///< of its first window
  int column;
};

__device__ __forceinline__ TilePlace place_of(const Tiles& tiles, int tile) {
  const int line = tiles.by_across.quotient(tile);
  const int image = tiles.by_down.quotient(line);
  return {image, (line - image * tiles.down) * kTileRows, (tile - line * tiles.across) * kTileColumns};
}

/// The element of the wide tensor at a tile's first window and channel 0.
__device__ __forceinline__ std::int64_t first_element(const Tiles& tiles, const TilePlace& at) {
  return static_cast<std::int64_t>(at.image) * tiles.image() +
         (at.row * tiles.columns + at.column) * tiles.channels;
}

inline Tiles tiles_of(std::int64_t batch, int rows, int columns, int channels) {
  const int across = (columns + kTileColumns - 1) / kTileColumns;
  const int down = (rows + kTileRows - 1) / kTileRows;
  return {rows,
          columns,
          channels,
          static_cast<int>(batch) * across * down,
          conv2d::FastDivide::by(static_cast<unsigned>(across)),
          conv2d::FastDivide::by(static_cast<unsigned>(down)),
          across,
          down};
}

/// What both kinds of narrow layers ask of a shape; `windows` of an image are rows x columns. Offsets in an
/// image have 32 bits, so have the numbers of tiles.
inline bool takes_layer(const ChainShape& s, int narrow, int wide, int rows, int columns) {
  constexpr std::int64_t kMostNumbers = std::int64_t{1} << 28;
  const std::int64_t windows = std::int64_t{rows} * columns;
  return s.kernel_height == 3 && s.kernel_width == 3 && narrow >= 1 && narrow <= 4 && wide >= 8 &&
         wide % 8 == 0 && s.batch >= 1 && rows >= 1 && columns >= 1 && windows * wide <= kMostNumbers &&
         windows * 16 <= kMostNumbers && s.batch * windows <= kMostNumbers;
}

/// Steps of 32 bytes, those of a product, that `elements` fill.
template <class Storage>
constexpr int steps_of(int elements) {
  return (elements * static_cast<int>(sizeof(Storage)) + 31) / 32;
}

constexpr int row_bytes(int steps) {
  return 32 * steps + 16;
}

/// The number one as it is stored.
__device__ __forceinline__ constexpr unsigned one_of(mma::Fp16) {
  return 0x3c00u;
}
__device__ __forceinline__ constexpr unsigned one_of(mma::Bf16) {
  return 0x3f80u;
}
__device__ __forceinline__ constexpr unsigned one_of(mma::Tf32) {
  return 0x3f800000u;
}

/// A patch on its way through the registers of a block of kThreads threads; kLine elements are from one row
/// of pixels in shared memory to the next. TF32 is rounded as it is stored.
template <int kNarrow, int kThreads, class Storage = Half, int kLine = kPatchColumns* kNarrow>
struct Patch {
  static constexpr int pixels = (kPatchPixels + kThreads - 1) / kThreads;  // of a thread
  static constexpr int bytes = (kPatchRows * kLine * static_cast<int>(sizeof(Storage)) + 15) / 16 * 16;

  Storage values[pixels][kNarrow];
  bool inside[pixels];  ///< in the image and not in the border

  __device__ __forceinline__ void fetch(const Tiles& tiles, int tile, const Storage* __restrict__ narrow) {
    const TilePlace at = place_of(tiles, tile);
    const int height = 2 * tiles.rows;
    const int width = 2 * tiles.columns;
    const Storage* image = narrow + static_cast<std::int64_t>(at.image) * (height * width * kNarrow);
#pragma unroll
    for (int i = 0; i < pixels; ++i) {
      const int pixel = static_cast<int>(threadIdx.x) + i * kThreads;
      const int row = pixel / kPatchColumns;
      const int column = pixel - row * kPatchColumns;
      const int y = 2 * at.row - 1 + row;
      const int x = 2 * at.column - 1 + column;
      const bool exists = row < kPatchRows && static_cast<unsigned>(y) < static_cast<unsigned>(height) &&
                          static_cast<unsigned>(x) < static_cast<unsigned>(width);
      inside[i] = exists && row > 0 && row < kPatchRows - 1 && column > 0 && column < kPatchColumns - 1;
#pragma unroll
      for (int c = 0; c < kNarrow; ++c)
        values[i][c] = exists ? image[(y * width + x) * kNarrow + c] : Storage{0};
    }
  }
  __device__ __forceinline__ void store(Storage* patch) const {
#pragma unroll
    for (int i = 0; i < pixels; ++i) {
      const int pixel = static_cast<int>(threadIdx.x) + i * kThreads;
      if (pixel >= kPatchPixels) continue;
      const int padding = pixel / kPatchColumns * (kLine - kPatchColumns * kNarrow);
#pragma unroll
      for (int c = 0; c < kNarrow; ++c) patch[pixel * kNarrow + padding + c] = operand(values[i][c]);
    }
  }

 private:
  static __device__ __forceinline__ Storage operand(Storage stored) {
    if constexpr (sizeof(Storage) == sizeof(mma::Tf32::Storage))
      return mma::operand_word(mma::Tf32{}, stored);
    return stored;
  }
};

/// Rows of the 3x3 pixels around a pixel, in the order of the weights, (r, s, c), and a one after them: what
/// the bias is multiplied with, or what sums the other operand. In TF32 there is a second one, for what
/// rounding leaves of the bias.
template <class Math, int kNarrow>
struct PixelRows {
  using Storage = typename Math::Storage;
  static constexpr int elements = 9 * kNarrow + (sizeof(Storage) == 4 ? 2 : 1);
  static constexpr int steps = steps_of<Storage>(elements);
  static constexpr int stride = row_bytes(steps);
  static constexpr int bytes = kTilePixels * stride;

  template <int kElement>
  static __device__ __forceinline__ unsigned element(const Storage* corner) {
    constexpr int kLine = 3 * kNarrow;
    if constexpr (kElement < 9 * kNarrow) {
      return corner[kElement / kLine * kPatchColumns * kNarrow + kElement % kLine];
    } else {
      return kElement < elements ? one_of(Math{}) : 0u;
    }
  }
  template <int kChunk>
  static __device__ __forceinline__ void copy_chunk(mma::SharedAddress row, const Storage* corner) {
    if constexpr (sizeof(Storage) == 4) {
      constexpr int k = 4 * kChunk;
      const unsigned words[4] = {element<k>(corner), element<k + 1>(corner), element<k + 2>(corner),
                                 element<k + 3>(corner)};
      mma::store_chunk(row + 16 * kChunk, words);
    } else {
      constexpr int k = 8 * kChunk;
      const unsigned words[4] = {element<k>(corner) | element<k + 1>(corner) << 16,
                                 element<k + 2>(corner) | element<k + 3>(corner) << 16,
                                 element<k + 4>(corner) | element<k + 5>(corner) << 16,
                                 element<k + 6>(corner) | element<k + 7>(corner) << 16};
      mma::store_chunk(row + 16 * kChunk, words);
    }
  }
  /// Chunks [kFirst, kEnd) of the row of pixel (y, x) of the tile.
  template <int kFirst, int kEnd>
  static __device__ __forceinline__ void copy(mma::SharedAddress row, const Storage* patch, int y, int x) {
    if constexpr (kFirst < kEnd) {
      copy_chunk<kFirst>(row, patch + (y * kPatchColumns + x) * kNarrow);
      copy<kFirst + 1, kEnd>(row, patch, y, x);
    }
  }
};

/// Rows of the 4x4 pixels around a window, in the order (row, column, c), which are whole words of the patch.
template <int kNarrow, class Storage = Half>
struct WindowRows {
  static constexpr int elements = 16 * kNarrow;
  static constexpr int steps = steps_of<Storage>(elements);
  static constexpr int stride = row_bytes(steps);
  static constexpr int bytes = kTileWindows * stride;
  static constexpr int chunks = 2 * steps;
  static constexpr int pixel_bytes = kNarrow * static_cast<int>(sizeof(Storage));
  static constexpr int words = pixel_bytes;  // of each of the window's four lines: four pixels

  /// Copies all rows: a thread one chunk of one window at a time.
  template <int kThreads>
  static __device__ __forceinline__ void copy_all(mma::SharedAddress rows, mma::SharedAddress patch) {
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kTileWindows * chunks; i += kThreads) {
      const int chunk = i / kTileWindows;
      const int window = i % kTileWindows;
      const int y = 2 * (window / kTileColumns);
      const int x = 2 * (window % kTileColumns);
      const mma::SharedAddress corner = patch + static_cast<unsigned>((y * kPatchColumns + x) * pixel_bytes);
      unsigned four[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const int word = 4 * chunk + w;  // of the row
        four[w] = mma::load_word(
            corner + static_cast<unsigned>(word / words * kPatchColumns * pixel_bytes + word % words * 4));
      }
      mma::store_chunk(rows + static_cast<unsigned>(window * stride + chunk * 16), four);
    }
  }
};

/// A tile of the wide tensor in shared memory: `kTileWindows` lines of kSlabChannels elements, filled 16
/// bytes a copy by 256 threads.
template <int kLineBytes, class Storage = Half>
struct WideTile {
  static constexpr int bytes = kTileWindows * kLineBytes;

  /// Starts the copies of `tile`, from `first_channel` on. What does not exist becomes zero.
  static __device__ __forceinline__ void fetch(const Tiles& tiles, int tile, const Storage* __restrict__ wide,
                                               int first_channel, mma::SharedAddress to) {
    constexpr int kElements = 16 / static_cast<int>(sizeof(Storage));  // of a copy
    constexpr int kChunks = kSlabChannels / kElements;
    constexpr int kColumns = 256 / kChunks;  // at once
    const TilePlace at = place_of(tiles, tile);
    const int column = static_cast<int>(threadIdx.x) / kChunks;
    const int chunk = static_cast<int>(threadIdx.x) % kChunks;
    const int channel = first_channel + kElements * chunk;
    int rows[kTileColumns / kColumns];
#pragma unroll
    for (int i = 0; i < kTileColumns / kColumns; ++i) {
      const bool exists = at.column + column + i * kColumns < tiles.columns && channel < tiles.channels;
      rows[i] = exists ? tiles.rows - at.row : 0;
    }
    const Storage* from = wide + first_element(tiles, at) + (column * tiles.channels + channel);
    to += static_cast<unsigned>(column * kLineBytes + chunk * 16);
#pragma unroll
    for (int i = 0; i < kTileColumns / kColumns; ++i) {
      const int apart = i * kColumns;
#pragma unroll
      for (int row = 0; row < kTileRows; ++row) {
        const bool exists = row < rows[i];
        mma::copy_async(to + static_cast<unsigned>((row * kTileColumns + apart) * kLineBytes),
                        exists ? from + (row * tiles.line() + apart * tiles.channels) : wide, exists);
      }
    }
  }
};

/// Blocks of a kernel that takes tiles in turn: enough to fill the device, no more than there are tiles.
inline unsigned persistent_blocks(int tiles, int per_multiprocessor) {
  const int fill = conv2d::tensor_cores::current_device().multiprocessors * per_multiprocessor;
  return static_cast<unsigned>(tiles < fill ? tiles : fill);
}

/// Calls launch(integral_constant<int, narrow>) with narrow in 1..4.
template <class Launch>
void with_narrow(int narrow, Launch launch) {
  switch (narrow) {
    case 1:
      return launch(std::integral_constant<int, 1>{});
    case 2:
      return launch(std::integral_constant<int, 2>{});
    case 3:
      return launch(std::integral_constant<int, 3>{});
    default:
      return launch(std::integral_constant<int, 4>{});
  }
}

}  // namespace warpscope::ops::conv2d::fused::narrow
