#pragma once
// Views of an image (test-time augmentation): a network that classifies looks at an image x in V ways and answers by
// the mean of the logits of all views v, each alike:
//
//   z = 1/V sum over v of f(v(x))
//
// The first view is x. With a shift of N pixels four more are x shifted to the corners, from which pixel (h, w) comes
// of (h + d, w + e), (d, e) = (-N,-N), (-N,N), (N,-N), (N,N), reflected at the border and clamped to the image as
// batch.augment does (ops/augment/augment.cpp). Mirrored: each of these left to right too. V: 1, 2, 5 or 10.
//
// A plan of Purpose::encoding with kViewsOnRequest makes f(v(x)) of the view that the control block tells, so that one
// graph serves all passes. The mean is taken on the host, in double.
//
// Sources: A. Krizhevsky et al., "ImageNet classification with deep convolutional neural networks" (2012), section
// 4.1, which averages probabilities over five patches and their mirror images; K. Jordan, "94% on CIFAR-10 in 3.29
// seconds on a single GPU" (2024), which looks at images shifted by a pixel, fewer of them and not each alike.

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/core/types.h"
#include "gpu/models/model.h"
#include "gpu/ops/step/step.h"
#include "gpu/plan/program.h"

namespace warpscope::plan {

inline constexpr Recipe kViewsOnRequest{.views = true};

/// Which views there are: by default only the image itself.
struct ViewSettings {
  bool mirrored = false;
  int shift = 0;  ///< N; 0: not shifted

  bool several() const { return mirrored || shift != 0; }
};

struct View {
  bool mirrored = false;
  int down = 0;  ///< d and e
  int right = 0;
};

/// All views, the image itself first.
std::vector<View> views_of(const ViewSettings& settings);

/// Makes the passes that read `control` those of `view`.
void show(const View& view, ops::step::StepControl& control);

/// Throws core::BadInput, one sentence, if there are several views and `model` does not classify images.
void check_views(const models::Model& model, const ViewSettings& settings);

/// z of the logits, or of whatever the views gave, that lie in `views` equal parts of `all`: the first `bytes` of
/// each, as elements of `type`.
std::vector<double> mean_of_views(std::span<const std::byte> all, std::size_t views, std::size_t bytes,
                                  core::ElementType type);

}  // namespace warpscope::plan
