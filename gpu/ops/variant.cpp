#include "gpu/ops/variant.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::ops {

#define WARPSCOPE_OP(op, folder, name) \
  namespace folder {                   \
  std::vector<Variant> variants();     \
  }
WARPSCOPE_OPS(WARPSCOPE_OP)
#undef WARPSCOPE_OP

namespace {

bool comes_before(const Variant& a, const Variant& b) {
  return std::tuple(a.op, a.device) < std::tuple(b.op, b.device);
}

/// Puts `added` behind the others of its op and device.
void put(VariantTable& table, Variant added) {
  const auto where = [&](const char* why) {
    return fmt::format("the variant '{}' of {} on {} {}", added.name, to_string(added.op),
                       core::to_string(added.device), why);
  };
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const std::string_view own = std::string_view(added.name).substr(is_users(added) ? kUsers.size() : 0);
  if (own.empty() || !std::all_of(own.begin(), own.end(), fits)) {
    throw core::BadInput(where("has a name of other characters than a-z, 0-9 and _"));
  }
  if (find_variant(table, added.op, added.device, added.name) != nullptr) {
    throw core::BadInput(where("is there already"));
  }
  if (!added.launch) throw core::BadInput(where("has nothing to launch"));
  table.insert(std::upper_bound(table.begin(), table.end(), added, comes_before), std::move(added));
}

VariantTable collect() {
  VariantTable all;
  std::set<std::vector<Variant> (*)()> folders;
#define WARPSCOPE_OP(op, folder, name) folders.insert(folder::variants);
  WARPSCOPE_OPS(WARPSCOPE_OP)
#undef WARPSCOPE_OP
  for (const auto folder : folders) {
    for (Variant& each : folder()) put(all, std::move(each));
  }
  return all;
}

/// Why a GPU of the device's compute capability does not run the variant's code, or "".
std::string wrong_compute_capability(const Variant& variant, const core::DeviceInfo& device,
                                     core::Precision precision) {
  const bool more = variant.minimum_beside_fp16 > 0 && precision != core::Precision::fp16;
  const int least = more ? variant.minimum_beside_fp16 : variant.minimum_compute_capability;
  const int most = variant.maximum_compute_capability;
  if (device.kind == core::DeviceKind::cpu) return "";
  const bool too_new = most != 0 && device.compute_capability > most;
  if (device.compute_capability >= least && !too_new) return "";
  const auto version = [](int number) { return fmt::format("{}.{}", number / 10, number % 10); };
  const std::string needed = most == 0       ? version(least)
                             : least == most ? version(least) + " only"
                                             : fmt::format("{} to {}", version(least), version(most));
  const std::string where = more ? fmt::format(" in {}", core::to_string(precision)) : "";
  return fmt::format("needs compute capability {}{}, this GPU has {}", needed, where,
                     version(device.compute_capability));
}

}  // namespace

Variant cuda_variant(Op op, const char* name, void (*launch)(const OpCall&), const char* summary,
                     Variant more) {
  more.op = op;
  more.name = name;
  more.device = core::DeviceKind::cuda;
  more.summary = summary;
  more.launch = launch;
  return more;
}

Variant naive_variant(Op op, void (*launch)(const OpCall&), const char* summary) {
  Variant made = cuda_variant(op, "naive", launch, summary);
  made.presets = {{"naive"}, {"atomic"}, {"atomic_free"}};
  return made;
}

Variants built_in_variants() {
  static const auto all = std::make_shared<const VariantTable>(collect());
  return all;
}

bool is_users(const Variant& variant) {
  return variant.name.starts_with(kUsers);
}

Variants with_variant(const VariantTable& table, Variant added) {
  VariantTable more = table;
  put(more, std::move(added));
  return std::make_shared<const VariantTable>(std::move(more));
}

Variants with_new_version(const VariantTable& table, Variant added) {
  const Variants others = without_variant(table, added.op, added.device, added.name);
  return with_variant(*others, std::move(added));
}

Variants without_variant(const VariantTable& table, Op op, core::DeviceKind device, std::string_view name) {
  VariantTable others = table;
  std::erase_if(others, [&](const Variant& each) {
    return each.op == op && each.device == device && each.name == name;
  });
  return std::make_shared<const VariantTable>(std::move(others));
}

