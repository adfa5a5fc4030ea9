// Sequential minimal optimization on CUDA: a block a pair of classes, all pairs in one launch. The steps are those of
// smo_step.h.
//
// A thread has groups of four neighbouring places, so that rows of the matrix of distances are read 16 bytes a
// thread, and keeps their v in registers, and of each whether its alpha can rise or fall in two words of bits. A
// step takes two barriers: behind one all threads know i and the gap, behind the other j. Each of them is a maximum
// over integers: within a warp by redux, between warps by a slot a warp in shared memory, which every warp reads.
// All threads compute the step itself; one of them writes both alphas, a barrier later, when nobody reads
// the old ones any more.
//
// Problems that do not fit the registers keep v in memory and go through the same steps, place by place.

#include "gpu/classifiers/rbf_svm/rbf_kernels.h"
#include "gpu/core/cuda.h"

namespace warpscope::classifiers::rbf {
namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = 0xffffffffu;
constexpr int kGroup = 4;  // neighbouring places of a thread

/// What a warp has found: the place with the largest key, and what goes with it.
struct Slot {
  std::uint32_t key;
  std::uint32_t fall_key;  ///< of the largest v that can fall
  int place;
  float kernel;  ///< K_ij
  float v;
};

struct Found {
  std::uint32_t key = kNoKey;
  int place = -1;
};

/// The matrix's row or column of a place.
__device__ __forceinline__ int index_of(const PairProblem& p, int place) {
  return place < p.padded[0] ? p.first[0] + place : p.first[1] + place - p.padded[0];
}

__device__ __forceinline__ float4 load_four(const float* from) {
  float4 four;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "l"(from));
  return four;
}

__device__ __forceinline__ std::uint32_t warp_max(std::uint32_t key) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kAll, key);
#else
  return key;
#endif
}

/// The lane of the warp that holds the largest key, and that key.
__device__ __forceinline__ int leader_of(std::uint32_t key, std::uint32_t& largest) {
  largest = warp_max(key);
  return __ffs(static_cast<int>(__ballot_sync(kAll, key == largest))) - 1;
}

/// Which slot of the block's warps has the largest key. Every warp asks.
__device__ __forceinline__ int best_slot(const Slot* slots, std::uint32_t& largest) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return leader_of(lane < kWarps ? slots[lane].key : kNoKey, largest);
}

/// The v of all places of a thread, in registers, and what their alphas can do.
template <int kGroups>
struct Kept {
  static constexpr int kPlaces = kGroups * kGroup;
  float v[kPlaces];
  float row[kPlaces];  // K of i with each place
  unsigned rises = 0;  // a bit a place
  unsigned falls = 0;

  static __device__ __forceinline__ int place(int r) {
    return (r / kGroup * kThreads + static_cast<int>(threadIdx.x)) * kGroup + r % kGroup;
  }
  /// The bit of `place` if it is this thread's, else 0.
  static __device__ __forceinline__ unsigned bit_of(int place) {
    const int group = place / kGroup;
    if (group % kThreads != static_cast<int>(threadIdx.x)) return 0u;
    return 1u << (group / kThreads * kGroup + place % kGroup);
  }
  __device__ __forceinline__ void set(int where, bool can_rise_now, bool can_fall_now) {
    const unsigned bit = bit_of(where);
    rises = can_rise_now ? rises | bit : rises & ~bit;
    falls = can_fall_now ? falls | bit : falls & ~bit;
  }
};

template <int kGroups>
__device__ __forceinline__ void load_state(const PairProblem& p, Kept<kGroups>& kept) {
  const int places = p.padded[0] + p.padded[1];
#pragma unroll
  for (int r = 0; r < Kept<kGroups>::kPlaces; ++r) {
    const int t = kept.place(r);
    kept.v[r] = 0.0f;
    if (t >= places || p.member[t] == 0) continue;
    kept.v[r] = p.gradient[t];
    const bool positive = t < p.padded[0];
    const double alpha = p.alpha[t];
    const double bound = positive ? p.bounds[0] : p.bounds[1];
    if (can_rise(positive, alpha, bound)) kept.rises |= 1u << r;
    if (can_fall(positive, alpha, bound)) kept.falls |= 1u << r;
  }
}

