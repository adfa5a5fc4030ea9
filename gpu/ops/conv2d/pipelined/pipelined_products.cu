// conv2d.forward and backward_input `pipelined`, the product:
//
//   out[pixel, k] = after(sum over (tap, c) of in[what the tap reads for the pixel, c] * w[k, tap, c] + bias[k])
//
// A stage of shared memory has 8 channels of a tap: of the tile's pixels, and of its filters, each 8 floats one after
// another as they lie in memory, so that copies of 16 bytes bring them (cp.async) and zeros where a tap reads outside.
// Three stages are under way while one is multiplied. A thread reads four of the 8 channels of a row at once; the
// half of a row lies at the place that makes reads of eight neighbouring rows free of bank conflicts. Filters stand in
// the order in which threads read them together (FilterRows).
//
// Where the summed channels do not come in fours, a stage has 8 terms: channels of taps, which follow each other
// without gaps, so that three channels of nine taps fill 27 of 32 places. Copies of 4 bytes bring them. What the first
// tap reads for each row of the tile, and where each filter is, then lies behind the stages.
//
// Registers and shared memory: at most 128 and 43 KiB, two to four blocks on a multiprocessor; spills of at
// most 24 bytes outside the loop.
// Source: V. Volkov, J. Demmel, "Benchmarking GPUs to tune dense linear algebra" (2008); NVIDIA, "CUDA C++ Programming
// Guide", "Asynchronous data copies".

#include <cstdint>

#include "gpu/ops/conv2d/pipelined/pipelined_tile.cuh"
#include "gpu/ops/kernel_launch.cuh"

namespace warpscope::ops::conv2d::pipelined {
namespace {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
constexpr int kRowCopies = kDepth / kVector;
constexpr int kNowhere = -(1 << 15);  ///< no tap reaches from there into an image

/// The float of a stage's operand at which half `half` of row `row` lies.
__device__ __forceinline__ int place_of(int row, int half) {
  return row * kDepth + (half ^ (row >> 2 & 1)) * kVector;
}

/// What a thread copies of the pixels: the same half of rows that lie `step` apart.
template <class T>
struct PixelCopies {
  static constexpr int step = T::threads / kRowCopies;
  static constexpr int count = T::rows / step;
  static_assert(T::rows % step == 0);

  const Problem& q;
  const Lattice& lattice;
  const float* in;
  int half;
  int row;
  int first[count];       ///< pixel that the first tap reads, of all images
  unsigned place[count];  ///< its row and column, 16 bits each
  unsigned from[count];   ///< elements of `in`
  unsigned inside = 0;    ///< a bit each: of the current tap

  __device__ __forceinline__ PixelCopies(const Problem& of, const Lattice& l, const float* tensor,
                                         int first_pixel)
      : q(of),
        lattice(l),
        in(tensor),
        half(static_cast<int>(threadIdx.x) % kRowCopies),
        row(static_cast<int>(threadIdx.x) / kRowCopies) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int pixel = first_pixel + row + i * step;
      const int line = pixel / lattice.right.extent;
      const int n = line / lattice.down.extent;
      const int down = (line - n * lattice.down.extent) * q.read_step + lattice.down.lower;
      const int right = (pixel - line * lattice.right.extent) * q.read_step + lattice.right.lower;
      first[i] = (n * q.read_rows + down) * q.read_columns + right;
      // What is past the last row of an image is read as zeros.
      place[i] = static_cast<unsigned>(pixel < lattice.pixels ? down : kNowhere) << 16 |
                 static_cast<unsigned>(right & 0xffff);
      from[i] = 0;
    }
  }

