#pragma once
// Where a number in the network comes from: the sum of products that made it, term by term.

#include <vector>

#include "gpu/messages/inspection.h"
#include "gpu/models/model.h"

namespace warpscope::inspect {

/// One value of a layer's output. `output` counts in Inspection::outputs: 0 is the image, n the layer n - 1.
struct Place {
  std::size_t output = 0;
  int y = 0;
  int x = 0;
  int channel = 0;

  bool operator==(const Place&) const = default;
};

/// input * weight
struct Term {
  int y = 0;  ///< of the input; outside of it, where padding stands, the input is 0
  int x = 0;
  int channel = 0;
  float input = 0;
  float weight = 0;  ///< rounded as the precision multiplies it
  double product() const { return static_cast<double>(input) * static_cast<double>(weight); }
};

/// What happens to a number on its way from the sum to the place that was asked for.
struct Passage {
  models::LayerKind kind{};
  std::size_t output = 0;  ///< of this layer
  float before = 0;
  float after = 0;
  Place from;                      ///< whose value is `before`
  std::vector<float> window = {};  ///< of pooling: what it chooses from, row by row
  float addend = 0;                ///< of an addition: what the other layer gives
};

/// The number at `place` is `passages` applied to bias + the sum of `terms`.
struct Explanation {
  Place place;
  float value = 0;       ///< as the network has it
  Place sum;             ///< the output of a convolution or linear layer that the sum makes
  bool has_sum = false;  ///< false where the image comes before, or a mean over an image
  int height = 1;  ///< of the patch: the kernel's, or the input's; terms are (height, width, in_channels)
  int width = 1;
  int in_channels = 0;
  std::vector<Term> terms;  ///< row by row, channels innermost
  float bias = 0;
  double total = 0;               ///< bias + all products, summed in double precision
  float stored = 0;               ///< what the network computed for the same sum
  std::vector<Passage> passages;  ///< in order, from the sum to `place`; the last one's `after` is `value`
};

/// The output whose sum explain() tells of, for any value of `output`; 0 where that is none.
std::size_t output_of_sum(const models::Model& model, std::size_t output);

/// How the value at `place` was made. `layout` is parameter_layout(model), `inspection` one of `model`,
/// with the parameters of output_of_sum(). In 16-bit
/// precisions weights are rounded as the plan casts them; in TF32 inputs and weights as tensor cores read them.
/// Throws core::BadInput if there is no such place.
Explanation explain(const models::Model& model, const models::ParameterLayout& layout,
                    const training::Inspection& inspection, const Place& place);

}  // namespace warpscope::inspect
