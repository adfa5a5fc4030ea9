// Nearest neighbours on CUDA, for a band of rows at a time:
//   1. Products of the centred rows in FP32 by tiles of 128 x 128, a thread 8 x 8 of them, and from these squared
//      distances, (band, training rows).
//   2. A block a row keeps the smallest: distances below the last one kept so far go to a list in shared memory, which
//      is sorted whenever it is full. A key is (distance, row), so that the result does not depend on the order.
//   3. A warp a candidate sums squared differences in double precision; candidates are ranked by those.

#include <algorithm>

#include "gpu/classifiers/columns.h"
#include "gpu/classifiers/nearest/nearest.h"
#include "gpu/core/cuda.h"
#include "gpu/ops/block_sum.cuh"

namespace warpscope::classifiers::nearest {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 128;   // rows of either matrix of a block
constexpr int kDepth = 8;    // columns at a time
constexpr int kEach = 8;     // rows of either matrix of a thread
constexpr int kSpare = 16;   // candidates beyond k
constexpr int kKept = 128;   // at least kMostNeighbours + kSpare, a power of two
constexpr int kList = 1024;  // a power of two: kept ones and new ones
constexpr int kRound = 512;  // distances that a block looks at between two looks at the list
constexpr std::size_t kBandBytes = std::size_t{256} << 20;
using Key = unsigned long long;

static_assert(kKept >= kMostNeighbours + kSpare);
static_assert(kKept + kRound <= kList);

/// norms_i = sum over columns of (x_ij - mean_j)^2; a block a row.
__global__ void __launch_bounds__(kThreads) sum_norms(FeatureMatrix x, const float* means, float* norms) {
  const float* const row = x.values + blockIdx.x * static_cast<std::int64_t>(x.columns);
  double sum[1] = {};
  for (int j = static_cast<int>(threadIdx.x); j < x.columns; j += kThreads) {
    const float value = row[j] - means[j];
    sum[0] += static_cast<double>(value) * static_cast<double>(value);
  }
  ops::block_sums(sum);
  if (threadIdx.x == 0) norms[blockIdx.x] = static_cast<float>(sum[0]);
}

__global__ void __launch_bounds__(kThreads)
    find_means(const double* sums, std::int64_t rows, int columns, float* means) {
  const int j = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (j < columns) means[j] = static_cast<float>(sums[j] / static_cast<double>(rows));
}

struct DistanceCall {
  FeatureMatrix rows;  ///< of this band
  FeatureMatrix training;
  const float* means;
  const float* row_norms;
  const float* training_norms;
  float* distances;  ///< (band, training rows)
};

/// Four centred numbers of a row from column j on, 0 beyond its end.
template <bool Aligned>
__device__ __forceinline__ float4 load_four(const FeatureMatrix& x, std::int64_t row, const float* means,
                                            int j) {
  float4 four = make_float4(0, 0, 0, 0);
  if (row >= x.rows || j >= x.columns) return four;
  const float* const from = x.values + row * x.columns + j;
  if constexpr (Aligned) {
    const float4 value = *reinterpret_cast<const float4*>(from),
                 mean = *reinterpret_cast<const float4*>(means + j);
    return make_float4(value.x - mean.x, value.y - mean.y, value.z - mean.z, value.w - mean.w);
  }
  four.x = from[0] - means[j];
  if (j + 1 < x.columns) four.y = from[1] - means[j + 1];
  if (j + 2 < x.columns) four.z = from[2] - means[j + 2];
  if (j + 3 < x.columns) four.w = from[3] - means[j + 3];
  return four;
}

__device__ __forceinline__ void store_column(float (*tile)[kTile], int j, int row, const float4& four) {
  tile[j][row] = four.x;
  tile[j + 1][row] = four.y;
  tile[j + 2][row] = four.z;
  tile[j + 3][row] = four.w;
}

template <bool Aligned>
__global__ void __launch_bounds__(kThreads, 2) find_distances(DistanceCall call) {
  __shared__ __align__(16) float own[2][kDepth][kTile], other[2][kDepth][kTile];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first_own = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t first_other = static_cast<std::int64_t>(blockIdx.x) * kTile;
  // Loading: two threads a row, four columns each.
  const int load_row = thread / 2, load_column = thread % 2 * 4;
  // Computing: 16 x 16 threads; a thread's eight rows are two groups of four, 64 apart, read without bank conflicts.
  const int own_part = thread / 16 * 4, other_part = thread % 16 * 4;
  float products[kEach][kEach] = {};
  const auto load = [&](int j, float4& mine, float4& theirs) {
    mine = load_four<Aligned>(call.rows, first_own + load_row, call.means, j + load_column);
    theirs = load_four<Aligned>(call.training, first_other + load_row, call.means, j + load_column);
  };
  const int columns = call.rows.columns;
  float4 mine, theirs;
  load(0, mine, theirs);
  store_column(own[0], load_column, load_row, mine);
  store_column(other[0], load_column, load_row, theirs);
  __syncthreads();
  for (int j = 0, now = 0; j < columns; j += kDepth, now ^= 1) {
    load(j + kDepth, mine, theirs);
#pragma unroll
    for (int depth = 0; depth < kDepth; ++depth) {
      float a[kEach], b[kEach];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<float4*>(a + 4 * half) =
            *reinterpret_cast<const float4*>(&own[now][depth][own_part + half * (kTile / 2)]);
        *reinterpret_cast<float4*>(b + 4 * half) =
            *reinterpret_cast<const float4*>(&other[now][depth][other_part + half * (kTile / 2)]);
      }
#pragma unroll
      for (int r = 0; r < kEach; ++r) {
#pragma unroll
        for (int c = 0; c < kEach; ++c) products[r][c] += a[r] * b[c];
      }
    }
    if (j + kDepth < columns) {
      store_column(own[now ^ 1], load_column, load_row, mine);
      store_column(other[now ^ 1], load_column, load_row, theirs);
      __syncthreads();
    }
  }
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    const std::int64_t row = first_own + own_part + r % 4 + r / 4 * (kTile / 2);
    if (row >= call.rows.rows) continue;
#pragma unroll
    for (int c = 0; c < kEach; ++c) {
      const std::int64_t to = first_other + other_part + c % 4 + c / 4 * (kTile / 2);
      if (to >= call.training.rows) continue;
      const float distance = call.row_norms[row] + call.training_norms[to] - 2 * products[r][c];
      call.distances[row * call.training.rows + to] = fmaxf(distance, 0.0f);
    }
  }
}