  /// Goes to the tap that is `r` down and `s` to the right.
  __device__ __forceinline__ void go_to(int r, int s) {
    inside = 0;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int y = (static_cast<int>(place[i]) >> 16) + r * lattice.down.shift;
      const int x = static_cast<std::int16_t>(place[i]) + s * lattice.right.shift;
      const bool is_inside = static_cast<unsigned>(y) < static_cast<unsigned>(q.read_rows) &&
                             static_cast<unsigned>(x) < static_cast<unsigned>(q.read_columns);
      const int shift = r * lattice.down.shift * q.read_columns + s * lattice.right.shift;
      const int pixel = is_inside ? first[i] + shift : 0;
      from[i] = static_cast<unsigned>(pixel * q.summed + half * kVector);
      inside |= static_cast<unsigned>(is_inside) << i;
    }
  }

  __device__ __forceinline__ void copy(mma::SharedAddress stage, int channel) const {
    const bool exists = channel + half * kVector < q.summed;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const bool reads = exists && (inside >> i & 1u) != 0;
      mma::copy_async(stage + place_of(row + i * step, half) * static_cast<unsigned>(sizeof(float)),
                      in + (reads ? from[i] + static_cast<unsigned>(channel) : 0u), reads);
    }
  }
};

/// The same of the filters. Row r of the stage is the filter of the thread r % threads_across in a warp's row: threads
/// beside each other read rows that lie beside each other.
template <class T>
struct FilterCopies {
  static constexpr int all = T::columns * kRowCopies;
  static constexpr int count = (all + T::threads - 1) / T::threads;

  const Problem& q;
  const float* weights;
  unsigned from[count];  ///< elements of `weights`
  unsigned exists = 0;

  __device__ __forceinline__ static int filter_of(int row) {
    const int thread = row % T::shape.threads_across;
    const int mine = row / T::shape.threads_across;
    return (mine / T::vector * T::shape.threads_across + thread) * T::vector + mine % T::vector;
  }
  __device__ __forceinline__ FilterCopies(const Problem& of, const float* tensor, int first_filter)
      : q(of), weights(tensor) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int copy = static_cast<int>(threadIdx.x) + i * T::threads;
      const int filter = first_filter + filter_of(copy / kRowCopies);
      const bool is_there = copy < all && filter < q.channels;
      exists |= static_cast<unsigned>(is_there) << i;
      from[i] =
          static_cast<unsigned>((is_there ? filter * q.filter_elements : 0) + copy % kRowCopies * kVector);
    }
  }

  __device__ __forceinline__ void copy(mma::SharedAddress stage, int tap, int channel) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int mine = static_cast<int>(threadIdx.x) + i * T::threads;
      if (all % T::threads != 0 && mine >= all) continue;
      const int half = mine % kRowCopies;
      const bool reads = (exists >> i & 1u) != 0 && channel + half * kVector < q.summed;
      mma::copy_async(
          stage + place_of(mine / kRowCopies, half) * static_cast<unsigned>(sizeof(float)),
          weights + (reads ? from[i] + static_cast<unsigned>(tap * q.tap_elements + channel) : 0u), reads);
    }
  }
};

/// The taps' channels one after another without gaps, of which a thread copies one to each stage.
struct TermCursor {
  int r;
  int s;
  int channel;

  __device__ __forceinline__ TermCursor(const Problem& q, const Lattice& lattice, int first)
      : channel(first % q.summed) {
    const int tap = first / q.summed;
    r = lattice.right.count == 0 ? 0 : tap / lattice.right.count;
    s = tap - r * lattice.right.count;
  }
  __device__ __forceinline__ void advance(const Problem& q, const Lattice& lattice) {
    channel += kDepth;
    while (channel >= q.summed) {
      channel -= q.summed;
      if (++s == lattice.right.count) {
        s = 0;
        ++r;
      }
    }
  }
  __device__ __forceinline__ bool exists(const Lattice& lattice) const { return r < lattice.down.count; }
  __device__ __forceinline__ int tap(const Problem& q, const Lattice& lattice) const {
    return (lattice.down.tap + r * lattice.down.tap_step) * q.kernel_width + lattice.right.tap +
           s * lattice.right.tap_step;
  }
};

/// What a thread copies of pixels whose channels are no multiple of 4: one term of rows that lie `step` apart. They are
/// found in shared memory, behind the stages: registers are scarce.
template <class T>
struct PixelTerms {
  static constexpr int step = T::threads / kDepth;
  static constexpr int count = T::rows / step;
  static_assert(T::rows % step == 0 && T::rows <= T::threads);

