#pragma once
// Evaluation over mirrored images (test-time augmentation by a horizontal flip): a network that classifies looks at an
// image x and at its mirror image m(x), left to right, and answers by the mean of the logits of both,
//
//   z = (f(x) + f(m(x))) / 2
//
// A plan of Purpose::encoding with kMirrorsOnRequest makes f(x) where the control block says ops::step::kFlipNone, and
// f(m(x)) where it says kFlipAll, so that one graph serves both passes. The mean is taken on the host, in double.
// Source: A. Krizhevsky et al., "ImageNet classification with deep convolutional neural networks" (2012), section 4.1,
// where it is the probabilities that are averaged, and patches beside the mirror images.

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/core/types.h"
#include "gpu/models/model.h"
#include "gpu/plan/program.h"

namespace warpscope::plan {

inline constexpr Recipe kMirrorsOnRequest{.mirrors = true};

/// Throws core::BadInput, one sentence, unless `model` classifies images.
void check_mirrored(const models::Model& model);

/// z of the logits that `both` begins with and of those from its middle on, of the mirror images: `bytes` of each, as
/// elements of `type`.
std::vector<double> mean_logits(std::span<const std::byte> both, std::size_t bytes, core::ElementType type);

}  // namespace warpscope::plan
