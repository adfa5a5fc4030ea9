#pragma once
// The one table of operations: a row an op, in the order in which they are listed to people. Adding one takes
// a folder and a row. A row names the enumerator in Op and the function that gives the op's contract, in the
// namespace of its folder.

#define WARPSCOPE_OPS(X)                                                  \
  X(weights_cast, cast, weights_contract)                                 \
  X(batch_gather, batch, gather_contract)                                 \
  X(batch_augment, augment, augment_contract)                             \
  X(labels_gather, labels, gather_contract)                               \
  X(one_hot_forward, one_hot, forward_contract)                           \
  X(embedding_forward, embedding, forward_contract)                       \
  X(conv2d_forward, conv2d, forward_contract)                             \
  X(linear_forward, linear, forward_contract)                             \
  X(bias_forward, bias, forward_contract)                                 \
  X(relu_forward, relu, forward_contract)                                 \
  X(gelu_forward, gelu, forward_contract)                                 \
  X(maxpool2d_forward, maxpool2d, forward_contract)                       \
  X(global_average_pool_forward, global_average_pool, forward_contract)   \
  X(upsample2d_forward, upsample2d, forward_contract)                     \
  X(dropout_forward, dropout, forward_contract)                           \
  X(scale_forward, scale, forward_contract)                               \
  X(layer_norm_forward, layer_norm, forward_contract)                     \
  X(batch_norm_forward, batch_norm, forward_contract)                     \
  X(batch_norm_infer, batch_norm, infer_contract)                         \
  X(mse_forward, mse, forward_contract)                                   \
  X(cross_entropy_forward, cross_entropy, forward_contract)               \
  X(mixed_cross_entropy_forward, mixed_cross_entropy, forward_contract)   \
  X(add_forward, add, forward_contract)                                   \
  X(images_widen, cast, images_contract)                                  \
  X(mse_backward, mse, backward_contract)                                 \
  X(cross_entropy_backward, cross_entropy, backward_contract)             \
  X(mixed_cross_entropy_backward, mixed_cross_entropy, backward_contract) \
  X(joint_weigh, joint, weigh_contract)                                   \
  X(embedding_backward_weights, embedding, backward_weights_contract)     \
  X(conv2d_backward_input, conv2d, backward_input_contract)               \
  X(conv2d_backward_weights, conv2d, backward_weights_contract)           \
  X(conv2d_backward_bias, conv2d, backward_bias_contract)                 \
  X(linear_backward_input, linear, backward_input_contract)               \
  X(linear_backward_weights, linear, backward_weights_contract)           \
  X(linear_backward_bias, linear, backward_bias_contract)                 \
  X(relu_backward, relu, backward_contract)                               \
  X(gelu_backward, gelu, backward_contract)                               \
  X(maxpool2d_backward, maxpool2d, backward_contract)                     \
  X(global_average_pool_backward, global_average_pool, backward_contract) \
  X(upsample2d_backward, upsample2d, backward_contract)                   \
  X(dropout_backward, dropout, backward_contract)                         \
  X(scale_backward, scale, backward_contract)                             \
  X(layer_norm_backward_input, layer_norm, backward_input_contract)       \
  X(layer_norm_backward_weights, layer_norm, backward_weights_contract)   \
  X(batch_norm_backward, batch_norm, backward_contract)                   \
  X(batch_norm_track, batch_norm, track_contract)                         \
  X(gradients_accumulate, optimizer, accumulate_contract)                 \
  X(gradients_keep, optimizer, keep_contract)                             \
  X(micro_batch_record, step, micro_batch_contract)                       \
  X(gradients_norm, optimizer, norm_contract)                             \
  X(optimizer_update, optimizer, update_contract)                         \
  X(optimizer_update_per_sample, optimizer, per_sample_contract)          \
  X(step_record, step, record_contract)
