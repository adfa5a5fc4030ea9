#include "gpu/ops/op_tests.h"

#include <array>

namespace warpscope::ops {

#define WARPSCOPE_OP(op, folder, name) \
  namespace folder {                   \
  OpTests name##_tests();              \
  }
WARPSCOPE_OPS(WARPSCOPE_OP)
#undef WARPSCOPE_OP

const OpTests& tests_of(Op op) {
  static const std::array<OpTests, kOpCount> all{
#define WARPSCOPE_OP(op, folder, name) folder::name##_tests(),
      WARPSCOPE_OPS(WARPSCOPE_OP)
#undef WARPSCOPE_OP
  };
  return all.at(static_cast<std::size_t>(op));
}

}  // namespace warpscope::ops