  const Problem& q;
  const Lattice& lattice;
  const float* in;
  const TileRow* rows;

  /// All threads of the block make it together.
  __device__ __forceinline__ PixelTerms(const Problem& of, const Lattice& l, const float* tensor,
                                        int first_pixel, float* shared)
      : q(of), lattice(l), in(tensor) {
    auto* table = reinterpret_cast<TileRow*>(shared + T::stages * T::stage_floats);
    const int mine = static_cast<int>(threadIdx.x);
    if (mine < T::rows) {
      const int pixel = first_pixel + mine;
      const int line = pixel / lattice.right.extent;
      const int n = line / lattice.down.extent;
      const int down = (line - n * lattice.down.extent) * q.read_step + lattice.down.lower;
      const int right = (pixel - line * lattice.right.extent) * q.read_step + lattice.right.lower;
      table[mine] = {(n * q.read_rows + down) * q.read_columns + right,
                     static_cast<unsigned>(pixel < lattice.pixels ? down : kNowhere) << 16 |
                         static_cast<unsigned>(right & 0xffff)};
    }
    rows = table;
    __syncthreads();
  }

  __device__ __forceinline__ void copy(mma::SharedAddress stage, const TermCursor& at) const {
    const int mine = static_cast<int>(threadIdx.x) % kDepth;
    const int first_row = static_cast<int>(threadIdx.x) / kDepth;
    const int shift = at.r * lattice.down.shift * q.read_columns + at.s * lattice.right.shift;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const TileRow row = rows[first_row + i * step];
      const int y = (static_cast<int>(row.place) >> 16) + at.r * lattice.down.shift;
      const int x = static_cast<std::int16_t>(row.place) + at.s * lattice.right.shift;
      const bool reads = at.exists(lattice) &&
                         static_cast<unsigned>(y) < static_cast<unsigned>(q.read_rows) &&
                         static_cast<unsigned>(x) < static_cast<unsigned>(q.read_columns);
      const unsigned from = reads ? static_cast<unsigned>((row.first + shift) * q.summed + at.channel) : 0u;
      mma::copy_word_async(
          stage + static_cast<unsigned>(place_of(first_row + i * step, mine / kVector) + mine % kVector) *
                      static_cast<unsigned>(sizeof(float)),
          in + from, reads);
    }
  }
};

/// The same of the filters, whose first elements lie behind what PixelTerms has.
template <class T>
struct FilterTerms {
  static constexpr int step = T::threads / kDepth;
  static constexpr int count = (T::columns + step - 1) / step;
  static_assert(T::columns <= T::threads);

  const Problem& q;
  const float* weights;
  const int* columns;  ///< less than 0: no filter

  __device__ __forceinline__ FilterTerms(const Problem& of, const float* tensor, int first_filter,
                                         float* shared)
      : q(of), weights(tensor) {
    auto* table = reinterpret_cast<int*>(shared + T::stages * T::stage_floats + 2 * T::rows);
    const int mine = static_cast<int>(threadIdx.x);
    if (mine < T::columns) {
      const int filter = first_filter + FilterCopies<T>::filter_of(mine);
      table[mine] = filter < q.channels ? filter * q.filter_elements : -1;
    }
    columns = table;
    __syncthreads();
  }

  __device__ __forceinline__ void copy(mma::SharedAddress stage, const Lattice& lattice,
                                       const TermCursor& at) const {
    const int mine = static_cast<int>(threadIdx.x) % kDepth;
    const auto from = static_cast<unsigned>(at.tap(q, lattice)) * static_cast<unsigned>(q.tap_elements) +
                      static_cast<unsigned>(at.channel);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int row = static_cast<int>(threadIdx.x) / kDepth + i * step;
      if (T::columns % step != 0 && row >= T::columns) continue;
      const int filter = columns[row];
      const bool reads = at.exists(lattice) && filter >= 0;
      mma::copy_word_async(stage + static_cast<unsigned>(place_of(row, mine / kVector) + mine % kVector) *
                                       static_cast<unsigned>(sizeof(float)),
                           weights + (reads ? static_cast<unsigned>(filter) + from : 0u), reads);
    }
  }
};

