// cross_entropy, variants `warp_shuffle` and `warp_shuffle_fused`: 8, 16 or 32 lanes of a warp take an image
// together. Over `naive` it adds that neighbouring lanes read neighbouring logits, once, into registers; that
// lanes exchange the largest logit and the sum by shuffles; and that forward is one launch: each block leaves
// the sum of its images, and the block that arrives last adds those of all, in an order that the shape alone
// fixes, so the result is the same bits every time. The count of arrived blocks lives beside the call and is
// back at 0 after each. `warp_shuffle_fused` of forward writes the gradient as well, from the same registers:
// one launch instead of two. The largest exponential, which is 1, and the one of the label stay out of the
// sums, so that an image that is all but certain keeps its digits. Limits: at most 256 classes. Bound by
// memory in large batches, by its latency in small ones. At most 38 registers (41 on compute capability 7.5),
// 260 bytes of shared memory, no spills; workspace: 8 bytes a block. Source: cross_entropy.h; J. Luitjens,
// "Faster parallel reductions on Kepler" (2014); the last block: "CUDA C++ Programming Guide", memory fence
// functions.

#include <memory>

#include "gpu/core/cuda.h"
#include "gpu/ops/arrivals.h"
#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/ops/cross_entropy/logits.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::cross_entropy {
namespace {

/// The gradient of an image's logits; `dz` is its place. `scale`: the loss scale over the images of the
/// batch. Every lane of the warp must call it; `classes` is 0 for a group that has no image.
template <class G, class T>
__device__ void write_gradient(const Logits<G>& image, int classes, int label, float scale, T* dz) {
  const float others = image.sum_of_others(label);
  const float own = image.exponential(label);
  const float factor = scale / (others + own);
  for (int k = 0; k < G::kValues; ++k) {
    const int c = Logits<G>::place(k);
    if (c >= classes) continue;
    dz[c] = from_float<T>(factor * (c == label ? -others : expf(image.at[k] - image.peak)));
  }
}

/// With `gradient`, backward as well.
template <class G, class T>
__global__ void cross_entropy_forward_warp_shuffle(
    std::int64_t images, int classes, const T* __restrict__ logits, const std::uint8_t* __restrict__ labels,
    float* __restrict__ image_losses, std::uint8_t* __restrict__ predicted, volatile float* of_block,
    unsigned* arrived, float* __restrict__ loss, float* __restrict__ accuracy,
    const step::StepControl* __restrict__ control, T* __restrict__ gradient) {
  float mine[kTotals] = {0.0f, 0.0f};
  // A block's threads make the same turns: shuffles need all lanes of a warp.
  for (std::int64_t first = std::int64_t{blockIdx.x} * G::kImages; first < images;
       first += std::int64_t{gridDim.x} * G::kImages) {
    const std::int64_t n = first + threadIdx.x / G::kLanes;
    const bool exists = n < images;
    const T* z = logits + n * classes;
    const Logits<G> image(z, exists ? classes : 0);
    const float others = image.sum_of_others(image.best);
    const bool nan = image.any_nan();
    const int label = exists ? labels[n] : 0;
    if (gradient != nullptr) {
      const float scale = control->loss_scale / static_cast<float>(images);
      write_gradient(image, exists ? classes : 0, label, scale, gradient + n * classes);
    }
    if (!exists || threadIdx.x % G::kLanes != 0) continue;
    const int best = nan ? 0 : image.best;
    const float image_loss = nan ? NAN : log1pf(others) + (image.peak - to_float(z[label]));
    image_losses[n] = image_loss;
    predicted[n] = static_cast<std::uint8_t>(best);
    mine[0] += image_loss;
    mine[1] += best == label ? 1.0f : 0.0f;
  }
  block_sums(mine);
  if (!arrive_last(mine, of_block, arrived)) return;
  float all[kTotals] = {0.0f, 0.0f};
  for (unsigned block = threadIdx.x; block < gridDim.x; block += kElementThreads) {
    for (int k = 0; k < kTotals; ++k) all[k] += of_block[block * kTotals + k];
  }
  block_sums(all);
  if (threadIdx.x == 0) {
    *loss = all[0] / static_cast<float>(images);
    *accuracy = all[1] / static_cast<float>(images);
  }
}

// The gradient may lie in the logits' memory, hence no __restrict__ on them.
template <class G, class T>
__global__ void cross_entropy_backward_warp_shuffle(std::int64_t images, int classes, const T* logits,
                                                    const std::uint8_t* __restrict__ labels,
                                                    const step::StepControl* __restrict__ control,
                                                    T* gradient) {
  const std::int64_t n = std::int64_t{blockIdx.x} * G::kImages + threadIdx.x / G::kLanes;
  const bool exists = n < images;
  const int label = exists ? labels[n] : 0;
  const Logits<G> image(logits + n * classes, exists ? classes : 0);
  write_gradient(image, exists ? classes : 0, label, control->loss_scale / static_cast<float>(images),
                 gradient + n * classes);
}

std::unique_ptr<Prepared> prepare(const OpShape&, core::Precision, core::Device& device) {
  return std::make_unique<Arrivals>(device, 1);
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const bool fused = call.covers(Op::cross_entropy_backward);
  const auto* control = fused ? call.operand<const step::StepControl>(Name::control) : nullptr;
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    T* gradient = fused ? call.operand<T>(Name::gradient) : nullptr;
    with_group(s.in_channels, [&](auto group) {
      using G = decltype(group);
      cross_entropy_forward_warp_shuffle<G, T>
          <<<forward_blocks(s), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              s.batch, s.in_channels, call.operand<const T>(Name::logits),
              call.operand<const std::uint8_t>(Name::labels), call.operand<float>(Name::sample_losses),
              call.operand<std::uint8_t>(Name::predicted), static_cast<float*>(call.workspace),
              static_cast<Arrivals&>(*call.prepared).counts(), call.operand<float>(Name::loss),
              call.operand<float>(Name::accuracy), control, gradient);
    });
  });
  core::check_launch("cross_entropy.forward warp_shuffle");
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    with_group(s.in_channels, [&](auto group) {
      using G = decltype(group);
      const auto blocks = static_cast<unsigned>((s.batch + G::kImages - 1) / G::kImages);
      cross_entropy_backward_warp_shuffle<G, T>
          <<<blocks, kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              s.batch, s.in_channels, call.operand<const T>(Name::logits),
              call.operand<const std::uint8_t>(Name::labels),
              call.operand<const step::StepControl>(Name::control), call.operand<T>(Name::gradient));
    });
  });
  core::check_launch("cross_entropy.backward warp_shuffle");
}

Variant forward_variant(const char* name, std::vector<Link> chain, std::vector<PresetTag> presets,
                        const char* summary) {
  return {.op = Op::cross_entropy_forward,
          .name = name,
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .chain = std::move(chain),
          .presets = std::move(presets),
          .summary = summary,
          .launch = forward,
          .workspace_bytes = forward_workspace,
          .prepare = prepare};
}

}  // namespace

Variant warp_shuffle_forward() {
  return forward_variant(
      "warp_shuffle", {}, {{"atomic_free"}, {"tiled"}, {"implicit_gemm"}},
      "Up to a warp per image exchanges by shuffles; the last block adds the batch: one launch.");
}
Variant warp_shuffle_fused_forward() {
  return forward_variant(
      "warp_shuffle_fused",
      {{.op = Op::cross_entropy_forward}, {.op = Op::cross_entropy_backward, .optional = true}}, {},
      "The gradient comes of the same registers: one launch for the loss and its gradient.");
}
Variant warp_shuffle_backward() {
  return {.op = Op::cross_entropy_backward,
          .name = "warp_shuffle",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .summary = "Up to a warp per image; the logits are read once, sums go by shuffles.",
          .launch = backward};
}

}  // namespace warpscope::ops::cross_entropy
