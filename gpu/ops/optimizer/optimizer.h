#pragma once
// optimizer.update: one step of the optimizer OpShape::rule over the whole contiguous parameter buffer, in
// one launch. The gradients are those of the whole batch, averaged, times control.loss_scale; all numbers
// below that are not operands are fields of the device's StepControl, so that one captured graph serves every
// step. With t = control.updates + 1:
//
//   g = gradient / loss_scale;   norm = sqrt(sum of norm_parts) / loss_scale
//   clip_norm  > 0:  g = g min(1, clip_norm / (norm + 1e-6))      (torch.nn.utils.clip_grad_norm_)
//   clip_value > 0:  g = clamp(g, -clip_value, clip_value)        (after the norm)
//   d = first_decay, e = second_decay, decay = weight_decay, rate = learning_rate
//
//   sgd        g += decay p;  p -= rate g
//   momentum   g += decay p;  v = d v + g;  p -= rate v
//   nesterov   g += decay p;  v = d v + g;  p -= rate (g + d v)
//   adam       g += decay p;  m = d m + (1 - d) g;  s = e s + (1 - e) g^2
//              p -= rate / (1 - d^t) m / (sqrt(s) / sqrt(1 - e^t) + epsilon)
//   adamw      p *= 1 - rate decay;  then as adam without decay
//   rmsprop    g += decay p;  s = e s + (1 - e) g^2;  p -= rate g / (sqrt(s) + epsilon)
//   lion       p *= 1 - rate decay;  p -= rate sign(d m + (1 - d) g);  m = e m + (1 - e) g
//
// first_state holds v, m (adam, adamw, lion) or s (rmsprop); second_state s of adam and adamw. A step that
// step::skips_update() names leaves parameters and state as they are. Statistics (step.h) are written either
// way, in slices of ops::slice_length: the gradient's before clipping and after dividing by the loss scale;
// the update's of the change as computed, before it is rounded into the parameters, and 0 if skipped.
// norm_parts are read only where clip_norm > 0; metrics for the loss alone. Decays lie in [0, 1). 1 - d^t and
// 1 - rate decay are computed in double and rounded once.
//
// optimizer.update_per_sample: the historic faulty scheme, kept so that one can watch it fail. `gradients`
// holds one gradient for each sample of the batch, all taken at the same parameters and not averaged. Each
// sample by itself reads parameters and state, computes the rule as above (t = control.updates + 1 for all,
// no clipping), and adds the change to parameters and state atomically, in any order: momentum and second
// moments decay once a sample instead of once a step and the effective rate is `batch` times the chosen one.
// On the CPU the samples come in order. It has no metrics: a step with control.overflow or control.halted
// leaves parameters and state as they are.
//
// gradients.accumulate: sums = (control.micro_batch == 0 ? 0 : sums) + gradients / control.micro_batches
// gradients.keep:       kept[control.micro_batch % batch] = gradients, the others stay
// gradients.norm:       parts[i] = sum of the squares of slice i of the gradients, as they are (scaled);
//                       control.overflow = 1 if any gradient is an infinity or NaN, else it stays as it is
//                       (step.record clears it); a part of such gradients is not finite either
//
// OpShape: count = number of parameters, batch = samples (update_per_sample, keep), rule.
//
// Sources: I. Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013);
// D. Kingma, J. Ba, "Adam" (2015); I. Loshchilov, F. Hutter, "Decoupled weight decay regularization" (2019);
// T. Tieleman, G. Hinton, "Lecture 6.5, RMSProp" (2012); X. Chen et al., "Symbolic discovery of optimization
// algorithms" (2023), Lion; R. Pascanu et al., "On the difficulty of training recurrent neural networks"
// (2013), clipping. Conventions are those of torch.optim.

#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::ops::optimizer {

OpContract accumulate_contract();
OpContract keep_contract();
OpContract norm_contract();
OpContract update_contract();
OpContract per_sample_contract();

const OpTests& accumulate_tests();
const OpTests& keep_tests();
const OpTests& norm_tests();
const OpTests& update_tests();
const OpTests& per_sample_tests();

std::vector<Variant> variants();

}  // namespace warpscope::ops::optimizer