/// The taps and channels of the stages, one after another.
struct StageCursor {
  int r = 0;
  int s = 0;
  int channel = 0;

  /// Whether the next stage is of another tap.
  __device__ __forceinline__ bool advance(const Problem& q, const Lattice& lattice) {
    channel += kDepth;
    if (channel < q.summed) return false;
    channel = 0;
    if (++s == lattice.right.count) {
      s = 0;
      ++r;
    }
    return true;
  }
  __device__ __forceinline__ int tap(const Problem& q, const Lattice& lattice) const {
    return (lattice.down.tap + r * lattice.down.tap_step) * q.kernel_width + lattice.right.tap +
           s * lattice.right.tap_step;
  }
};

/// Half `half` of the rows `first`, `first` + kStep, ... of a stage's operand.
template <int kStep>
struct HalfRows {
  static_assert(kStep % 4 == 0);
  const float* even;  ///< of rows whose half lies where that of the first row does
  const float* odd;

  __device__ __forceinline__ HalfRows(const float* operand, int first, int half)
      : even(operand + place_of(first, half)), odd(operand + place_of(first, half ^ 1)) {}
  __device__ __forceinline__ float4 operator[](int k) const {
    const float* from = (k * kStep / 4 % 2 == 0 ? even : odd) + k * kStep * kDepth;
    return *reinterpret_cast<const float4*>(from);
  }
};

template <class T>
__device__ __forceinline__ void multiply_products(Sums<T>& sums, const float* pixels, const float* filters,
                                                  const ThreadPlace<T>& place) {
#pragma unroll
  for (int half = 0; half < kRowCopies; ++half) {
    const HalfRows<T::shape.threads_down> rows(pixels, place.down, half);
    const HalfRows<T::shape.threads_across> columns(filters, place.across, half);
    float4 a[T::down];
#pragma unroll
    for (int i = 0; i < T::down; ++i) a[i] = rows[i];
#pragma unroll
    for (int j = 0; j < T::across; ++j) {
      const float4 b = columns[j];
#pragma unroll
      for (int i = 0; i < T::down; ++i) sums[i][j] += a[i].x * b.x;
#pragma unroll
      for (int i = 0; i < T::down; ++i) sums[i][j] += a[i].y * b.y;
#pragma unroll
      for (int i = 0; i < T::down; ++i) sums[i][j] += a[i].z * b.z;
#pragma unroll
      for (int i = 0; i < T::down; ++i) sums[i][j] += a[i].w * b.w;
    }
  }
}

/// kCount neighbouring floats, aligned to as many.
template <int kCount>
struct alignas(kCount * sizeof(float)) Floats {
  float value[kCount];
};

/// Which of the neighbouring channels that a thread writes at once there are.
struct Span {
  bool whole;  ///< all of them, aligned to as many
  int left;    ///< else only the first so many
};

template <int kCount>
__device__ __forceinline__ Floats<kCount> read_floats(const float* from, const Span& span) {
  if (span.whole) return *reinterpret_cast<const Floats<kCount>*>(from);
  Floats<kCount> v;
#pragma unroll
  for (int k = 0; k < kCount; ++k) v.value[k] = k < span.left ? from[k] : 0.0f;
  return v;
}

template <int kCount>
__device__ __forceinline__ void write_floats(float* to, const Span& span, const Floats<kCount>& v) {
  if (span.whole) {
    *reinterpret_cast<Floats<kCount>*>(to) = v;
    return;
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    if (k < span.left) to[k] = v.value[k];
  }
}

