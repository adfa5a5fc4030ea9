#pragma once
// What runs, in words.

#include <span>
#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"

namespace warpscope::training {

/// "hopper, with bias, relu, maxpool2d": what runs `layers` of one op and what it covers in any of them;
/// several variants with "/" between them; "in conv2d.forward" where other calls cover them all; "" of no
/// layers.
std::string running_text(std::span<const OpTiming* const> layers);

/// `change`, as plan::describe_change() says it, with what the calls that were switched to cover by
/// `timings`: "conv2d.forward: naive -> hopper, with bias, relu; ...".
std::string with_covered(const std::string& change, const std::vector<OpTiming>& timings);

}  // namespace warpscope::training
