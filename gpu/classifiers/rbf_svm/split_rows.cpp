#include "gpu/classifiers/rbf_svm/split_rows.h"

#include <cmath>

namespace warpscope::classifiers::rbf {

int exponent_for(double largest) {
  return largest > 0.0 ? kTopExponent - 1 - std::ilogb(largest) : 0;
}

}  // namespace warpscope::classifiers::rbf