std::vector<core::Precision> precisions_of(const Variant& variant) {
  using enum core::Precision;
  if (!variant.precisions.empty()) return variant.precisions;
  return variant.device == core::DeviceKind::cpu ? std::vector{fp32, bf16}
                                                 : std::vector{fp32, tf32, fp16, bf16};
}

std::vector<const Variant*> variants_of(const VariantTable& table, Op op, core::DeviceKind device) {
  std::vector<const Variant*> found;
  for (const Variant& variant : table) {
    if (variant.op == op && variant.device == device) found.push_back(&variant);
  }
  return found;
}

const Variant* find_variant(const VariantTable& table, Op op, core::DeviceKind device,
                            std::string_view name) {
  for (const Variant& variant : table) {
    if (variant.op == op && variant.device == device && variant.name == name) return &variant;
  }
  return nullptr;
}

std::string unavailable_reason(const Variant& variant, const core::DeviceInfo& device,
                               core::Precision precision, const OpShape* shape) {
  if (variant.device != device.kind) return fmt::format("runs on {} only", core::to_string(variant.device));
  if (const std::string reason = wrong_compute_capability(variant, device, precision); !reason.empty())
    return reason;
  const std::vector<core::Precision> precisions = precisions_of(variant);
  if (std::find(precisions.begin(), precisions.end(), precision) == precisions.end()) {
    std::string has;
    for (const auto p : precisions) {
      if (p == core::Precision::fp64) continue;
      has += has.empty() ? "" : ", ";
      has += core::to_string(p);
    }
    return fmt::format("not in {}; in {}", core::to_string(precision), has);
  }
  return shape && variant.refuses ? variant.refuses(*shape) : std::string();
}

std::size_t workspace_bytes(const Variant& variant, const OpShape& shape, core::Precision precision) {
  return variant.workspace_bytes ? variant.workspace_bytes(shape, precision) : 0;
}

namespace {

bool is_covered(const Variant& variant, const OpSet& covered, const Link& link) {
  return link.op == variant.op || covered.has(link.op);
}

bool is_written_and_read(const std::vector<std::pair<CallOperand, std::size_t>>& uses, Name name) {
  bool written = false;
  bool read = false;
  for (const auto& [operand, op] : uses) {
    if (operand.name != name) continue;
    (operand.access == Access::read ? read : written) = true;
  }
  return written && read;
}

bool is_stored(const Variant& variant, Name name) {
  const auto has = [&](const std::vector<Name>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return has(variant.stored) || has(variant.stored_for_others);
}

bool is_omitted(const Variant& variant, Name name) {
  return std::find(variant.omitted.begin(), variant.omitted.end(), name) != variant.omitted.end();
}

const Format* format_of(const Variant& variant, Name name) {
  for (const PrivateOperand& each : variant.formats) {
    if (each.name == name) return each.format;
  }
  return nullptr;
}

/// The operand as the variant stores it.
CallOperand stored(const Variant& variant, CallOperand operand) {
  operand.format = format_of(variant, operand.name);
  if (operand.format != nullptr) operand.elements = operand.format->elements(operand.elements);
  return operand;
}

/// The operands of the variant's own op by itself, which may share memory as the contract says if the variant can and
/// they are stored as it says.
std::vector<CallOperand> own_operands(const Variant& variant, const OpShape& shape) {
  std::vector<CallOperand> operands;
  const auto own = contract(variant.op).operands;
  for (const Operand& each : own) {
    operands.push_back(stored(variant, {each.name, each.access, each.role, each.elements(shape)}));
    if (each.in_place_of < 0 || !variant.in_place) continue;
    const Name source = own[static_cast<std::size_t>(each.in_place_of)].name;
    const bool alike = operands.back().format == nullptr && format_of(variant, source) == nullptr;
    if (alike) operands.back().in_place_of = source;
  }
  return operands;
}

}  // namespace

std::vector<CoveredOp> covered_ops(const Variant& variant, const OpShape& shape) {
  if (variant.chain.empty()) return {{nullptr, variant.op, shape}};
  const OpShape own = by_itself(shape);
  std::vector<CoveredOp> ops;
  for (const Link& link : variant.chain) {
    if (!is_covered(variant, shape.covered, link)) continue;
    ops.push_back({&link, link.op, link.shape == nullptr ? own : link.shape(shape)});
  }
  return ops;
}

Name call_name(const Variant& variant, const OpSet& covered, const Link* link, Name its) {
  Name name = its;
  if (link != nullptr) {
    for (const Rename& rename : link->renames) {
      if (rename.its == its) name = rename.ours;
    }
  }
  // The links are in the order of the data, so a name is replaced towards the end before it and towards the
  // start after it.
  for (std::size_t i = 0; i < variant.chain.size(); ++i) {
    for (const Link& other : variant.chain) {
      if (other.without && other.without->its == name && !is_covered(variant, covered, other)) {
        name = other.without->ours;
      }
    }
  }
  return name;
}

std::vector<CallOperand> operands_of(const Variant& variant, const OpShape& shape) {
  const std::vector<CoveredOp> ops = covered_ops(variant, shape);
  if (ops.size() == 1) return own_operands(variant, ops.front().shape);
  std::vector<std::pair<CallOperand, std::size_t>> uses;  // with the op that has it
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (const Operand& each : contract(ops[i].op).operands) {
      const Name name = call_name(variant, shape.covered, ops[i].link, each.name);
      uses.push_back({{name, each.access, each.role, each.elements(ops[i].shape)}, i});
    }
  }
  std::vector<CallOperand> operands;
  for (auto& [operand, op] : uses) {
    const Name name = operand.name;
    const bool known =
        std::any_of(operands.begin(), operands.end(), [&](const auto& o) { return o.name == name; });
    const bool passes = is_written_and_read(uses, name) && !is_stored(variant, name);
    if (known || passes || is_omitted(variant, name)) continue;
    operands.push_back(stored(variant, operand));
  }
  return operands;
}