/// The largest -v that can rise, with its place, and the largest v that can fall, into the warp's slot.
template <int kGroups>
__device__ __forceinline__ void offer_extremes(const Kept<kGroups>& kept, Slot* slots) {
  float most = -INFINITY;
  float most_falling = -INFINITY;
  int at = 0;
#pragma unroll
  for (int r = 0; r < Kept<kGroups>::kPlaces; ++r) {
    if ((kept.rises >> r & 1u) != 0 && -kept.v[r] > most) {
      most = -kept.v[r];
      at = r;
    }
    if ((kept.falls >> r & 1u) != 0) most_falling = fmaxf(most_falling, kept.v[r]);
  }
  std::uint32_t largest;
  const int leader = leader_of(order_key(most), largest);
  const std::uint32_t falling = warp_max(order_key(most_falling));
  if (static_cast<int>(threadIdx.x) % 32 == leader) {
    Slot& slot = slots[threadIdx.x / 32];
    slot.key = largest;
    slot.fall_key = falling;
    slot.place = kept.place(at);
  }
}

/// Fetches the row of i and offers the best partner for it.
template <int kGroups, bool kShifted>
__device__ __forceinline__ void offer_partner(const PairProblem& p, KernelFactors factors, int i, float v_i,
                                              Kept<kGroups>& kept, Slot* slots) {
  const int places = p.padded[0] + p.padded[1];
  const float* const distances = p.distances + index_of(p, i) * p.pitch;
  float4 fours[kGroups];
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const int t = kept.place(g * kGroup);
    fours[g] = t < places ? load_four(distances + index_of(p, t)) : float4{};
  }
  float most = 0.0f;
  float kernel = 0.0f;
  float v = 0.0f;
  int at = 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const float distance[kGroup] = {fours[g].x, fours[g].y, fours[g].z, fours[g].w};
#pragma unroll
    for (int k = 0; k < kGroup; ++k) {
      const int r = g * kGroup + k;
      kept.row[r] = kernel_value<kShifted>(distance[k], factors);
      const float worth = gain<kShifted>(kept.v[r] - v_i, kept.row[r]);
      if ((kept.falls >> r & 1u) != 0 && worth > most) {
        most = worth;
        kernel = kept.row[r];
        v = kept.v[r];
        at = r;
      }
    }
  }
  std::uint32_t largest;
  const int leader = leader_of(order_key(most), largest);
  if (static_cast<int>(threadIdx.x) % 32 == leader) {
    slots[threadIdx.x / 32] = {largest, kNoKey, kept.place(at), kernel, v};
  }
}

/// v += step (K_i - K_j), with the row of j fetched now.
template <int kGroups, bool kShifted>
__device__ __forceinline__ void update(KernelFactors factors, const float4 (&fours)[kGroups], float step,
                                       Kept<kGroups>& kept) {
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const float distance[kGroup] = {fours[g].x, fours[g].y, fours[g].z, fours[g].w};
#pragma unroll
    for (int k = 0; k < kGroup; ++k) {
      const int r = g * kGroup + k;
      kept.v[r] += step * (kept.row[r] - kernel_value<kShifted>(distance[k], factors));
    }
  }
}

__device__ __forceinline__ Variable variable_of(const PairProblem& p, int place) {
  const bool positive = place < p.padded[0];
  return {p.alpha[place], positive ? p.bounds[0] : p.bounds[1], positive};
}

/// The alphas of a step, until they may be written.
struct Pending {
  int i = -1;
  int j = -1;
  double alpha_i = 0;
  double alpha_j = 0;
};

__device__ __forceinline__ void write(const PairProblem& p, Pending& pending) {
  if (threadIdx.x == 0 && pending.i >= 0) {
    p.alpha[pending.i] = pending.alpha_i;
    p.alpha[pending.j] = pending.alpha_j;
  }
  pending.i = -1;
}

/// What the threads of a block agree upon behind the first barrier of a step.
struct Extremes {
  int i;
  float v_i;
  float gap;  ///< -infinity if nothing can rise or nothing can fall
};

__device__ __forceinline__ Extremes extremes_of(const Slot* slots) {
  std::uint32_t key;
  const int slot = best_slot(slots, key);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t falling = warp_max(lane < kWarps ? slots[lane].fall_key : kNoKey);
  const float most = from_order_key(key);
  return {slots[slot].place, -most, most + from_order_key(falling)};
}

