#include "gpu/user_kernels/task.h"

#include <array>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/ops/chains.h"

namespace warpscope::user_kernels {
namespace {

using ops::Name;

/// What passes between the ops of a chain.
constexpr std::array kBetween{Name::product, Name::biased, Name::activated};

std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> names;
  while (true) {
    const std::size_t end = std::min(text.find('+'), text.size());
    names.push_back(text.substr(0, end));
    if (end == text.size()) return names;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

ops::Variant Task::form() const {
  ops::Variant variant;
  variant.op = op;
  variant.chain = chain;
  return variant;
}

ops::OpShape Task::call_of(ops::OpShape shape) const {
  for (const ops::Link& each : chain) {
    if (each.op != op) shape.covered.add(each.op);
  }
  return shape;
}

std::string to_string(const Task& task) {
  std::string names(ops::to_string(task.op));
  for (std::size_t i = 1; i < task.chain.size(); ++i)
    names.append("+").append(ops::to_string(task.chain[i].op));
  return names;
}

Task task_of(std::string_view text) {
  const std::vector<std::string_view> names = names_in(text);
  Task task(ops::parse_op(names.front()));
  if (names.size() == 1) return task;
  if (names.size() > kBetween.size() + 1) throw core::BadInput("a chain of operations has at most four");
  task.chain.push_back({.op = task.op, .renames = {{Name::output, kBetween[0]}}});
  for (std::size_t i = 1; i < names.size(); ++i) {
    const Name result = i + 1 < names.size() ? kBetween[i] : Name::output;
    ops::Link link = ops::optional_link(ops::parse_op(names[i]), kBetween[i - 1], result, ops::result_shape);
    link.optional = false;
    link.without.reset();
    task.chain.push_back(std::move(link));
  }
  return task;
}

}  // namespace warpscope::user_kernels