/// Sorts kList keys in shared memory, ascending. Source: K. Batcher, "Sorting networks and their applications" (1968).
__device__ void sort_list(Key* list) {
  for (int size = 2; size <= kList; size *= 2) {
    for (int apart = size / 2; apart > 0; apart /= 2) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < kList / 2; i += kThreads) {
        const int low = 2 * apart * (i / apart) + i % apart, high = low + apart;
        const bool up = (low & size) == 0;
        const Key a = list[low], b = list[high];
        if ((a > b) == up) {
          list[low] = b;
          list[high] = a;
        }
      }
    }
  }
  __syncthreads();
}

/// The rows of the `keep` smallest distances of each row of the band, (band, keep).
__global__ void __launch_bounds__(kThreads)
    keep_smallest(const float* distances, std::int64_t count, int keep, unsigned* kept) {
  constexpr Key kNone = ~Key{0};
  __shared__ Key list[kList];
  __shared__ int length;
  const int thread = static_cast<int>(threadIdx.x);
  const float* const own = distances + blockIdx.x * count;
  for (int i = thread; i < kList; i += kThreads) list[i] = kNone;
  if (thread == 0) length = kKept;
  __syncthreads();
  Key last = kNone;  // the largest that is kept so far
  const auto sort = [&] {
    sort_list(list);
    for (int i = kKept + thread; i < kList; i += kThreads) list[i] = kNone;
    if (thread == 0) length = kKept;
    last = list[keep - 1];
    __syncthreads();
  };
  for (std::int64_t first = 0; first < count; first += kRound) {
#pragma unroll
    for (int n = 0; n < kRound / kThreads; ++n) {
      const std::int64_t i = first + n * kThreads + thread;
      if (i >= count) continue;
      // Distances are not negative: their bits are in the order of their values.
      const Key key = static_cast<Key>(__float_as_uint(own[i])) << 32 | static_cast<Key>(i);
      if (key < last) list[atomicAdd(&length, 1)] = key;
    }
    __syncthreads();
    const bool full = length > kList - kRound;
    __syncthreads();  // all have read the length
    if (full) sort();
  }
  sort();
  for (int n = thread; n < keep; n += kThreads) {
    kept[static_cast<std::int64_t>(blockIdx.x) * keep + n] = static_cast<unsigned>(list[n] & 0xffffffffu);
  }
}

