// Neighbours on CUDA: tiles of 128 x 128 distances, each a thread's 8 x 8 in registers; then a block a row finds the
// key (distance, index) of the last neighbour by counting digits, collects those up to it and sorts them.
//
// Source of the selection: D. Knuth, "The Art of Computer Programming", volume 3 (1998), sections 5.2.5 (digits, the
// highest first) and 5.3.4 (Batcher's bitonic sorter).

#include "gpu/core/cuda.h"
#include "gpu/maps/neighbours.h"

namespace warpscope::maps {
namespace {

// ---- distances ----

constexpr int kTile = 128;
constexpr int kSlab = 16;  // columns at a time
constexpr int kPitch = kTile + 4;
constexpr int kThreads = 256;
constexpr int kLoads = kTile * kSlab / kThreads;  // numbers that a thread fetches of either side

struct Slab {
  float a[kSlab][kPitch];
  float b[kSlab][kPitch];
};

/// What a thread fetches of one side: every 16th row from its own, one column of each slab.
struct Source {
  const float* from;  ///< of the slab that is next
  int rows;           ///< how many there are from its first
};

__device__ __forceinline__ Source source_of(const FeatureMatrix& x, std::int64_t first, std::int64_t end) {
  const std::int64_t row = first + threadIdx.x / kSlab;
  return {x.values + row * x.columns + threadIdx.x % kSlab,
          static_cast<int>(max(std::int64_t{0}, min(std::int64_t{kTile}, end - row)))};
}

/// `columns`: how many are left for this thread; outside of the matrix numbers are 0.
__device__ __forceinline__ void fetch(Source& source, int columns, int pitch, float (&values)[kLoads]) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    constexpr int kStep = kThreads / kSlab;
    const bool inside = columns > 0 && i * kStep < source.rows;
    values[i] = inside ? __ldg(source.from + static_cast<std::int64_t>(i * kStep) * pitch) : 0.0f;
  }
  source.from += kSlab;
}

__device__ __forceinline__ void put(float (&side)[kSlab][kPitch], const float (&values)[kLoads]) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    side[threadIdx.x % kSlab][threadIdx.x / kSlab + i * (kThreads / kSlab)] = values[i];
  }
}

__device__ __forceinline__ void take(const float (&line)[kPitch], int place, float (&values)[8]) {
  const float4 low = *reinterpret_cast<const float4*>(&line[place]);
  const float4 high = *reinterpret_cast<const float4*>(&line[place + kTile / 2]);
  values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
  values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
}

__device__ __forceinline__ void add_slab(const Slab& slab, int row, int column, float (&sums)[8][8]) {
#pragma unroll
  for (int k = 0; k < kSlab; ++k) {
    float a[8], b[8];
    take(slab.a[k], row, a);
    take(slab.b[k], column, b);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float difference = a[i] - b[j];
        sums[i][j] = fmaf(difference, difference, sums[i][j]);
      }
    }
  }
}

/// A thread's rows and columns of the tile: 4 from `place`, 4 from `place` + 64.
__device__ __forceinline__ int spread(int place, int i) {
  return place + i % 4 + i / 4 * (kTile / 2);
}

__global__ void __launch_bounds__(kThreads, 2) fill_distances(NearestCall call) {
  __shared__ __align__(16) Slab slabs[2];
  const FeatureMatrix& x = call.features;
  const std::int64_t first_row = call.first + static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int row = static_cast<int>(threadIdx.x / 16 * 4), column = static_cast<int>(threadIdx.x % 16 * 4);
  float a[kLoads], b[kLoads];
  float sums[8][8] = {};
  Source rows = source_of(x, first_row, call.first + call.rows);
  Source columns = source_of(x, first_column, x.rows);
  int left = x.columns - static_cast<int>(threadIdx.x % kSlab);
  fetch(rows, left, x.columns, a);
  fetch(columns, left, x.columns, b);
  const int count = (x.columns + kSlab - 1) / kSlab;
  for (int s = 0; s < count; ++s) {
    Slab& slab = slabs[s % 2];
    put(slab.a, a);
    put(slab.b, b);
    __syncthreads();  // the slab is there; all have left the one before, which is written next
    left -= kSlab;
    if (s + 1 < count) {
      fetch(rows, left, x.columns, a);
      fetch(columns, left, x.columns, b);
    }
    add_slab(slab, row, column, sums);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const std::int64_t r = first_row - call.first + spread(row, i);
    if (r >= call.rows) continue;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::int64_t c = first_column + spread(column, j);
      if (c < x.rows) call.distances[r * x.rows + c] = sums[i][j];
    }
  }
}

