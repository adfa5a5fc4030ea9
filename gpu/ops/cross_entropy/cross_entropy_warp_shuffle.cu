// cross_entropy and mixed_cross_entropy, variants `warp_shuffle` and `warp_shuffle_fused`: 8, 16 or 32 lanes of a warp
// take an image together. Over `naive` it adds that neighbouring lanes read neighbouring logits, once, into registers;
// that lanes exchange the largest logit and the sum by shuffles; and that forward is one launch: each block leaves the
// sum of its images, and the block that arrives last adds those of all, in an order that only the shape fixes, so the
// result is the same bits every time. The count of arrived blocks lives beside the call and is back at 0 after each.
// `warp_shuffle_fused` of forward writes the gradient as well, from the same registers: one launch instead of two. The
// largest exponential, which is 1, and those of the labels stay out of the sums, so that an image that is all but
// certain keeps its digits. Limits: at most 256 classes. Bound by memory in large batches, by its latency in small
// ones. At most 38 registers (41 on compute capability 7.5), mixed 60 (62), 260 bytes of shared memory, no spills;
// workspace:
// 8 bytes a block. Source: cross_entropy.cpp; logits.cuh.

#include <memory>

#include "gpu/ops/arrivals.h"
#include "gpu/ops/cross_entropy/labels.h"
#include "gpu/ops/cross_entropy/logits.cuh"
#include "gpu/ops/kernel_launch.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::cross_entropy {
namespace {

/// The gradient of an image's logits; `dz` is its place. `scale`: the loss scale over the images of the
/// batch. Every lane of the warp must call it; `classes` is 0 for a group that has no image.
template <class G, class Targets, class T>
__device__ void write_gradient(const Logits<G>& image, int classes, const Targets& targets,
                               const Labels<Targets::kLabels>& labels, float scale, T* dz) {
  const float others = image.sum_of_others(labels);
  float own[Targets::kLabels];
  for (int k = 0; k < Targets::kLabels; ++k) own[k] = image.exponential(labels.of[k]);
  const auto slopes = targets.slopes(labels, others, own, scale);
  for (int k = 0; k < G::kValues; ++k) {
    const int c = Logits<G>::place(k);
    if (c >= classes) continue;
    const float value = labels.has(c) ? slopes.at_label(labels, c) : expf(image.at[k] - image.peak);
    dz[c] = from_float<T>(slopes.factor * value);
  }
}

/// With `gradient`, backward as well.
template <class G, class Targets, class T>
__global__ void cross_entropy_forward_warp_shuffle(
    std::int64_t images, int classes, const T* __restrict__ logits,
    const std::uint8_t* __restrict__ all_labels, const step::StepControl* __restrict__ control,
    float* __restrict__ image_losses, std::uint8_t* __restrict__ predicted, volatile float* of_block,
    unsigned* arrived, float* __restrict__ loss, float* __restrict__ accuracy, T* __restrict__ gradient) {
  const Targets targets(control);
  float mine[kTotals] = {0.0f, 0.0f};
  // A block's threads make the same turns: shuffles need all lanes of a warp.
  for (std::int64_t first = std::int64_t{blockIdx.x} * G::kImages; first < images;
       first += std::int64_t{gridDim.x} * G::kImages) {
    const std::int64_t n = first + threadIdx.x / G::kLanes;
    const bool exists = n < images;
    const T* z = logits + n * classes;
    const Logits<G> image(z, exists ? classes : 0);
    const float others = image.sum_of_others(Labels<1>{{image.best}});
    const bool nan = image.any_nan();
    const auto labels = exists ? targets.labels(all_labels, n, images) : Labels<Targets::kLabels>{};
    if (gradient != nullptr) {
      const float scale = control->loss_scale / static_cast<float>(images);
      write_gradient(image, exists ? classes : 0, targets, labels, scale, gradient + n * classes);
    }
    if (!exists || threadIdx.x % G::kLanes != 0) continue;
    const int best = nan ? 0 : image.best;
    float image_loss = NAN;
    if (!nan) {
      float misses[Targets::kLabels];
      for (int k = 0; k < Targets::kLabels; ++k) misses[k] = image.peak - to_float(z[labels.of[k]]);
      image_loss = targets.loss(log1pf(others), misses);
    }
    image_losses[n] = image_loss;
    predicted[n] = static_cast<std::uint8_t>(best);
    mine[0] += image_loss;
    mine[1] += best == targets.leading(labels) ? 1.0f : 0.0f;
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
template <class G, class Targets, class T>
__global__ void cross_entropy_backward_warp_shuffle(std::int64_t images, int classes, const T* logits,
                                                    const std::uint8_t* __restrict__ all_labels,
                                                    const step::StepControl* __restrict__ control,
                                                    T* gradient) {
  const std::int64_t n = std::int64_t{blockIdx.x} * G::kImages + threadIdx.x / G::kLanes;
  const bool exists = n < images;
  const Targets targets(control);
  const auto labels = exists ? targets.labels(all_labels, n, images) : Labels<Targets::kLabels>{};
  const Logits<G> image(logits + n * classes, exists ? classes : 0);
  write_gradient(image, exists ? classes : 0, targets, labels,
                 control->loss_scale / static_cast<float>(images), gradient + n * classes);
}

std::unique_ptr<Prepared> prepare(const OpCall& call) {
  return std::make_unique<Arrivals>(*call.context->device, 1);
}

template <class Targets>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const bool fused = call.covers(Targets::kBackward);
  with_storage(call.precision, [&]<class T>(T) {
    T* gradient = fused ? call.operand<T>(Name::gradient) : nullptr;
    with_group(s.in_channels, [&]<class G>(G) {
      run_kernel(call, {forward_blocks(s)}, cross_entropy_forward_warp_shuffle<G, Targets, T>, s.batch,
                 s.in_channels, Name::logits, Name::labels, Name::control, Name::sample_losses,
                 Name::predicted, call.workspace, static_cast<Arrivals&>(*call.prepared).counts(), Name::loss,
                 Name::accuracy, gradient);
    });
  });
}

template <class Targets>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&]<class T>(T) {
    with_group(s.in_channels, [&]<class G>(G) {
      const auto blocks = static_cast<unsigned>((s.batch + G::kImages - 1) / G::kImages);
      run_kernel(call, {blocks}, cross_entropy_backward_warp_shuffle<G, Targets, T>, s.batch, s.in_channels,
                 Name::logits, Name::labels, Name::control, Name::gradient);
    });
  });
}

}  // namespace

template <class Targets>
std::vector<Variant> warp_shuffle() {
  return {
      cuda_variant(Targets::kForward, "warp_shuffle", forward<Targets>,
                   "Up to a warp per image exchanges by shuffles; the last block adds the batch: one launch.",
                   {.presets = {{"atomic_free"}, {"tiled"}, {"implicit_gemm"}},
                    .workspace_bytes = forward_workspace,
                    .prepare = prepare}),
      cuda_variant(Targets::kForward, "warp_shuffle_fused", forward<Targets>,
                   "The gradient comes of the same registers: one launch for the loss and its gradient.",
                   {.chain = {{.op = Targets::kForward}, {.op = Targets::kBackward, .optional = true}},
                    .workspace_bytes = forward_workspace,
                    .prepare = prepare}),
      cuda_variant(Targets::kBackward, "warp_shuffle", backward<Targets>,
                   "Up to a warp per image; the logits are read once, sums go by shuffles.")};
}
template std::vector<Variant> warp_shuffle<OneLabel>();
template std::vector<Variant> warp_shuffle<MixedLabels>();

}  // namespace warpscope::ops::cross_entropy
