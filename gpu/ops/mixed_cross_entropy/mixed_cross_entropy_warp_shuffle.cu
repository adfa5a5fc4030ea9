// mixed_cross_entropy, variants `warp_shuffle` and `warp_shuffle_fused`: 8, 16 or 32 lanes of a warp take an image
// together, as in those of cross_entropy, whose pieces they share. Over `naive` it adds that neighbouring lanes read
// neighbouring logits, once, into registers; that lanes exchange the largest logit and the sums by shuffles; and that
// forward is one launch, whose last block adds the batch in an order that the shape alone fixes.
// `warp_shuffle_fused` of forward writes the gradient as well, from the same registers. Limits: at most 256 classes.
// At most 60 registers (62 on compute capability 7.5), 260 bytes of shared memory, no spills; workspace: 8 bytes a
// block. Source: mixed_cross_entropy.h; cross_entropy/logits.cuh.

#include <memory>

#include "gpu/core/cuda.h"
#include "gpu/ops/arrivals.h"
#include "gpu/ops/augment/mixup.h"
#include "gpu/ops/cross_entropy/logits.cuh"
#include "gpu/ops/mixed_cross_entropy/mixed_cross_entropy.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::mixed_cross_entropy {
namespace {

using augment::Shares;
using cross_entropy::Logits;

/// Both labels of an image.
struct Labels {
  int own;
  int next;
};

__device__ __forceinline__ Labels labels_of(const std::uint8_t* labels, std::int64_t n, std::int64_t images) {
  if (n >= images) return {0, 0};
  return {labels[n], labels[augment::partner_of(n, images)]};
}

/// The gradient of an image's logits; `dz` is its place. `scale`: the loss scale over the images of the
/// batch. Every lane of the warp must call it; `classes` is 0 for a group that has no image.
template <class G, class T>
__device__ void write_gradient(const Logits<G>& image, int classes, const Labels& labels,
                               const Shares<float>& shares, float scale, T* dz) {
  const bool same = labels.own == labels.next;
  const float others = image.sum_of_others(labels.own, labels.next);
  const float of_own = image.exponential(labels.own);
  const float of_second = image.exponential(labels.next);
  const float of_next = same ? 0.0f : of_second;
  const float factor = scale / (others + of_own + of_next);
  const float at_own = same ? -others : shares.next * of_own - shares.own * (others + of_next);
  const float at_next = shares.own * of_next - shares.next * (others + of_own);
  for (int k = 0; k < G::kValues; ++k) {
    const int c = Logits<G>::place(k);
    if (c >= classes) continue;
    const float value = c == labels.own    ? at_own
                        : c == labels.next ? at_next
                                           : expf(image.at[k] - image.peak);
    dz[c] = from_float<T>(factor * value);
  }
}

/// With `gradient`, backward as well.
template <class G, class T>
__global__ void mixed_cross_entropy_forward_warp_shuffle(
    std::int64_t images, int classes, const T* __restrict__ logits, const std::uint8_t* __restrict__ labels,
    const step::StepControl* __restrict__ control, float* __restrict__ image_losses,
    std::uint8_t* __restrict__ predicted, volatile float* of_block, unsigned* arrived,
    float* __restrict__ loss, float* __restrict__ accuracy, T* __restrict__ gradient) {
  constexpr int kTotals = cross_entropy::kTotals;
  const auto shares = augment::shares_of<float>(*control);
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
    const Labels both = labels_of(labels, n, images);
    if (gradient != nullptr) {
      const float scale = control->loss_scale / static_cast<float>(images);
      write_gradient(image, exists ? classes : 0, both, shares, scale, gradient + n * classes);
    }
    if (!exists || threadIdx.x % G::kLanes != 0) continue;
    const int best = nan ? 0 : image.best;
    const float image_loss = nan ? NAN
                                 : log1pf(others) + shares.own * (image.peak - to_float(z[both.own])) +
                                       shares.next * (image.peak - to_float(z[both.next]));
    image_losses[n] = image_loss;
    predicted[n] = static_cast<std::uint8_t>(best);
    mine[0] += image_loss;
    mine[1] += best == (shares.next_leads ? both.next : both.own) ? 1.0f : 0.0f;
  }
  block_sums(mine);
  if (!cross_entropy::arrive_last(mine, of_block, arrived)) return;
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
__global__ void mixed_cross_entropy_backward_warp_shuffle(std::int64_t images, int classes, const T* logits,
                                                          const std::uint8_t* __restrict__ labels,
                                                          const step::StepControl* __restrict__ control,
                                                          T* gradient) {
  const std::int64_t n = std::int64_t{blockIdx.x} * G::kImages + threadIdx.x / G::kLanes;
  const int held = n < images ? classes : 0;
  const Logits<G> image(logits + n * classes, held);
  write_gradient(image, held, labels_of(labels, n, images), augment::shares_of<float>(*control),
                 control->loss_scale / static_cast<float>(images), gradient + n * classes);
}

std::unique_ptr<Prepared> prepare(const OpShape&, core::Precision, core::Device& device) {
  return std::make_unique<Arrivals>(device, 1);
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const bool fused = call.covers(Op::mixed_cross_entropy_backward);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    T* gradient = fused ? call.operand<T>(Name::gradient) : nullptr;
    cross_entropy::with_group(s.in_channels, [&](auto group) {
      using G = decltype(group);
      mixed_cross_entropy_forward_warp_shuffle<G, T>
          <<<cross_entropy::forward_blocks(s), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              s.batch, s.in_channels, call.operand<const T>(Name::logits),
              call.operand<const std::uint8_t>(Name::labels),
              call.operand<const step::StepControl>(Name::control), call.operand<float>(Name::sample_losses),
              call.operand<std::uint8_t>(Name::predicted), static_cast<float*>(call.workspace),
              static_cast<Arrivals&>(*call.prepared).counts(), call.operand<float>(Name::loss),
              call.operand<float>(Name::accuracy), gradient);
    });
  });
  core::check_launch("mixed_cross_entropy.forward warp_shuffle");
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    cross_entropy::with_group(s.in_channels, [&](auto group) {
      using G = decltype(group);
      const auto blocks = static_cast<unsigned>((s.batch + G::kImages - 1) / G::kImages);
      mixed_cross_entropy_backward_warp_shuffle<G, T>
          <<<blocks, kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
              s.batch, s.in_channels, call.operand<const T>(Name::logits),
              call.operand<const std::uint8_t>(Name::labels),
              call.operand<const step::StepControl>(Name::control), call.operand<T>(Name::gradient));
    });
  });
  core::check_launch("mixed_cross_entropy.backward warp_shuffle");
}

Variant forward_variant(const char* name, std::vector<Link> chain, std::vector<PresetTag> presets,
                        const char* summary) {
  return {.op = Op::mixed_cross_entropy_forward,
          .name = name,
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .chain = std::move(chain),
          .presets = std::move(presets),
          .summary = summary,
          .launch = forward,
          .workspace_bytes = cross_entropy::forward_workspace,
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
      {{.op = Op::mixed_cross_entropy_forward}, {.op = Op::mixed_cross_entropy_backward, .optional = true}},
      {}, "The gradient comes of the same registers: one launch for the loss and its gradient.");
}
Variant warp_shuffle_backward() {
  return {.op = Op::mixed_cross_entropy_backward,
          .name = "warp_shuffle",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .summary = "Up to a warp per image; the logits are read once, sums go by shuffles.",
          .launch = backward};
}

}  // namespace warpscope::ops::mixed_cross_entropy