bool needs_others(const Variant& variant) {
  return std::any_of(variant.chain.begin(), variant.chain.end(),
                     [&](const Link& link) { return !link.optional && link.op != variant.op; });
}

std::vector<OpSet> coverings(const Variant& variant) {
  OpSet required;
  std::vector<const Link*> optional;
  for (const Link& link : variant.chain) {
    if (link.op == variant.op) continue;
    if (link.optional) {
      optional.push_back(&link);
    } else {
      required.add(link.op);
    }
  }
  std::vector<OpSet> sets;
  for (unsigned choice = 0; choice < 1u << optional.size(); ++choice) {
    OpSet set = required;
    bool complete = true;
    for (std::size_t i = 0; i < optional.size(); ++i) {
      if ((choice >> i & 1) != 0) set.add(optional[i]->op);
    }
    for (std::size_t i = 0; i < optional.size(); ++i) {
      if ((choice >> i & 1) == 0) continue;
      if (!set.has_all(optional[i]->needs) || set.has_any(optional[i]->excludes)) complete = false;
    }
    if (complete) sets.push_back(set);
  }
  std::stable_sort(sets.begin(), sets.end(),
                   [](const OpSet& a, const OpSet& b) { return a.size() < b.size(); });
  return sets;
}

OpSet coverable_ops(const Variant& variant) {
  OpSet all;
  for (const Link& link : variant.chain) {
    if (link.op != variant.op) all.add(link.op);
  }
  return all;
}

std::size_t bytes_of(const CallOperand& operand, core::Precision precision) {
  return static_cast<std::size_t>(operand.elements) * core::size_of(element_type(operand.role, precision));
}

double minimum_bytes(const Variant& variant, const OpShape& shape, core::Precision precision) {
  const auto touched = contract(variant.op).touched;
  double bytes = 0;
  for (const CallOperand& operand : operands_of(variant, touched == nullptr ? shape : touched(shape))) {
    const auto once = static_cast<double>(bytes_of(operand, precision));
    bytes += operand.access == Access::update ? 2 * once : once;
  }
  return bytes;
}

}  // namespace warpscope::ops
