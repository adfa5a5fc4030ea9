#include "gpu/settings/configuration.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::training {

const Value* Configuration::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

const std::string& Configuration::text(std::string_view name) const {
  const Value* const value = find(name);
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (text == nullptr) throw std::logic_error(fmt::format("the setting {} holds no text", name));
  return *text;
}

double Configuration::number(std::string_view name) const {
  const Value* const value = find(name);
  if (value != nullptr && std::holds_alternative<std::int64_t>(*value)) {
    return static_cast<double>(std::get<std::int64_t>(*value));
  }
  if (value != nullptr && std::holds_alternative<double>(*value)) return std::get<double>(*value);
  throw std::logic_error(fmt::format("the setting {} holds no number", name));
}

void Configuration::set(std::string_view name, Value value) {
  const std::string objection = check_value(setting(name), value);
  if (!objection.empty()) throw core::BadInput(fmt::format("{}{}", name, objection));
  values_.insert_or_assign(std::string(name), std::move(value));
}

void Configuration::put(const Setting& setting, Value value) {
  values_.insert_or_assign(setting.name, std::move(value));
}

void Configuration::erase(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) values_.erase(found);
}

bool Configuration::shares_name(const Configuration& other) const {
  return std::ranges::any_of(values_, [&](const auto& value) { return other.has(value.first); });
}

Configuration defaults() {
  Configuration standard;
  const TrainingSettings fields;
  for (const Setting& row : settings()) {
    if (row.standard != nullptr) continue;
    if (std::optional<Value> value = row.field.get(fields)) standard.put(row, std::move(*value));
  }
  return standard;
}

Configuration merge(const Configuration& base, const Configuration& over) {
  Configuration merged = base;
  for (const Setting& row : settings()) {
    if (const Value* const value = over.find(row.name)) merged.put(row, *value);
  }
  return merged;
}

Configuration resolve(const Configuration& given, const core::DeviceInfo* device) {
  Configuration known = merge(defaults(), given);
  for (const Setting& row : settings()) {
    if (known.has(row.name) || row.standard == nullptr) continue;
    if (std::optional<Value> value = row.standard(row, known, device)) known.put(row, std::move(*value));
  }
  return known;
}

void apply(const Configuration& given, TrainingSettings& base) {
  for (const Setting& row : settings()) {
    if (const Value* const value = given.find(row.name)) row.field.set(base, *value);
  }
}

void complete(TrainingSettings& fields, const core::DeviceInfo& device) {
  Configuration known = configuration_of(fields);
  for (const Setting& row : settings()) {
    if (known.has(row.name) || row.standard == nullptr) continue;
    const std::optional<Value> value = row.standard(row, known, &device);
    if (!value) continue;
    row.field.set(fields, *value);
    known.put(row, *value);
  }
}

Configuration configuration_of(const TrainingSettings& fields) {
  Configuration configuration;
  for (const Setting& row : settings()) {
    if (std::optional<Value> value = row.field.get(fields)) configuration.put(row, std::move(*value));
  }
  return configuration;
}

Configuration difference(const TrainingSettings& from, const TrainingSettings& of) {
  Configuration different;
  for (const Setting& row : settings()) {
    std::optional<Value> value = row.field.get(of);
    if (value && value != row.field.get(from)) different.put(row, std::move(*value));
  }
  return different;
}

Configuration values_of(const TrainingSettings& fields, const Configuration& names) {
  Configuration values;
  for (const Setting& row : settings()) {
    if (!names.has(row.name)) continue;
    if (std::optional<Value> value = row.field.get(fields)) values.put(row, std::move(*value));
  }
  return values;
}

TrainingSettings changed(const TrainingSettings& now, const Configuration& change) {
  TrainingSettings next = now;
  for (const Setting& row : settings()) {
    const Value* const given = change.find(row.name);
    if (given == nullptr) continue;
    if (row.changes != Changes::while_training) {
      throw core::BadInput(
          fmt::format("{} cannot change so while a training runs: it is set {}", label_of(row),
                      row.changes == Changes::by_select ? "with the variants" : "when a training starts"));
    }
    Value value = *given;
    if (const std::string objection = check_value(row, value); !objection.empty()) {
      throw core::BadInput(label_of(row) + objection);
    }
    row.field.set(next, value);
  }
  check(next);
  return next;
}

std::string describe_change(const Configuration& before, const Configuration& after) {
  std::vector<const Setting*> numbers;
  const bool other_rule = after.has("optimizer");
  if (other_rule) numbers = numbers_of(ops::parse_update_rule(after.text("optimizer")));
  std::string text;
  for (const Setting& row : settings()) {
    const Value *const from = before.find(row.name), *const to = after.find(row.name);
    if (from == nullptr || to == nullptr || *from == *to) continue;
    const bool of_rule = row.field.number == nullptr || std::ranges::find(numbers, &row) != numbers.end();
    if (other_rule && !of_rule) continue;
    text += fmt::format("{}{}: {} -> {}", text.empty() ? "" : "; ", label_of(row), shown(row, *from),
                        shown(row, *to));
  }
  return text;
}

}  // namespace warpscope::training