/// Puts the candidates of a row in order by their distances in double precision, and writes the first k.
__global__ void __launch_bounds__(kThreads)
    rank_candidates(FeatureMatrix rows, FeatureMatrix training, const unsigned* kept, int keep, int k,
                    std::int64_t* neighbours, float* distances) {
  __shared__ double exact[kKept];
  __shared__ unsigned candidates[kKept];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const float* const own = rows.values + blockIdx.x * static_cast<std::int64_t>(rows.columns);
  for (int n = warp; n < keep; n += kThreads / 32) {
    const unsigned candidate = kept[static_cast<std::int64_t>(blockIdx.x) * keep + n];
    const float* const other = training.values + static_cast<std::int64_t>(candidate) * rows.columns;
    double sum[1] = {};
#pragma unroll 4
    for (int j = lane; j < rows.columns; j += 32) {
      const double apart = static_cast<double>(own[j]) - static_cast<double>(other[j]);
      sum[0] += apart * apart;
    }
    ops::warp_sums(sum);
    if (lane == 0) {
      exact[n] = sum[0];
      candidates[n] = candidate;
    }
  }
  __syncthreads();
  const int n = static_cast<int>(threadIdx.x);
  if (n >= keep) return;
  int rank = 0;
  for (int i = 0; i < keep; ++i) {
    rank += exact[i] < exact[n] || (exact[i] == exact[n] && candidates[i] < candidates[n]) ? 1 : 0;
  }
  if (rank >= k) return;
  neighbours[static_cast<std::int64_t>(blockIdx.x) * k + rank] = static_cast<std::int64_t>(candidates[n]);
  distances[static_cast<std::int64_t>(blockIdx.x) * k + rank] = static_cast<float>(exact[n]);
}

bool is_aligned(const FeatureMatrix& x) {
  return x.columns % 4 == 0 && reinterpret_cast<std::uintptr_t>(x.values) % 16 == 0;
}

void launch_distances(const DistanceCall& call, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((call.training.rows + kTile - 1) / kTile),
                  static_cast<unsigned>((call.rows.rows + kTile - 1) / kTile));
  if (is_aligned(call.rows) && is_aligned(call.training)) {
    find_distances<true><<<grid, kThreads, 0, stream>>>(call);
  } else {
    find_distances<false><<<grid, kThreads, 0, stream>>>(call);
  }
  core::check_launch("nearest, distances");
}

/// What a search keeps in memory of the device.
struct Memory {
  core::Buffer means, row_norms, training_norms, distances, kept, neighbours, squared;
};

