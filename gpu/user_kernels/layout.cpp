#include "gpu/user_kernels/layout.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

#include "gpu/ops/parameters.h"
#include "gpu/ops/shape_sizes.h"
#include "gpu/verify/reference.h"

namespace warpscope::user_kernels {
namespace {

using ops::Operand;
using ops::OpShape;
using ops::Role;

constexpr Extent kBatch{"batch", "n", [](const OpShape& s) { return s.batch; }};
constexpr Extent kInput{"in_channels", "c", [](const OpShape& s) { return std::int64_t{s.in_channels}; }};
constexpr Extent kOutput{"out_channels", "k", [](const OpShape& s) { return std::int64_t{s.out_channels}; }};

/// Rows and columns of images, the plainest first.
struct Pixels {
  Extent rows;
  Extent columns;
};
constexpr std::array kImages{
    Pixels{{"height", "h", [](const OpShape& s) { return std::int64_t{s.height}; }},
           {"width", "w", [](const OpShape& s) { return std::int64_t{s.width}; }}},
    Pixels{{"output_height", "i", [](const OpShape& s) { return std::int64_t{ops::output_height(s)}; }},
           {"output_width", "j", [](const OpShape& s) { return std::int64_t{ops::output_width(s)}; }}},
    Pixels{{"(height / kernel_height)", "i",
            [](const OpShape& s) { return std::int64_t{s.height / s.kernel_height}; }},
           {"(width / kernel_width)", "j",
            [](const OpShape& s) { return std::int64_t{s.width / s.kernel_width}; }}},
    Pixels{{"2*height", "i", [](const OpShape& s) { return std::int64_t{2} * s.height; }},
           {"2*width", "j", [](const OpShape& s) { return std::int64_t{2} * s.width; }}}};
constexpr Pixels kKernel{
    {"kernel_height", "r", [](const OpShape& s) { return std::int64_t{s.kernel_height}; }},
    {"kernel_width", "s", [](const OpShape& s) { return std::int64_t{s.kernel_width}; }}};
constexpr Extent kElements{"elements", "i", nullptr};

/// Different enough that no two products of extents are the same on all of them.
std::vector<OpShape> probes() {
  return {{.batch = 2,
           .height = 23,
           .width = 29,
           .in_channels = 7,
           .out_channels = 11,
           .kernel_height = 3,
           .kernel_width = 5,
           .count = 13,
           .stride = 2,
           .dilation = 2,
           .valid = true},
          {.batch = 5,
           .height = 31,
           .width = 17,
           .in_channels = 3,
           .out_channels = 19,
           .kernel_height = 5,
           .kernel_width = 3,
           .count = 37,
           .stride = 3,
           .dilation = 1,
           .valid = false}};
}

std::int64_t product(const std::vector<const Extent*>& extents, const OpShape& shape) {
  std::int64_t elements = 1;
  for (const Extent* each : extents) elements *= each->of(shape);
  return elements;
}

/// The same where the op knows no pixels, but those that follow it do.
OpShape of_one_pixel(OpShape shape) {
  shape.height = shape.width = shape.kernel_height = shape.kernel_width = shape.stride = shape.dilation = 1;
  return shape;
}

/// How many elements an operand has on each of some shapes.
using Counts = std::vector<std::int64_t>;

bool is_layout(const std::vector<const Extent*>& extents, const std::vector<OpShape>& shapes,
               const Counts& elements) {
  return std::ranges::equal(shapes, elements, {},
                            [&](const OpShape& shape) { return product(extents, shape); });
}

/// Every way to index `operand` of its kind: each of `first`, `pixels` and `last` may be there or not.
std::vector<std::vector<const Extent*>> ways(std::span<const Extent* const> first,
                                             std::span<const Pixels> pixels,
                                             std::span<const Extent* const> last) {
  std::vector<std::vector<const Extent*>> all;
  for (const Extent* before : first) {
    for (std::size_t p = 0; p <= pixels.size(); ++p) {
      for (const Extent* behind : last) {
        std::vector<const Extent*>& way = all.emplace_back();
        if (before != nullptr) way.push_back(before);
        if (p > 0) way.insert(way.end(), {&pixels[p - 1].rows, &pixels[p - 1].columns});
        if (behind != nullptr) way.push_back(behind);
      }
    }
  }
  return all;
}

OperandLayout layout_of(const Operand& operand, const std::vector<OpShape>& shapes, const Counts& elements) {
  static constexpr std::array<const Extent*, 2> kRows{nullptr, &kBatch};
  static constexpr std::array<const Extent*, 3> kChannels{nullptr, &kInput, &kOutput};
  static constexpr std::array<const Extent*, 2> kOutputs{nullptr, &kOutput};
  static constexpr std::array<const Extent*, 2> kInputs{nullptr, &kInput};
  const bool weights = operand.role == Role::weight || operand.role == Role::gradient;
  for (auto& way :
       weights ? ways(kOutputs, std::span(&kKernel, 1), kInputs) : ways(kRows, kImages, kChannels)) {
    if (is_layout(way, shapes, elements)) return {operand, std::move(way)};
  }
  return {operand, {&kElements}, false};
}

}  // namespace

std::vector<OperandLayout> layouts_of(const Task& task) {
  std::vector<OperandLayout> layouts;
  if (task.chain.empty()) {
    for (const Operand& each : ops::contract(task.op).operands) {
      Counts elements;
      for (const OpShape& shape : probes()) elements.push_back(each.elements(shape));
      layouts.push_back(layout_of(each, probes(), elements));
    }
    return layouts;
  }
  std::vector<OpShape> shapes = probes();
  std::vector<std::vector<ops::CallOperand>> operands;
  for (OpShape& shape : shapes) {
    shape = task.call_of(shape);
    if (!verify::misfit(task.form(), shape).empty()) shape = of_one_pixel(shape);
    operands.push_back(ops::operands_of(task.form(), shape));
  }
  for (std::size_t i = 0; i < operands.front().size(); ++i) {
    Counts elements;
    for (const auto& each : operands) elements.push_back(each.at(i).elements);
    const ops::CallOperand& own = operands.front()[i];
    layouts.push_back(layout_of({own.name, own.access, own.role, nullptr}, shapes, elements));
    if (!layouts.back().known)
      throw std::logic_error("an operand of a chain has no layout: " + to_string(task));
  }
  return layouts;
}

std::vector<std::int64_t> extents_of(const OperandLayout& layout, const OpShape& shape) {
  if (!layout.known) return {layout.operand.elements(shape)};
  std::vector<std::int64_t> extents;
  for (const Extent* each : layout.extents) extents.push_back(each->of(shape));
  if (extents.empty()) extents.push_back(1);
  return extents;
}

std::vector<std::string_view> sizes_read(ops::Op op) {
  std::vector<std::string_view> names;
  OpShape shape = probes().front();
  ops::visit_sizes(shape, [&](const char* name, auto& size) {
    const auto before = size;
    const auto changes = [&](const Operand& operand) {
      const std::int64_t elements = operand.elements(shape);
      size = static_cast<std::remove_reference_t<decltype(size)>>(size + 2);
      const bool other = operand.elements(shape) != elements;
      size = before;
      return other;
    };
    if (std::ranges::any_of(ops::contract(op).operands, changes)) names.emplace_back(name);
  });
  return names;
}

kernel::RawCall raw_call(const std::vector<OperandLayout>& layouts, const OpShape& shape) {
  kernel::RawCall raw{};
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const std::vector<std::int64_t> extents = extents_of(layouts[i], shape);
    std::copy(extents.begin(), extents.end(), raw.operands[i].extents);
  }
  std::size_t next = 0;
  ops::visit_sizes(shape, [&](const char*, auto size) { raw.sizes[next++] = size; });
  next = 0;
  ops::visit_parameters(
      shape, [&](ops::Parameter, auto value, auto) { raw.parameters[next++] = static_cast<double>(value); });
  return raw;
}

std::string_view no_user_kernels(const Task& task) {
  const std::vector<OperandLayout> layouts = layouts_of(task);
  if (ops::contract(task.op).adds_over_ranks) return "it adds over ranks";
  if (layouts.size() > kernel::kMostOperands) return "it has too many operands";
  const bool controlled =
      std::ranges::any_of(layouts, [](const auto& each) { return each.operand.role == Role::control; });
  return controlled ? "it reads the control block of a step" : "";
}

}  // namespace warpscope::user_kernels
