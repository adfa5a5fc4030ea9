// gradients.allreduce, variant `p2p_one_shot`: over `p2p_two_shot` it adds that nobody waits for an answer. Each thread
// writes its values into the memory of all other ranks, and adds those that come into its own, in the same order and so
// with the same bits. A value says by itself that it has come: places hold a NaN that no product is, and do so again
// once it was taken. So there are no flags, no fences between values and no second meeting. Two sets of places take
// turns: who writes into a set for the second time has got all values of the call in between, which the other rank
// began to send after it had emptied that set. Sums for two ranks cross a link once, as those of `p2p_two_shot` do.
// Limits: 2 to 8 ranks of one host, whose GPUs reach each other's memory; of more than two ranks only few values, since
// each rank gets those of all others. Source: allreduce.cpp; "one-shot" and "Lamport": NVIDIA's TensorRT-LLM custom
// all-reduce; PTX ISA, memory consistency model (relaxed and fences at system scope) and mul (its NaN is 0x7fffffff).

#include <algorithm>
#include <cstdint>

#include "gpu/ops/allreduce/tree_sum.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/ranks/p2p.h"
#include "gpu/ranks/sums.h"

namespace warpscope::ops::allreduce {
namespace {

using ranks::kMostPeers;
using ranks::kParcelBlocks;
using ranks::P2pWindows;

constexpr int kThreads = 256;
constexpr std::int64_t kAllThreads = std::int64_t{kParcelBlocks} * kThreads;
/// Numbers that may come from all other ranks together, of more than two: beyond it `p2p_two_shot` moves fewer in less
/// time than its second meeting takes (some 4 us at 400 GB/s).
constexpr std::int64_t kFewNumbers = 512 << 10;
constexpr std::int64_t kMostRunning = 1 << 18;
/// Looks at a place before the host's memory is looked at, which is far.
constexpr unsigned kLooks = 4096;

/// All that a call adds, four by four: gradients, then metrics and running statistics.
struct Values {
  float* gradients;
  float* metrics;
  float* running;
  std::int64_t count;  ///< gradients
  std::int64_t rest;   ///< metrics and running statistics

  __host__ __device__ std::int64_t gradient_fours() const { return (count + 3) / 4; }
  __host__ __device__ std::int64_t fours() const { return gradient_fours() + (rest + 3) / 4; }