template <int kCount>
__device__ __forceinline__ void finish(const Tensors& t, std::int64_t element, int channel, const Span& span,
                                       Floats<kCount> v) {
  if (t.bias != nullptr) {
    const auto bias = read_floats<kCount>(t.bias + channel, span);
#pragma unroll
    for (int k = 0; k < kCount; ++k) v.value[k] += bias.value[k];
  }
  if (t.addend != nullptr) {
    const auto addend = read_floats<kCount>(t.addend + element, span);
#pragma unroll
    for (int k = 0; k < kCount; ++k) v.value[k] += addend.value[k];
  }
  if (t.kept != nullptr) write_floats<kCount>(t.kept + element, span, v);
  with_activation(t.after, [&]<class A>(A) {
    if (t.beside == nullptr) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) v.value[k] = A::value(v.value[k]);
    } else {
      const auto beside = read_floats<kCount>(t.beside + element, span);
#pragma unroll
      for (int k = 0; k < kCount; ++k) v.value[k] = A::gradient(v.value[k], beside.value[k]);
    }
  });
  write_floats<kCount>(t.out + element, span, v);
}

/// The first element of the result's pixel.
__device__ __forceinline__ std::int64_t element_of(const Problem& q, const Lattice& lattice, int pixel) {
  std::int64_t written = pixel;
  if (!q.dense) {
    const int line = pixel / lattice.right.extent;
    const int n = line / lattice.down.extent;
    const int y = (line - n * lattice.down.extent) * q.write_step + lattice.down.first;
    const int x = (pixel - line * lattice.right.extent) * q.write_step + lattice.right.first;
    written = (static_cast<std::int64_t>(n) * q.rows + y) * q.columns + x;
  }
  return written * q.channels;
}

/// `vectors`: the result's channels come in fours.
template <class T>
__device__ __forceinline__ void write_products(const Sums<T>& sums, const Problem& q, const Lattice& lattice,
                                               const Tensors& tensors, const ThreadPlace<T>& place,
                                               int first_pixel, int first_filter, bool vectors) {
#pragma unroll
  for (int i = 0; i < T::down; ++i) {
    const int pixel = first_pixel + place.down + i * T::shape.threads_down;
    if (pixel >= lattice.pixels) continue;
    const std::int64_t element = element_of(q, lattice, pixel);
#pragma unroll
    for (int j = 0; j < T::across / T::vector; ++j) {
      const int channel = first_filter + place.column(j);
      if (channel >= q.channels) continue;
      Floats<T::vector> v;
#pragma unroll
      for (int k = 0; k < T::vector; ++k) v.value[k] = sums[i][j * T::vector + k];
      finish<T::vector>(tensors, element + channel, channel, {vectors, q.channels - channel}, v);
    }
  }
}

#endif

/// For summed channels in multiples of 4: a stage is of one tap. `kVectors`: so are the result's.
template <class T, bool kVectors>
__global__ void __launch_bounds__(T::threads, T::resident)
    pipelined_products(const __grid_constant__ Problem q, const __grid_constant__ Tensors tensors) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) float shared[];
  int row_tile = static_cast<int>(blockIdx.x) / q.column_tiles;
  const int first_filter = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  int k = 0;
  while (row_tile >= q.lattices[k].end_tile) ++k;
  const Lattice& lattice = q.lattices[k];
  row_tile -= k == 0 ? 0 : q.lattices[k - 1].end_tile;
  const int first_pixel = row_tile * T::rows;

  PixelCopies<T> pixels(q, lattice, tensors.in, first_pixel);
  const FilterCopies<T> filters(q, tensors.weights, first_filter);
  const int stages = lattice.down.count * lattice.right.count * ((q.summed + kDepth - 1) / kDepth);
  StageCursor cursor;
  const mma::SharedAddress base = mma::shared_address(shared);
  const auto copy = [&](int stage) {
    if (stage < stages) {
      const mma::SharedAddress to = base + static_cast<unsigned>(stage % T::stages * T::stage_floats) *
                                               static_cast<unsigned>(sizeof(float));
      pixels.copy(to, cursor.channel);
      filters.copy(to + T::row_floats * static_cast<unsigned>(sizeof(float)), cursor.tap(q, lattice),
                   cursor.channel);
      if (cursor.advance(q, lattice)) pixels.go_to(cursor.r, cursor.s);
    }
    mma::commit_copies();
  };
  pixels.go_to(0, 0);