__device__ void leave(const SolveCall& call, PairState& state, float gap, std::int64_t done, bool settled) {
  if (threadIdx.x != 0) return;
  state.gap = static_cast<double>(gap);
  state.iterations += done;
  if (settled)
    state.phase = static_cast<int>(PairPhase::settled);
  else if (state.iterations >= call.max_iterations)
    state.phase = static_cast<int>(PairPhase::exhausted);
}

template <int kGroups, bool kShifted>
__global__ void __launch_bounds__(kThreads, 1)
    solve_in_registers(const __grid_constant__ SolveCall call, int iterations) {
  PairState& state = call.states[blockIdx.x];
  if (state.phase != static_cast<int>(PairPhase::running)) return;
  const PairProblem p = call.problems[blockIdx.x];
  const int most =
      static_cast<int>(min(static_cast<std::int64_t>(iterations), call.max_iterations - state.iterations));
  const int places = p.padded[0] + p.padded[1];
  __shared__ Slot risers[kWarps];
  __shared__ Slot partners[kWarps];
  Kept<kGroups> kept;
  load_state(p, kept);
  Pending pending;
  offer_extremes(kept, risers);
  int done = 0;
  bool settled = false;
  float gap = 0.0f;
  for (;;) {
    __syncthreads();
    const Extremes found = extremes_of(risers);
    gap = found.gap;
    settled = !(gap >= call.tolerance);
    if (settled || done >= most) break;
    write(p, pending);
    offer_partner<kGroups, kShifted>(p, call.factors, found.i, found.v_i, kept, partners);
    __syncthreads();
    std::uint32_t key;
    const Slot partner = partners[best_slot(partners, key)];
    float4 fours[kGroups];
    const float* const distances = p.distances + index_of(p, partner.place) * p.pitch;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int t = kept.place(g * kGroup);
      fours[g] = t < places ? load_four(distances + index_of(p, t)) : float4{};
    }
    Variable i = variable_of(p, found.i);
    Variable j = variable_of(p, partner.place);
    const float wish = (partner.v - found.v_i) / curvature<kShifted>(partner.kernel);
    const double step = take_step(i, j, static_cast<double>(wish));
    pending = {found.i, partner.place, i.alpha, j.alpha};
    kept.set(found.i, can_rise(i.positive, i.alpha, i.bound), can_fall(i.positive, i.alpha, i.bound));
    kept.set(partner.place, can_rise(j.positive, j.alpha, j.bound), can_fall(j.positive, j.alpha, j.bound));
    update<kGroups, kShifted>(call.factors, fours, static_cast<float>(step), kept);
    offer_extremes(kept, risers);
    ++done;
  }
  write(p, pending);
#pragma unroll
  for (int r = 0; r < Kept<kGroups>::kPlaces; ++r) {
    const int t = kept.place(r);
    if (t < places) p.gradient[t] = kept.v[r];
  }
  leave(call, state, gap, done, settled);
}

/// What a thread has found in memory, into the warp's slot.
__device__ __forceinline__ void offer(Slot* slots, float value, float falling, int place, float kernel,
                                      float v) {
  std::uint32_t largest;
  const int leader = leader_of(order_key(value), largest);
  const std::uint32_t fall_key = warp_max(order_key(falling));
  if (static_cast<int>(threadIdx.x) % 32 == leader) {
    slots[threadIdx.x / 32] = {largest, fall_key, place, kernel, v};
  }
}

