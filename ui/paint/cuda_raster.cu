// The painter on CUDA. A warp finds the bounds and marks of a chunk of 32 triangles; then a warp has a tile of 16 x 16 pixels and
// tells by the marks of what meets it whether it changed since the picture before. Last, a block of 256 threads has a tile, a pixel
// to a thread, and leaves at once if nothing changed. It takes the chunks that meet the tile, in order, and of eight of them at a
// time the triangles that do: a thread sets one up in shared memory, then all threads draw them one after the other. So triangles
// are drawn in their order, with neither sorting nor atomics, and the picture has the same bits each time.
//
// Shared memory 31 KiB. Bound by instructions: some tens of triangles a tile; in a window that trains most tiles do not change.
// Source: S. Laine and T. Karras, "High-performance software rasterization on GPUs" (2011), of which this keeps the tiles alone.

#include "gpu/core/cuda.h"
#include "ui/paint/raster.h"
#include "ui/paint/raster_kernels.h"

namespace warpscope::ui::paint {
namespace {

constexpr unsigned kAll = 0xffffffffu;
constexpr int kWarp = 32;
constexpr int kBoundsThreads = 128, kMarkThreads = 256;
constexpr int kPixels = kTile * kTile;  // threads of a block
constexpr int kWarps = kPixels / kWarp;
static_assert(kChunkTriangles == kWarp);

__global__ void __launch_bounds__(kBoundsThreads)
    paint_bounds(const __grid_constant__ Scene scene, Bounds* __restrict__ triangles,
                 std::uint64_t* __restrict__ marks, Bounds* __restrict__ chunks) {
  const int i = static_cast<int>((blockIdx.x * kBoundsThreads + threadIdx.x) / kWarp);
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  if (i >= scene.chunk_count) return;
  const Chunk chunk = scene.chunks[i];
  Bounds bounds{0, 0, 0, 0};
  if (lane < static_cast<int>(chunk.triangles)) {
    const std::uint32_t* index = scene.indices + chunk.first_index + 3 * lane;
    const Place places[3] = {snap(scene.vertices[index[0]]), snap(scene.vertices[index[1]]),
                             snap(scene.vertices[index[2]])};
    const Command& command = scene.commands[chunk.command];
    bounds = bounds_of(places, command, scene.width, scene.height);
    marks[i * kWarp + lane] = mark_of(scene, index, command, bounds);
  }
  triangles[i * kWarp + lane] = bounds;
  const bool none = empty(bounds);
  int left = none ? INT16_MAX : bounds.left, top = none ? INT16_MAX : bounds.top;
  int right = bounds.right, bottom = bounds.bottom;
#pragma unroll
  for (int apart = kWarp / 2; apart > 0; apart /= 2) {
    left = min(left, __shfl_xor_sync(kAll, left, apart));
    top = min(top, __shfl_xor_sync(kAll, top, apart));
    right = max(right, __shfl_xor_sync(kAll, right, apart));
    bottom = max(bottom, __shfl_xor_sync(kAll, bottom, apart));
  }
  if (lane == 0) {
    chunks[i] = {static_cast<std::int16_t>(left), static_cast<std::int16_t>(top),
                 static_cast<std::int16_t>(right), static_cast<std::int16_t>(bottom)};
  }
}

__device__ __forceinline__ Bounds area_of_tile(int tile_x, int tile_y) {
  return {static_cast<std::int16_t>(tile_x), static_cast<std::int16_t>(tile_y),
          static_cast<std::int16_t>(tile_x + kTile), static_cast<std::int16_t>(tile_y + kTile)};
}

/// A warp to a tile; blockIdx.y is the row of tiles.
__global__ void __launch_bounds__(kMarkThreads)
    mark_tiles(const __grid_constant__ Scene scene, const Bounds* __restrict__ triangles,
               const std::uint64_t* __restrict__ marks, const Bounds* __restrict__ chunks,
               std::uint64_t* __restrict__ tile_marks, std::uint8_t* __restrict__ changed) {
  const int columns = (scene.width + kTile - 1) / kTile;
  const int column = static_cast<int>((blockIdx.x * kMarkThreads + threadIdx.x) / kWarp);
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  if (column >= columns) return;
  const Bounds tile = area_of_tile(column * kTile, static_cast<int>(blockIdx.y) * kTile);
  std::uint64_t added = 0;
  int order = 0;
  for (int first = 0; first < scene.chunk_count; first += kWarp) {
    const int mine = first + lane;
    unsigned found = __ballot_sync(kAll, mine < scene.chunk_count && meet(chunks[mine], tile));
    for (; found != 0; found &= found - 1) {
      const int place = (first + __ffs(static_cast<int>(found)) - 1) * kWarp + lane;
      const bool meets = meet(triangles[place], tile);  // empty ones meet no tile
      const unsigned votes = __ballot_sync(kAll, meets);
      if (meets) added += added_mark(marks[place], order + __popc(votes & ((1u << lane) - 1)));
      order += __popc(votes);
    }
  }
#pragma unroll
  for (int apart = kWarp / 2; apart > 0; apart /= 2) added += __shfl_xor_sync(kAll, added, apart);
  if (lane == 0) {
    const int number = static_cast<int>(blockIdx.y) * columns + column;
    const std::uint64_t mark = tile_mark(added, scene.background);
    changed[number] = tile_marks[number] != mark;
    tile_marks[number] = mark;
  }
}

struct Shared {
  Piece pieces[kPixels];
  int chunks[kPixels];
  int counts[kWarps];
};

/// All threads of the block: how many of them bring something, and in `place` how many with lower numbers do.
__device__ __forceinline__ int count(bool brings, int thread, int (&counts)[kWarps], int& place) {
  const unsigned votes = __ballot_sync(kAll, brings);
  const int lane = thread % kWarp;
  if (lane == 0) counts[thread / kWarp] = __popc(votes);
  __syncthreads();
  int all = 0;
  place = __popc(votes & ((1u << lane) - 1));
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) {
    if (warp < thread / kWarp) place += counts[warp];
    all += counts[warp];
  }
  __syncthreads();
  return all;
}

__global__ void __launch_bounds__(kPixels)
    paint_tiles(const __grid_constant__ Scene scene, const Bounds* __restrict__ triangles,
                const Bounds* __restrict__ chunks, const std::uint8_t* __restrict__ changed,
                std::uint32_t* __restrict__ pixels) {
  __shared__ Shared shared;
  if (changed[blockIdx.y * gridDim.x + blockIdx.x] == 0) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int tile_x = static_cast<int>(blockIdx.x) * kTile, tile_y = static_cast<int>(blockIdx.y) * kTile;
  const int x = thread % kTile, y = thread / kTile;
  const Bounds tile = area_of_tile(tile_x, tile_y);
  Colour pixel = unpack(scene.background);
  Tint tint;
  for (int first = 0; first < scene.chunk_count; first += kPixels) {
    const int mine = first + thread;
    int place = 0;
    const bool meets = mine < scene.chunk_count && meet(chunks[mine], tile);
    const int found = count(meets, thread, shared.counts, place);
    if (meets) shared.chunks[place] = mine;
    __syncthreads();
    for (int group = 0; group < found; group += kWarps) {
      const int number = group + thread / kWarp, lane = thread % kWarp;
      Piece piece;
      bool drawn = false;
      if (number < found) {
        const int i = shared.chunks[number];
        const Chunk chunk = scene.chunks[i];
        const Bounds bounds = triangles[i * kWarp + lane];  // empty ones meet no tile
        drawn = meet(bounds, tile) &&
                make_piece(scene, scene.indices + chunk.first_index + 3 * lane, scene.commands[chunk.command],
                           bounds, tile_x, tile_y, tint, piece);
      }
      const int pieces = count(drawn, thread, shared.counts, place);
      if (drawn) shared.pieces[place] = piece;
      __syncthreads();
      for (int i = 0; i < pieces; ++i) draw(scene, shared.pieces[i], tile_x, tile_y, x, y, pixel);
      __syncthreads();
    }
  }
  if (tile_x + x < scene.width && tile_y + y < scene.height) {
    pixels[static_cast<std::int64_t>(tile_y + y) * scene.width + tile_x + x] = pack(pixel);
  }
}

}  // namespace

