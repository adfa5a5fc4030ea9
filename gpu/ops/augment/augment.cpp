// batch.augment: picks the images of the next batch as batch.gather does, and changes each at random.
//
//   a[n,h,w,c] = 1/2                                            inside the square that is cut out of image n
//                colour_n(p[c])                                 elsewhere
//   p          = images[order[(position + n) mod count], r(h + d_n, H), r(g + e_n, W)] / 255
//   g          = W - 1 - w where image n is mirrored, else w
//   d_n, e_n   = c(v_n + c(shift_down, H), H) and c(u_n + c(shift_right, W), W)
//   c(i, L)    = i, but 1 - L below it and L - 1 above it: as far as r can take a pixel
//   r(i, L)    = i, but -i below 0 and 2 (L - 1) - i from L on: reflected without the border twice
//   colour_n   brightness    q = clamp(b_n p),   contrast  q = clamp(1/2 + k_n (q - 1/2)),
//              saturation    q = clamp(y + s_n (q - y)), y = 0.299 q[0] + 0.587 q[1] + 0.114 q[2],
//              of images of three channels; clamp to [0, 1]; nothing of it where jitter is 0
//   x[n]       = S a[n] + (1 - S) a[(n + 1) mod N],  S the batch's share; x = a where mixup is 0
//
// shift_down and shift_right are fields of the device's StepControl: 0 in training, and the shift of all images
// of a view outside it (plan/views.h). What is drawn, from its fields flip, crop = P, cutout = C, jitter = J and
// mixup:
//
//   key        random_bits(random_bits(seed, step), micro_batch 2^32 + kSalt)
//   word i     of image n: random_bits(key, 4 n + i), whose halves are whole numbers below 2^32
//   v_n, u_n   uniform in {-m .. m}, m = min(P, H - 1) and min(P, W - 1): the halves of word 0
//   square     C x C, its middle (row C / 2 and column C / 2 of it) on a uniform pixel, so that a part may lie
//              outside: the halves of word 1
//   b, k, s    (1 - J) + 2 J t, t uniform in [0, 1): the upper 24 bits of both halves of word 2 and the lower
//              half of word 3
//   mirrored   if flip is kFlipAll, or if it is kFlipHalf and the highest bit of word 3 is set
//   S          Beta(mixup, mixup), one a batch (mixup.h)
//
// Whole numbers below L come of 32 bits as floor(bits L / 2^32). So the decisions are the same bits in every
// variant, in a step that is run again and in a run that is resumed; numbers differ only by rounding.
//
// images: (count,H,W,C) bytes; order: count positions; x: (N,H,W,C). OpShape: batch, height, width,
// in_channels, count.
//
// Sources: shifts and mirroring as K. He et al., "Deep residual learning for image recognition" (2016), with
// reflection for zeros; T. DeVries, G. Taylor, "Improved regularization of convolutional neural networks with
// cutout" (2017), whose mean is here the middle of the range; H. Zhang et al., "mixup: beyond empirical risk
// minimization" (2018); luma: ITU-R BT.601.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::augment {
namespace {

/// Scaling, brightness, contrast, saturation and mixing, about.
double flops(const OpShape& s) {
  constexpr double kEach = 16;
  return kEach * static_cast<double>(sizes::input(s));
}
/// Those of the longest chain of roundings: brightness, contrast, saturation, the share of the batch.
std::int64_t roundings(const OpShape&) {
  return 16;
}
constexpr std::array kAugment{Operand{Name::images, Access::read, Role::byte, sizes::data_set},
                              Operand{Name::order, Access::read, Role::index, sizes::count},
                              Operand{Name::control, Access::read, Role::control, sizes::step_control},
                              Operand{Name::output, Access::write, Role::activation, sizes::input}};

}  // namespace

OpContract augment_contract() {
  return {.name = "batch.augment",
          .summary = "pick the batch's images, mirror, shift, recolour, cut out and mix them at random",
          .operands = kAugment,
          .flops = flops,
          .terms = roundings,
          .describe = sizes::describe_images,
          .touched = sizes::picked};
}

WARPSCOPE_VARIANTS(reference_augment(),
                   loops_augment()
                       WARPSCOPE_IF_CUDA(, naive_augment(), vectorized_augment(), vectorized_fused_augment()))

}  // namespace warpscope::ops::augment
