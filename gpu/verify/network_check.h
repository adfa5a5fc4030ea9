#pragma once
// The gradients of a whole network, computed by a plan, against the same network chained from the fp64
// references.

#include <cstdint>
#include <vector>

#include "gpu/models/model.h"
#include "gpu/plan/selection.h"
#include "gpu/verify/op_check.h"

namespace warpscope::verify {

/// Every kind of layer in an autoencoder small enough for the reference: 8x8x3, five convolutions, two
/// poolings.
models::Model small_network();
/// A classifier as small: 8x8x3, a convolution, pooling, two linear layers, five classes.
models::Model small_classifier();
/// small_network() with a head of five classes on its latents.
models::Model small_joint_network();
/// A classifier of texts as small: 24 bytes, of which 200 are told apart by `first`, one_hot or embedding.
models::Model small_text_network(models::LayerKind first);

/// Weights, images and the right gradients of one training step of two images.
struct NetworkCase {
  models::Model model;
  std::vector<float> parameters;  ///< rounded to the precision, so that casting them is exact
  std::vector<std::uint8_t> images;
  std::vector<std::uint8_t> labels;
  std::vector<double> gradients;  ///< in the layout of the parameters
  double loss = 0;
  /// Numbers that the tolerance follows from: values nearer to a corner of their op than rounding may move
  /// them (OpTests::corners), each as a share of its layer, summed in squares; and the longest sum and the
  /// number of ops on a path.
  double corners = 0;
  std::int64_t terms = 0;
  int path = 0;
};

NetworkCase make_network_case(core::Precision precision, std::uint64_t seed,
                              const models::Model& model = small_network());

/// What the gradients may be off by. Each op on the path adds an error of its own tolerance, and independent
/// errors add in squares: ops::tolerance() sqrt(path). Where rounding may carry a value across the corner of
/// a ReLU or to another winner of a pooling window, that element's gradient goes elsewhere: sqrt(corners)
/// more.
double network_tolerance(const NetworkCase& network, core::Precision precision);

/// A check of a whole network.
struct NetworkCheck : Check {
  double whole_error = 0;              ///< relative, of the gradients of all parameters as one vector
  bool declared_deterministic = true;  ///< all variants that the plan launched say that they are
};

/// Runs one step of a plan of `selection` and compares the gradients, each parameter by itself, and the loss.
/// Throws core::BadInput if such a plan cannot be built.
NetworkCheck check_network(const NetworkCase& network, const ops::Context& context,
                           const plan::Selection& selection);

}  // namespace warpscope::verify