void raster_with_cuda(const RasterCall& call, core::Stream& stream) {
  const Scene& scene = call.scene;
  const cudaStream_t native = core::cuda_stream(stream);
  if (scene.chunk_count > 0) {
    constexpr int kChunks = kBoundsThreads / kWarp;
    const auto blocks = static_cast<unsigned>((scene.chunk_count + kChunks - 1) / kChunks);
    paint_bounds<<<blocks, kBoundsThreads, 0, native>>>(scene, call.triangle_bounds, call.triangle_marks,
                                                        call.chunk_bounds);
    core::check_launch("the bounds of the window's triangles");
  }
  const dim3 tiles(static_cast<unsigned>((scene.width + kTile - 1) / kTile),
                   static_cast<unsigned>((scene.height + kTile - 1) / kTile));
  constexpr unsigned kTiles = kMarkThreads / kWarp;
  mark_tiles<<<dim3((tiles.x + kTiles - 1) / kTiles, tiles.y), kMarkThreads, 0, native>>>(
      scene, call.triangle_bounds, call.triangle_marks, call.chunk_bounds, call.tile_marks,
      call.tile_changed);
  core::check_launch("what changed in the window");
  paint_tiles<<<tiles, kPixels, 0, native>>>(scene, call.triangle_bounds, call.chunk_bounds,
                                             call.tile_changed, call.pixels);
  core::check_launch("painting the window");
}

}  // namespace warpscope::ui::paint
