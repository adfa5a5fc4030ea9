#pragma once
// implicit_gemm of convolutions that are not plain (conv2d.cpp), compiled in conv2d_implicit_gemm_general.cu.

#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

void launch_general_forward(const OpCall& call);
void launch_general_backward_input(const OpCall& call);

}  // namespace warpscope::ops::conv2d