Memory prepare(const Place& place, const FeatureMatrix& training, const FeatureMatrix& rows,
               std::int64_t band, int keep, int k) {
  const auto bytes = [](std::int64_t count, std::size_t each) {
    return static_cast<std::size_t>(count) * each;
  };
  Memory memory;
  memory.means = core::Buffer(place.device, bytes(training.columns, sizeof(float)));
  memory.row_norms = core::Buffer(place.device, bytes(rows.rows, sizeof(float)));
  memory.training_norms = core::Buffer(place.device, bytes(training.rows, sizeof(float)));
  memory.distances = core::Buffer(place.device, bytes(band * training.rows, sizeof(float)));
  memory.kept = core::Buffer(place.device, bytes(band * keep, sizeof(unsigned)));
  memory.neighbours = core::Buffer(place.device, bytes(rows.rows * k, sizeof(std::int64_t)));
  memory.squared = core::Buffer(place.device, bytes(rows.rows * k, sizeof(float)));
  const core::Buffer sums(place.device, bytes(2 * training.columns, sizeof(double)));
  sum_columns(place, training, nullptr, sums.as<double>(), sums.as<double>() + training.columns);
  const cudaStream_t stream = core::cuda_stream(*place.stream);
  find_means<<<static_cast<unsigned>((training.columns + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      sums.as<double>(), training.rows, training.columns, memory.means.as<float>());
  core::check_launch("nearest, means");
  sum_norms<<<static_cast<unsigned>(training.rows), kThreads, 0, stream>>>(training, memory.means.as<float>(),
                                                                           memory.training_norms.as<float>());
  sum_norms<<<static_cast<unsigned>(rows.rows), kThreads, 0, stream>>>(rows, memory.means.as<float>(),
                                                                       memory.row_norms.as<float>());
  core::check_launch("nearest, norms");
  place.stream->synchronize();  // `sums` is freed here
  return memory;
}

}  // namespace

void find_neighbours_cuda(const Place& place, const FeatureMatrix& training, const FeatureMatrix& rows,
                          const Watch& watch, Neighbours& found) {
  const int keep = static_cast<int>(std::min<std::int64_t>(training.rows, found.k + kSpare));
  const auto fits = static_cast<std::int64_t>(kBandBytes / sizeof(float)) / training.rows / kTile * kTile;
  const std::int64_t band = std::min(rows.rows, std::max<std::int64_t>(fits, kTile));
  const Memory memory = prepare(place, training, rows, band, keep, found.k);
  const cudaStream_t stream = core::cuda_stream(*place.stream);
  for (std::int64_t first = 0; first < rows.rows; first += band) {
    if (watch.stop.stop_requested()) throw Cancelled();
    const FeatureMatrix part{rows.values + first * rows.columns, std::min(band, rows.rows - first),
                             rows.columns};
    launch_distances({part, training, memory.means.as<float>(), memory.row_norms.as<float>() + first,
                      memory.training_norms.as<float>(), memory.distances.as<float>()},
                     stream);
    const auto blocks = static_cast<unsigned>(part.rows);
    keep_smallest<<<blocks, kThreads, 0, stream>>>(memory.distances.as<float>(), training.rows, keep,
                                                   memory.kept.as<unsigned>());
    core::check_launch("nearest, selection");
    rank_candidates<<<blocks, kThreads, 0, stream>>>(
        part, training, memory.kept.as<unsigned>(), keep, found.k,
        memory.neighbours.as<std::int64_t>() + first * found.k, memory.squared.as<float>() + first * found.k);
    core::check_launch("nearest, ranks");
    place.stream->synchronize();  // so that a stop is heard after at most one band
    if (watch.progress)
      watch.progress(static_cast<double>(first + part.rows) / static_cast<double>(rows.rows), "distances");
  }
  place.stream->copy(found.rows.data(), memory.neighbours.data(), memory.neighbours.bytes());
  place.stream->copy(found.squared_distances.data(), memory.squared.data(), memory.squared.bytes());
  place.stream->synchronize();
}

}  // namespace warpscope::classifiers::nearest
