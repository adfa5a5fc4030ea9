#pragma once
// The one table of operations: a row an op, in the order in which they are listed to people. Adding one takes
// a folder and a row. A row names the enumerator in Op and what the functions of its folder's namespace begin with
// that give the op's contract and what its proofs need: OpContract forward_contract(), OpTests forward_tests(). Each
// folder has one function more, std::vector<Variant> variants(), the variants of all its ops.

#define WARPSCOPE_OPS(X)                                         \
  X(weights_cast, cast, weights)                                 \
  X(batch_gather, batch, gather)                                 \
  X(batch_augment, augment, augment)                             \
  X(labels_gather, labels, gather)                               \
  X(one_hot_forward, one_hot, forward)                           \
  X(embedding_forward, embedding, forward)                       \
  X(conv2d_forward, conv2d, forward)                             \
  X(linear_forward, linear, forward)                             \
  X(bias_forward, bias, forward)                                 \
  X(relu_forward, relu, forward)                                 \
  X(gelu_forward, gelu, forward)                                 \
  X(maxpool2d_forward, maxpool2d, forward)                       \
  X(global_average_pool_forward, global_average_pool, forward)   \
  X(upsample2d_forward, upsample2d, forward)                     \
  X(dropout_forward, dropout, forward)                           \
  X(scale_forward, scale, forward)                               \
  X(layer_norm_forward, layer_norm, forward)                     \
  X(batch_norm_forward, batch_norm, forward)                     \
  X(batch_norm_moments, batch_norm, moments)                     \
  X(batch_norm_allreduce_moments, batch_norm, allreduce_moments) \
  X(batch_norm_infer, batch_norm, infer)                         \
  X(mse_forward, mse, forward)                                   \
  X(cross_entropy_forward, cross_entropy, forward)               \
  X(mixed_cross_entropy_forward, cross_entropy, mixed_forward)   \
  X(add_forward, add, forward)                                   \
  X(images_widen, cast, images)                                  \
  X(mse_backward, mse, backward)                                 \
  X(cross_entropy_backward, cross_entropy, backward)             \
  X(mixed_cross_entropy_backward, cross_entropy, mixed_backward) \
  X(joint_weigh, joint, weigh)                                   \
  X(embedding_backward_weights, embedding, backward_weights)     \
  X(conv2d_backward_input, conv2d, backward_input)               \
  X(conv2d_backward_weights, conv2d, backward_weights)           \
  X(conv2d_backward_bias, conv2d, backward_bias)                 \
  X(linear_backward_input, linear, backward_input)               \
  X(linear_backward_weights, linear, backward_weights)           \
  X(linear_backward_bias, linear, backward_bias)                 \
  X(relu_backward, relu, backward)                               \
  X(gelu_backward, gelu, backward)                               \
  X(maxpool2d_backward, maxpool2d, backward)                     \
  X(global_average_pool_backward, global_average_pool, backward) \
  X(upsample2d_backward, upsample2d, backward)                   \
  X(dropout_backward, dropout, backward)                         \
  X(scale_backward, scale, backward)                             \
  X(layer_norm_backward_input, layer_norm, backward_input)       \
  X(layer_norm_backward_weights, layer_norm, backward_weights)   \
  X(batch_norm_backward, batch_norm, backward)                   \
  X(batch_norm_backward_sums, batch_norm, backward_sums)         \
  X(batch_norm_allreduce_sums, batch_norm, allreduce_sums)       \
  X(batch_norm_backward_input, batch_norm, backward_input)       \
  X(batch_norm_track, batch_norm, track)                         \
  X(running_begin, running, begin)                               \
  X(gradients_accumulate, optimizer, accumulate)                 \
  X(gradients_keep, optimizer, keep)                             \
  X(micro_batch_record, step, micro_batch)                       \
  X(gradients_allreduce, allreduce, gradients)                   \
  X(running_end, running, end)                                   \
  X(gradients_norm, optimizer, norm)                             \
  X(optimizer_update, optimizer, update)                         \
  X(optimizer_update_per_sample, optimizer, per_sample)          \
  X(step_record, step, record)
