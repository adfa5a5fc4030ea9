#include "gpu/ops/optimizer/update_rule.h"

#include <string>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::ops {

std::string_view to_string(UpdateRule rule) {
  return row_of(rule).name;
}

UpdateRule parse_update_rule(std::string_view text) {
  std::string valid;
  for (const RuleRow& row : kUpdateRules) {
    if (text == row.name) return row.rule;
    valid += fmt::format("{}{}", valid.empty() ? "" : ", ", row.name);
  }
  throw core::BadInput(fmt::format("unknown optimizer '{}'; valid: {}", text, valid));
}

}  // namespace warpscope::ops
