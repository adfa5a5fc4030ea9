#pragma once
// The sizes of an op's shape by the names that files have for them. Its parameters: parameters.h.

namespace warpscope::ops {

/// visit(name, size) for each size of an OpShape, in the order of files.
template <class Shape, class Visit>
void visit_sizes(Shape& shape, Visit&& visit) {
  visit("batch", shape.batch);
  visit("height", shape.height);
  visit("width", shape.width);
  visit("in_channels", shape.in_channels);
  visit("out_channels", shape.out_channels);
  visit("kernel_height", shape.kernel_height);
  visit("kernel_width", shape.kernel_width);
  visit("count", shape.count);
}

}  // namespace warpscope::ops