/// The same steps with v and the row of i in memory.
template <bool kShifted>
__global__ void __launch_bounds__(kThreads, 1)
    solve_in_memory(const __grid_constant__ SolveCall call, int iterations) {
  PairState& state = call.states[blockIdx.x];
  if (state.phase != static_cast<int>(PairPhase::running)) return;
  const PairProblem p = call.problems[blockIdx.x];
  const int most =
      static_cast<int>(min(static_cast<std::int64_t>(iterations), call.max_iterations - state.iterations));
  const int places = p.padded[0] + p.padded[1];
  __shared__ Slot risers[kWarps];
  __shared__ Slot partners[kWarps];
  Pending pending;
  int done = 0;
  bool settled = false;
  float gap = 0.0f;
  int last_i = 0, last_j = 0;
  float step = 0.0f;
  for (;;) {
    // The step before, and what can rise and fall after it.
    const float* const row_j = p.distances + index_of(p, last_j) * p.pitch;
    float rising = -INFINITY, falling = -INFINITY;
    int at = 0;
    for (int t = static_cast<int>(threadIdx.x); t < places; t += kThreads) {
      if (p.member[t] == 0) continue;
      float v = p.gradient[t];
      if (step != 0.0f) {
        v += step * (p.row[t] - kernel_value<kShifted>(row_j[index_of(p, t)], call.factors));
        p.gradient[t] = v;
      }
      const bool positive = t < p.padded[0];
      const double alpha = t == pending.i ? pending.alpha_i : t == pending.j ? pending.alpha_j : p.alpha[t];
      const double bound = positive ? p.bounds[0] : p.bounds[1];
      if (can_rise(positive, alpha, bound) && -v > rising) {
        rising = -v;
        at = t;
      }
      if (can_fall(positive, alpha, bound)) falling = fmaxf(falling, v);
    }
    offer(risers, rising, falling, at, 0.0f, 0.0f);
    __syncthreads();
    const Extremes found = extremes_of(risers);
    gap = found.gap;
    settled = !(gap >= call.tolerance);
    if (settled || done >= most) break;
    write(p, pending);
    last_i = found.i;
    __syncthreads();  // the new alphas are there
    const float* const row_i = p.distances + index_of(p, last_i) * p.pitch;
    float worth = 0.0f, kernel = 0.0f, v_j = 0.0f;
    int partner_at = 0;
    for (int t = static_cast<int>(threadIdx.x); t < places; t += kThreads) {
      const float k = kernel_value<kShifted>(row_i[index_of(p, t)], call.factors);
      p.row[t] = k;
      if (p.member[t] == 0) continue;
      const bool positive = t < p.padded[0];
      const float value = gain<kShifted>(p.gradient[t] - found.v_i, k);
      if (value > worth && can_fall(positive, p.alpha[t], positive ? p.bounds[0] : p.bounds[1])) {
        worth = value;
        kernel = k;
        v_j = p.gradient[t];
        partner_at = t;
      }
    }
    offer(partners, worth, 0.0f, partner_at, kernel, v_j);
    __syncthreads();
    std::uint32_t key;
    const Slot partner = partners[best_slot(partners, key)];
    last_j = partner.place;
    Variable i = variable_of(p, last_i);
    Variable j = variable_of(p, last_j);
    const float wish = (partner.v - found.v_i) / curvature<kShifted>(partner.kernel);
    step = static_cast<float>(take_step(i, j, static_cast<double>(wish)));
    pending = {last_i, last_j, i.alpha, j.alpha};
    ++done;
  }
  write(p, pending);
  leave(call, state, gap, done, settled);
}

template <int kGroups>
void launch_registers(cudaStream_t stream, const SolveCall& call, int iterations) {
  const auto count = static_cast<unsigned>(call.count);
  if (call.shifted)
    solve_in_registers<kGroups, true><<<count, kThreads, 0, stream>>>(call, iterations);
  else
    solve_in_registers<kGroups, false><<<count, kThreads, 0, stream>>>(call, iterations);
}

}  // namespace

void solve_pairs(core::Stream& stream, const SolveCall& call, int iterations) {
  if (call.count == 0) return;
  const cudaStream_t native = core::cuda_stream(stream);
  constexpr int kPlacesOfGroup = kThreads * kGroup;
  static_assert(6 * kPlacesOfGroup == kRegisterPlaces);
  const auto count = static_cast<unsigned>(call.count);
  if (call.largest <= kPlacesOfGroup)
    launch_registers<1>(native, call, iterations);
  else if (call.largest <= 3 * kPlacesOfGroup)
    launch_registers<3>(native, call, iterations);
  else if (call.largest <= 5 * kPlacesOfGroup)
    launch_registers<5>(native, call, iterations);
  else if (call.largest <= kRegisterPlaces)
    launch_registers<6>(native, call, iterations);
  else if (call.shifted)
    solve_in_memory<true><<<count, kThreads, 0, native>>>(call, iterations);
  else
    solve_in_memory<false><<<count, kThreads, 0, native>>>(call, iterations);
  core::check_launch("rbf_svm: solving pairs");
}

}  // namespace warpscope::classifiers::rbf