// ---- selection ----

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;
static_assert(kDigits == kThreads);

using Key = unsigned long long;

/// Distances are not negative, so their bits are in their order.
__device__ __forceinline__ Key key_at(const float* distances, int index) {
  return static_cast<Key>(__float_as_uint(distances[index])) << 32 | static_cast<unsigned>(index);
}

struct Digit {
  int digit;   ///< of the key that is looked for
  int before;  ///< keys with a smaller digit
  int inside;  ///< keys with this digit
};

/// The digit in which the wanted-th (from 1) of the counted keys lies. Every thread holds the count of its own digit.
__device__ Digit find_digit(int own, int wanted) {
  __shared__ int sums[kDigits];
  __shared__ Digit found;
  sums[threadIdx.x] = own;
  __syncthreads();
  for (unsigned step = 1; step < kDigits; step *= 2) {
    const int left = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += left;
    __syncthreads();
  }
  const int upto = sums[threadIdx.x];
  if (upto >= wanted && upto - own < wanted) found = {static_cast<int>(threadIdx.x), upto - own, own};
  __syncthreads();
  return found;
}

/// The largest key of the `count` smallest, or one between it and the next.
__device__ Key find_last(const float* distances, int rows, int self, int count) {
  __shared__ int histogram[kDigits];
  Key prefix = 0;
  int wanted = count;
  for (int shift = 64 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    histogram[threadIdx.x] = 0;
    __syncthreads();
    for (int j = static_cast<int>(threadIdx.x); j < rows; j += kThreads) {
      const Key key = key_at(distances, j);
      // Digits above are those of the prefix; at the first digit there are none.
      const bool same = shift == 64 - kDigitBits || (key ^ prefix) >> (shift + kDigitBits) == 0;
      if (same && j != self) atomicAdd(&histogram[key >> shift & (kDigits - 1)], 1);
    }
    __syncthreads();
    const Digit found = find_digit(histogram[threadIdx.x], wanted);
    prefix |= static_cast<Key>(found.digit) << shift;
    wanted -= found.before;
    if (wanted == found.inside)
      return prefix | ((Key{1} << shift) - 1);  // all with this digit belong to them
    __syncthreads();
  }
  return prefix;
}

__device__ void sort_keys(Key* keys, int padded) {
  for (int size = 2; size <= padded; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < padded; i += kThreads) {
        const int other = i ^ step;
        if (other < i) continue;
        const Key a = keys[i], b = keys[other];
        if ((a > b) == ((i & size) == 0)) keys[i] = b, keys[other] = a;
      }
    }
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads) select_nearest(NearestCall call) {
  __shared__ Key keys[kMostNeighbours];
  __shared__ int collected;
  const int rows = static_cast<int>(call.features.rows);
  const int row = static_cast<int>(blockIdx.x);
  const int self = static_cast<int>(call.first) + row;
  const float* const distances = call.distances + static_cast<std::int64_t>(row) * rows;
  int padded = 1;
  while (padded < call.count) padded *= 2;
  for (int i = static_cast<int>(threadIdx.x); i < padded; i += kThreads) keys[i] = ~Key{0};
  if (threadIdx.x == 0) collected = 0;
  const Key last = find_last(distances, rows, self, call.count);
  __syncthreads();
  for (int j = static_cast<int>(threadIdx.x); j < rows; j += kThreads) {
    const Key key = key_at(distances, j);
    if (key <= last && j != self) keys[atomicAdd(&collected, 1)] = key;  // in any order: they are sorted
  }
  sort_keys(keys, padded);
  for (int k = static_cast<int>(threadIdx.x); k < call.count; k += kThreads) {
    const std::int64_t to = static_cast<std::int64_t>(row) * call.count + k;
    call.indices[to] = static_cast<int>(keys[k] & 0xffffffffu);
    call.nearest[to] = __uint_as_float(static_cast<unsigned>(keys[k] >> 32));
  }
}

}  // namespace

void find_nearest_cuda(core::Stream& stream, const NearestCall& call) {
  const auto tiles = [](std::int64_t rows) { return static_cast<unsigned>((rows + kTile - 1) / kTile); };
  const cudaStream_t where = core::cuda_stream(stream);
  fill_distances<<<dim3(tiles(call.features.rows), tiles(call.rows)), kThreads, 0, where>>>(call);
  core::check_launch("maps: squared distances");
  select_nearest<<<static_cast<unsigned>(call.rows), kThreads, 0, where>>>(call);
  core::check_launch("maps: nearest rows");
}

}  // namespace warpscope::maps