  __device__ float* at(std::int64_t four, int i) const {
    const std::int64_t gradient = 4 * four + i;
    if (four < gradient_fours()) return gradient < count ? gradients + gradient : nullptr;
    const std::int64_t other = gradient - 4 * gradient_fours();
    if (other >= rest) return nullptr;
    return other < step::kMetrics ? metrics + other : running + (other - step::kMetrics);
  }
  __device__ bool whole(std::int64_t four) const { return 4 * four + 4 <= count; }
};

/// Products, not sums of products: the bits of a rank's part are those that others get.
__device__ float4 weighed(const Values& values, std::int64_t four, float weight) {
  float4 x{};
  if (values.whole(four)) {
    x = reinterpret_cast<const float4*>(values.gradients)[four];
  } else {
    float* const each[] = {&x.x, &x.y, &x.z, &x.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* const from = values.at(four, i);
      if (from != nullptr) *each[i] = *from;
    }
  }
  return {__fmul_rn(weight, x.x), __fmul_rn(weight, x.y), __fmul_rn(weight, x.z), __fmul_rn(weight, x.w)};
}

__device__ void store(const Values& values, std::int64_t four, const float4& sum) {
  if (values.whole(four)) {
    reinterpret_cast<float4*>(values.gradients)[four] = sum;
    return;
  }
  const float each[] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float* const to = values.at(four, i);
    if (to != nullptr) *to = each[i];
  }
}

__device__ void fence_for_all() {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}
__device__ void send(float* place, const float4& x) {
  asm volatile("st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(place), "f"(x.x), "f"(x.y),
               "f"(x.z), "f"(x.w)
               : "memory");
}
__device__ float4 look(const float* place) {
  float4 x;
  asm volatile("ld.relaxed.sys.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "l"(place)
               : "memory");
  return x;
}
__device__ bool empty(float x) {
  return __float_as_uint(x) == ranks::kEmptyPlace;
}
__device__ void clear(float* place) {
  const float none = __uint_as_float(ranks::kEmptyPlace);
  send(place, {none, none, none, none});
}

/// What a look at `place` saw becomes all four values; somebody may have to send them yet.
__device__ void wait_for(float4& seen, const float* place, const std::uint32_t* give_up) {
  const volatile std::uint32_t* ends = give_up;
  for (unsigned looks = 1; empty(seen.x) || empty(seen.y) || empty(seen.z) || empty(seen.w); ++looks) {
    if (looks % kLooks == 0 && *ends != 0) break;
    seen = look(place);
  }
}

/// Where rank `to` gets from rank `from` in the calls that use set `set`.
__device__ float* places(const P2pWindows& windows, int to, int from, std::uint32_t set) {
  const int others = windows.size - 1;
  const std::int64_t slot = static_cast<int>(set) * others + (from < to ? from : from - 1);
  return windows.parcels[to] + slot * ranks::parcel_floats(windows.size);
}

/// So many fours of a thread are read before the first is sent.
constexpr int kSentTogether = 4;

template <int kMost>
__device__ void send_to_all(const P2pWindows& windows, const Values& values, float weight,
                            std::int64_t thread, std::uint32_t set) {
  const std::int64_t fours = values.fours();
  for (std::int64_t first = thread; first < fours; first += kSentTogether * kAllThreads) {
    float4 mine[kSentTogether];
#pragma unroll
    for (int i = 0; i < kSentTogether; ++i) {
      const std::int64_t four = first + i * kAllThreads;
      if (four < fours) mine[i] = weighed(values, four, weight);
    }
    // What was emptied in the call before lies before what is sent now.
    if (first == thread) fence_for_all();
#pragma unroll
    for (int i = 0; i < kSentTogether; ++i) {
      const std::int64_t four = first + i * kAllThreads;
      if (four >= fours) break;
#pragma unroll
      for (int rank = 0; rank < kMost; ++rank) {
        if (rank >= windows.size || rank == windows.rank) continue;
        send(places(windows, rank, windows.rank, set) + 4 * four, mine[i]);
      }
    }
  }
}

/// So many fours at a time are on their way from memory.
template <int kMost>
constexpr int kTogether = kMost == 2 ? 4 : 1;

template <int kMost>
__device__ void add_from_all(const P2pWindows& windows, const Values& values, float weight,
                             std::int64_t thread, std::uint32_t set) {
  const std::int64_t fours = values.fours();
  const auto place = [&](int rank, std::int64_t four) {
    return places(windows, windows.rank, rank, set) + 4 * four;
  };
  for (std::int64_t first = thread; first < fours; first += kTogether<kMost> * kAllThreads) {
    float4 each[kTogether<kMost>][kMost];
#pragma unroll
    for (int i = 0; i < kTogether<kMost>; ++i) {
      const std::int64_t four = first + i * kAllThreads;
      if (four >= fours) break;
#pragma unroll
      for (int rank = 0; rank < kMost; ++rank) {
        if (rank >= windows.size) continue;
        each[i][rank] = rank == windows.rank ? weighed(values, four, weight) : look(place(rank, four));
      }
    }
#pragma unroll
    for (int i = 0; i < kTogether<kMost>; ++i) {
      const std::int64_t four = first + i * kAllThreads;
      if (four >= fours) break;
#pragma unroll
      for (int rank = 0; rank < kMost; ++rank) {
        if (rank >= windows.size || rank == windows.rank) continue;
        wait_for(each[i][rank], place(rank, four), windows.give_up);
        clear(place(rank, four));
      }
      store(values, four, tree_sum(each[i], windows.size));
    }
  }
}

template <int kMost>
__global__ void __launch_bounds__(kThreads)
    allreduce_p2p_one_shot(P2pWindows windows, float weight, std::int64_t count, std::int64_t rest,
                           float* gradients, float* metrics, float* running) {
  const std::uint32_t call = windows.parcel_calls[blockIdx.x];
  const std::int64_t thread = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const Values values{gradients, metrics, running, count, rest};
  send_to_all<kMost>(windows, values, weight, thread, call % 2);
  add_from_all<kMost>(windows, values, weight, thread, call % 2);
  fence_for_all();  // what was taken now lies before what is sent next
  __syncthreads();
  if (threadIdx.x == 0) windows.parcel_calls[blockIdx.x] = call + 1;
}

void gradients(const OpCall& call) {
  const ranks::Share& share = call.context->share;
  if (!share.sums) return;
  const P2pWindows& windows = share.sums->p2p()->windows();
  const auto kernel = windows.size == 2 ? allreduce_p2p_one_shot<2> : allreduce_p2p_one_shot<kMostPeers>;
  // What does not fit a place beside metrics and statistics comes in further calls.
  const std::int64_t rest = step::kMetrics + call.shape.in_channels;
  const std::int64_t room = (ranks::parcel_floats(windows.size) - rest) / 4 * 4 - 4;
  auto* gradients = call.operand<float>(Name::gradients);
  std::int64_t done = 0;
  do {
    const std::int64_t count = std::min(room, call.shape.count - done);
    const bool last = done + count == call.shape.count;
    run_kernel(call, {kParcelBlocks, kThreads}, kernel, windows, share.weight, count,
               last ? rest : std::int64_t{0}, gradients + done, Name::metrics, Name::running);
    done += count;
  } while (done < call.shape.count);
}

std::string refuses(const OpShape& shape) {
  if (!shape.peers) return "these ranks do not reach each other's memory";
  if (shape.in_channels > kMostRunning) return "more running statistics than fit beside gradients";
  const std::int64_t others = shape.batch - 1;
  const bool many = others > 1 && others * (shape.count + step::kMetrics + shape.in_channels) > kFewNumbers;
  return many ? "for two ranks, or few parameters: p2p_two_shot moves less of others" : "";
}

}  // namespace

Variant p2p_one_shot_gradients() {
  Variant variant = cuda_variant(Op::gradients_allreduce, "p2p_one_shot", gradients,
                                 "Our kernel: each rank sends its values to all and adds what comes, in the "
                                 "order of `p2p_two_shot`, without meetings.");
  variant.refuses = refuses;
  return variant;
}

}  // namespace warpscope::ops::allreduce
