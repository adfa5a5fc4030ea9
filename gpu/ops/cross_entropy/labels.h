#pragma once
// What the loops and kernels of cross_entropy and of mixed_cross_entropy differ in: the labels of an image. `reference`
// has formulas of its own.

#include <cstdint>

#include "gpu/core/both.h"
#include "gpu/ops/augment/mixup.h"
#include "gpu/ops/op.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::cross_entropy {

/// The labels of an image.
template <int N>
struct Labels {
  int of[N];

  WARPSCOPE_BOTH bool has(int c) const {
    for (int k = 0; k < N; ++k) {
      if (of[k] == c) return true;
    }
    return false;
  }
};

/// The gradient of an image's logits is `factor` times at[k] at label k and times exp(z[c] - peak) at the others, so
/// that no difference of nearly equal numbers is taken.
template <int N>
struct Slopes {
  float factor;
  float at[N];

  /// At one of the labels.
  WARPSCOPE_BOTH float at_label(const Labels<N>& labels, int c) const {
    for (int k = 0; k + 1 < N; ++k) {
      if (labels.of[k] == c) return at[k];
    }
    return at[N - 1];
  }
};

/// Each image has one label.
struct OneLabel {
  static constexpr int kLabels = 1;
  static constexpr Op kForward = Op::cross_entropy_forward;
  static constexpr Op kBackward = Op::cross_entropy_backward;

  WARPSCOPE_BOTH explicit OneLabel(const step::StepControl* /*control*/) {}

  WARPSCOPE_BOTH Labels<1> labels(const std::uint8_t* all, std::int64_t n, std::int64_t /*images*/) const {
    return {{all[n]}};
  }
  /// The image whose label counts as right for image n.
  WARPSCOPE_BOTH std::int64_t leading(std::int64_t n, std::int64_t /*images*/) const { return n; }
  WARPSCOPE_BOTH int leading(const Labels<1>& labels) const { return labels.of[0]; }

  /// log(sum of exponentials) + sum over labels of share (peak - z): `misses` holds the differences.
  WARPSCOPE_BOTH float loss(float log_sum, const float (&misses)[1]) const { return log_sum + misses[0]; }

  /// `others`: the sum of the exponentials of all classes but the labels; `own`: those of the labels.
  WARPSCOPE_BOTH Slopes<1> slopes(const Labels<1>&, float others, const float (&own)[1], float scale) const {
    return {scale / (others + own[0]), {-others}};
  }
};

/// Each image has its label and that of the next image, by the shares that control draws for the batch.
struct MixedLabels {
  static constexpr int kLabels = 2;
  static constexpr Op kForward = Op::mixed_cross_entropy_forward;
  static constexpr Op kBackward = Op::mixed_cross_entropy_backward;

  augment::Shares<float> shares;

  WARPSCOPE_BOTH explicit MixedLabels(const step::StepControl* control)
      : shares(augment::shares_of<float>(*control)) {}

  WARPSCOPE_BOTH Labels<2> labels(const std::uint8_t* all, std::int64_t n, std::int64_t images) const {
    return {{all[n], all[augment::partner_of(n, images)]}};
  }
  WARPSCOPE_BOTH std::int64_t leading(std::int64_t n, std::int64_t images) const {
    return shares.next_leads ? augment::partner_of(n, images) : n;
  }
  WARPSCOPE_BOTH int leading(const Labels<2>& labels) const { return labels.of[shares.next_leads ? 1 : 0]; }

  WARPSCOPE_BOTH float loss(float log_sum, const float (&misses)[2]) const {
    return log_sum + shares.own * misses[0] + shares.next * misses[1];
  }

  WARPSCOPE_BOTH Slopes<2> slopes(const Labels<2>& labels, float others, const float (&own)[2],
                                  float scale) const {
    const bool same = labels.of[0] == labels.of[1];
    const float next = same ? 0.0f : own[1];
    return {scale / (others + own[0] + next),
            {same ? -others : shares.next * own[0] - shares.own * (others + next),
             shares.own * next - shares.next * (others + own[0])}};
  }
};

}  // namespace warpscope::ops::cross_entropy
