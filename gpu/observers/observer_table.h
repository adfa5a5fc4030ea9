#pragma once
// All observers there are.

#include <memory>
#include <vector>

#include "gpu/observers/observer.h"

namespace warpscope::training {

/// One of each kind.
std::vector<std::unique_ptr<Observer>> make_observers();

}  // namespace warpscope::training