#pragma unroll 1
  for (int stage = 0; stage < T::stages - 1; ++stage) copy(stage);

  const ThreadPlace<T> place;
  Sums<T> sums;
  clear<T>(sums);
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    mma::wait_copies<T::stages - 2>();
    __syncthreads();
    copy(stage + T::stages - 1);
    const float* now = shared + stage % T::stages * T::stage_floats;
    multiply_products<T>(sums, now, now + T::row_floats, place);
  }
  write_products<T>(sums, q, lattice, tensors, place, first_pixel, first_filter, kVectors);
#endif
}

/// For any channels: taps follow each other without gaps.
template <class T>
__global__ void __launch_bounds__(T::threads, T::resident)
    pipelined_terms(const __grid_constant__ Problem q, const __grid_constant__ Tensors tensors) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) float shared[];
  int row_tile = static_cast<int>(blockIdx.x) / q.column_tiles;
  const int first_filter = static_cast<int>(blockIdx.x) % q.column_tiles * T::columns;
  int k = 0;
  while (row_tile >= q.lattices[k].end_tile) ++k;
  const Lattice& lattice = q.lattices[k];
  row_tile -= k == 0 ? 0 : q.lattices[k - 1].end_tile;
  const int first_pixel = row_tile * T::rows;

  const PixelTerms<T> pixels(q, lattice, tensors.in, first_pixel, shared);
  const FilterTerms<T> filters(q, tensors.weights, first_filter, shared);
  const int stages = (lattice.down.count * lattice.right.count * q.summed + kDepth - 1) / kDepth;
  TermCursor cursor(q, lattice, static_cast<int>(threadIdx.x) % kDepth);
  const mma::SharedAddress base = mma::shared_address(shared);
  const auto copy = [&](int stage) {
    if (stage < stages) {
      const mma::SharedAddress to = base + static_cast<unsigned>(stage % T::stages * T::stage_floats) *
                                               static_cast<unsigned>(sizeof(float));
      pixels.copy(to, cursor);
      filters.copy(to + T::row_floats * static_cast<unsigned>(sizeof(float)), lattice, cursor);
      cursor.advance(q, lattice);
    }
    mma::commit_copies();
  };
#pragma unroll 1
  for (int stage = 0; stage < T::stages - 1; ++stage) copy(stage);

  const ThreadPlace<T> place;
  Sums<T> sums;
  clear<T>(sums);
#pragma unroll 1
  for (int stage = 0; stage < stages; ++stage) {
    mma::wait_copies<T::stages - 2>();
    __syncthreads();
    copy(stage + T::stages - 1);
    const float* now = shared + stage % T::stages * T::stage_floats;
    multiply_products<T>(sums, now, now + T::row_floats, place);
  }
  write_products<T>(sums, q, lattice, tensors, place, first_pixel, first_filter, q.channels % kVector == 0);
#endif
}

}  // namespace

void launch_products(const OpCall& call, const Problem& problem, int tile, const Tensors& tensors) {
  with_tile(tile, [&]<int kIndex>() {
    using T = Tile<kIndex>;
    const int row_tiles = problem.lattices[problem.lattice_count - 1].end_tile;
    const unsigned blocks = static_cast<unsigned>(row_tiles) * static_cast<unsigned>(problem.column_tiles);
    const auto launch = [&](auto kernel, unsigned shared_bytes) {
      run_kernel(call, {blocks, T::threads, shared_bytes}, kernel, problem, tensors);
    };
    if (problem.summed % kVector != 0) {
      launch(pipelined_terms<T>, T::shared_bytes + T::table_bytes);
    } else if (problem.channels % kVector != 0) {
      launch(pipelined_products<T, false>, T::shared_bytes);
    } else {
      launch(pipelined_products<T, true>, T::shared_bytes);
    }
  });
}

}  // namespace warpscope::ops::conv2d::pipelined
