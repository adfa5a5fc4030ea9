#include "gpu/runs/snapshot_json.h"

#include <array>
#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/messages/consistent.h"
#include "gpu/ops/shape_sizes.h"
#include "gpu/settings/configuration.h"

namespace warpscope::training {
namespace {

using nlohmann::json;

template <class T, class What>
concept Of = std::same_as<std::remove_const_t<T>, What>;

// Each list of fields is visited by the writer and by the reader, so that they cannot differ. What may be missing,
// since a table may have got its row after the run, has a third argument: what it is then.

void fields(auto& visit, Of<ops::OpShape> auto& shape) {
  ops::visit_sizes(shape, visit);
  visit("covered", shape.covered);
  ops::visit_parameters(shape, [&](ops::Parameter parameter, auto& value, auto standard) {
    visit(ops::row_of(parameter).name.data(), value, standard);
  });
}

void fields(auto& visit, Of<OpPlace> auto& place) {
  visit("op", place.op);
  visit("layer", place.layer);
}

void fields(auto& visit, Of<Control> auto& control) {
  visit("before", control.before);
  visit("now", control.now);
  visit("samples", control.samples);
}

void fields(auto& visit, Of<OpTiming> auto& timing) {
  visit("op", timing.op);
  visit("layer", timing.layer);
  visit("variant", timing.variant);
  visit("shape", timing.shape);
  visit("microseconds", timing.microseconds);
  visit("previous_microseconds", timing.previous_microseconds);
  visit("previous_variant", timing.previous_variant);
  visit("samples", timing.samples);
  visit("flops", timing.flops);
  visit("bytes", timing.bytes);
  visit("covered_by", timing.covered_by);
  visit("covers", timing.covers);
  visit("reason", timing.reason);
  visit("spread", timing.spread);
  visit("previous_spread", timing.previous_spread);
  visit("previous_samples", timing.previous_samples);
  visit("control", timing.control, Control{});
}

void fields(auto& visit, Of<plan::Selection> auto& selection) {
  visit("precision", selection.precision);
  visit("variants", selection.variants);
}

void fields(auto& visit, Of<LadderEntry> auto& entry) {
  visit("selection", entry.selection);
  visit("name", entry.name);
  visit("batch", entry.batch);
  visit("first_step", entry.first_step);
  visit("steps", entry.steps);
  visit("images_per_second", entry.images_per_second);
  visit("plan_bytes", entry.plan_bytes);
  visit("joules_per_image", entry.joules_per_image);
  visit("spread", entry.spread);
  visit("timed", entry.timed);
  visit("other_network", entry.other_network);
  visit("over_first", entry.over_first, Control{});
  visit("over_before", entry.over_before, Control{});
}

void fields(auto& visit, Of<core::DeviceInfo> auto& device) {
  visit("kind", device.kind);
  visit("index", device.index);
  visit("name", device.name);
  visit("compute_capability", device.compute_capability);
  visit("multiprocessors", device.multiprocessors);
  visit("memory_bytes", device.memory_bytes);
  visit("driver", device.driver);
}

void fields(auto& visit, Of<core::MemoryUse> auto& memory) {
  visit("free_bytes", memory.free_bytes);
  visit("total_bytes", memory.total_bytes);
  visit("allocated_bytes", memory.allocated_bytes);
}

void fields(auto& visit, Of<RankStep> auto& step) {
  visit("step", step.step);
  visit("start", step.start);
  visit("forward", step.forward);
  visit("backward", step.backward);
  visit("waiting", step.waiting);
  visit("moving", step.moving);
  visit("update", step.update);
  visit("beside", step.beside, 0.0);
}

void fields(auto& visit, Of<RankFigures> auto& rank) {
  visit("device", rank.device);
  visit("name", rank.name);
  visit("images", rank.images);
  visit("step_microseconds", rank.step_microseconds);
  visit("allreduce_microseconds", rank.allreduce_microseconds);
  visit("waiting_microseconds", rank.waiting_microseconds);
  visit("memory_bytes", rank.memory_bytes);
  visit("newest", rank.newest, RankStep());
  visit("clock_uncertainty", rank.clock_uncertainty, 0.0);
  visit("watts", rank.watts, 0.0);
  visit("megahertz", rank.megahertz, 0.0);
  visit("links", rank.links, std::vector<double>());
  visit("linked_by", rank.linked_by, std::string());
}

void fields(auto& visit, Of<Divergence> auto& divergence) {
  visit("id", divergence.id);
  visit("step", divergence.step);
  visit("text", divergence.text);
  visit("can_roll_back", divergence.can_roll_back);
  visit("back_step", divergence.back_step);
  visit("back_rate", divergence.back_rate);
}

void fields(auto& visit, Of<Evaluation> auto& evaluation) {
  visit("split", evaluation.split);
  visit("step", evaluation.step);
  visit("epoch", evaluation.epoch);
  visit("loss", evaluation.loss);
  visit("psnr", evaluation.psnr);
  visit("accuracy", evaluation.accuracy);
  visit("classes", evaluation.classes);
  visit("confusion", evaluation.confusion);
  visit("head", evaluation.head);
  visit("head_loss", evaluation.head_loss);
  visit("head_accuracy", evaluation.head_accuracy);
}

void fields(auto& visit, Of<MetricValues> auto& values) {
  for (const MetricRow& row : metrics()) {
    auto value = values[row.metric];
    visit(row.key.c_str(), value, std::numeric_limits<float>::quiet_NaN());
    if constexpr (requires { values[row.metric] = value; }) values[row.metric] = value;
  }
}

void fields(auto& visit, Of<Snapshot> auto& snapshot) {
  visit("state", snapshot.state);
  visit("notice", snapshot.notice);
  visit("notice_id", snapshot.notice_id);
  visit("failed_by_input", snapshot.failed_by_input);
  visit("generation", snapshot.generation);
  visit("step", snapshot.step);
  visit("steps_planned", snapshot.steps_planned);
  visit("epoch", snapshot.epoch);
  visit("seconds", snapshot.seconds);
  visit("images_per_second", snapshot.images_per_second);
  visit("settings", snapshot.settings);
  visit("last", snapshot.last);
  visit("last_test", snapshot.last_test);
  visit("skipped_steps", snapshot.skipped_steps);
  visit("model", snapshot.model);
  visit("classifies", snapshot.classifies);
  visit("total_epochs", snapshot.total_epochs);
  visit("parameters", snapshot.parameters);
  visit("selection", snapshot.selection);
  visit("device", snapshot.device);
  visit("memory", snapshot.memory);
  visit("plan_bytes", snapshot.plan_bytes);
  visit("timings", snapshot.timings);
  visit("step_microseconds", snapshot.step_microseconds);
  visit("ranks", snapshot.ranks, std::vector<RankFigures>());  // runs with one rank have none
  visit("awaited", snapshot.awaited, std::string());
  visit("ladder", snapshot.ladder);
  visit("data_name", snapshot.data_name);
  visit("data_notice", snapshot.data_notice);
  visit("evaluation", snapshot.evaluation);
  visit("trouble", snapshot.divergence);
  visit("checkpoint_step", snapshot.checkpoint_step);
  visit("train_images", snapshot.train_images);
  visit("validation_images", snapshot.validation_images);
  visit("test_images", snapshot.test_images);
  visit("test_views", snapshot.test_views);
  visit("next_evaluation", snapshot.next_evaluation);
}

// --- writing

struct Writer;
json encode(const auto& value);

template <class T>
json encode_all(const std::vector<T>& values) {
  json list = json::array();
  for (const T& value : values) list.push_back(encode(value));
  return list;
}

json encode_ops(const ops::OpSet& ops) {
  json list = json::array();
  for (const ops::OpContract& contract : ops::contracts()) {
    if (ops.has(contract.op)) list.push_back(contract.name);
  }
  return list;
}

json encode_variants(const std::map<ops::Op, std::string>& variants) {
  json object = json::object();
  for (const auto& [op, variant] : variants) object[std::string(ops::to_string(op))] = variant;
  return object;
}

struct Writer {
  json& object;
  void operator()(const char* key, const auto& value, const auto&... /*standard*/) {
    object[key] = encode(value);
  }
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsShared : std::false_type {};
template <class T>
struct IsShared<std::shared_ptr<T>> : std::true_type {};

json encode(const auto& value) {
  using T = std::remove_cvref_t<decltype(value)>;
  if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::same_as<T, TrainingSettings>) {
    return to_json(configuration_of(value));
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(to_string(value));
  } else if constexpr (IsVector<T>::value) {
    return encode_all(value);
  } else if constexpr (IsShared<T>::value || IsOptional<T>::value) {
    return value ? encode(*value) : json();
  } else if constexpr (std::same_as<T, ops::OpSet>) {
    return encode_ops(value);
  } else if constexpr (std::same_as<T, std::map<ops::Op, std::string>>) {
    return encode_variants(value);
  } else {
    json object = json::object();
    Writer writer{object};
    fields(writer, value);
    return object;
  }
}

// --- reading

[[noreturn]] void refuse(const char* key, const char* valid) {
  throw core::BadInput(fmt::format("'{}' of the status is {}", key, valid));
}

/// The value whose name is `text`.
template <class Enum>
Enum named(std::string_view text, std::initializer_list<Enum> all, const char* key) {
  for (const Enum one : all) {
    if (to_string(one) == text) return one;
  }
  refuse(key, "no name that this version knows");
}

void parse(const char* key, std::string_view text, TrainerState& state) {
  state = named(text,
                {TrainerState::preparing, TrainerState::paused, TrainerState::running, TrainerState::finished,
                 TrainerState::failed, TrainerState::interrupted},
                key);
}
void parse(const char* key, std::string_view text, Split& split) {
  split = named(text, {Split::validation, Split::test}, key);
}
void parse(const char* key, std::string_view text, core::DeviceKind& kind) {
  kind = named(text, {core::DeviceKind::cpu, core::DeviceKind::cuda}, key);
}
void parse(const char* /*key*/, std::string_view text, core::Precision& precision) {
  precision = core::parse_precision(text);
}
void parse(const char* /*key*/, std::string_view text, ops::Op& op) {
  op = ops::parse_op(text);
}
void parse(const char* /*key*/, std::string_view text, ops::UpdateRule& rule) {
  rule = ops::parse_update_rule(text);
}

template <class T>
void decode_number(const char* key, const json& value, T& number) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number() && !value.is_null()) refuse(key, "no number");
    number = value.is_null() ? std::numeric_limits<T>::quiet_NaN() : value.get<T>();
  } else {
    // Through the widest type, so that what does not fit is told from what does.
    const bool fits = value.is_number_unsigned() && std::in_range<T>(value.get<std::uint64_t>());
    const bool fits_below = value.is_number_integer() && !value.is_number_unsigned() &&
                            std::in_range<T>(value.get<std::int64_t>());
    if (!fits && !fits_below) refuse(key, "no whole number of the valid range");
    number = value.get<T>();
  }
}

void decode(const char* key, const json& value, auto& out);

struct Reader {
  const json& object;
  void operator()(const char* key, auto& value) {
    const auto found = object.find(key);
    if (found == object.end()) refuse(key, "missing");
    decode(key, *found, value);
  }
  void operator()(const char* key, auto& value, const auto& standard) {
    value = standard;
    if (object.contains(key)) (*this)(key, value);
  }
};

void decode_variants(const char* key, const json& value, std::map<ops::Op, std::string>& variants) {
  if (!value.is_object()) refuse(key, "no object");
  variants.clear();
  for (const auto& [name, variant] : value.items()) {
    if (!variant.is_string()) refuse(key, "no object of names");
    variants[ops::parse_op(name)] = variant.get<std::string>();
  }
}

template <class T>
void decode_all(const char* key, const json& value, std::vector<T>& list) {
  if (!value.is_array()) refuse(key, "no list");
  list.clear();
  for (const json& one : value) {
    T item{};
    decode(key, one, item);
    list.push_back(std::move(item));
  }
}

void decode_ops(const char* key, const json& value, ops::OpSet& ops) {
  std::vector<ops::Op> list;
  decode_all(key, value, list);
  ops = {};
  for (const ops::Op op : list) ops.add(op);
}

template <class T>
void decode_optional(const char* key, const json& value, std::optional<T>& optional) {
  optional.reset();
  if (!value.is_null()) decode(key, value, optional.emplace());
}

template <class T>
void decode_shared(const char* key, const json& value, std::shared_ptr<const T>& pointer) {
  if (value.is_null()) {
    pointer = nullptr;
    return;
  }
  auto made = std::make_shared<T>();
  decode(key, value, *made);
  pointer = std::move(made);
}

void decode(const char* key, const json& value, auto& out) {
  using T = std::remove_reference_t<decltype(out)>;
  if constexpr (std::same_as<T, bool>) {
    if (!value.is_boolean()) refuse(key, "neither true nor false");
    out = value.get<bool>();
  } else if constexpr (std::is_arithmetic_v<T>) {
    decode_number(key, value, out);
  } else if constexpr (std::same_as<T, TrainingSettings>) {
    if (!value.is_object()) refuse(key, "no object");
    apply(from_json(value, "the status"), out);
  } else if constexpr (std::same_as<T, std::string>) {
    if (!value.is_string()) refuse(key, "no text");
    out = value.get<std::string>();
  } else if constexpr (std::is_enum_v<T>) {
    if (!value.is_string()) refuse(key, "no name");
    parse(key, value.get_ref<const std::string&>(), out);
  } else if constexpr (IsVector<T>::value) {
    decode_all(key, value, out);
  } else if constexpr (IsShared<T>::value) {
    decode_shared(key, value, out);
  } else if constexpr (IsOptional<T>::value) {
    decode_optional(key, value, out);
  } else if constexpr (std::same_as<T, ops::OpSet>) {
    decode_ops(key, value, out);
  } else if constexpr (std::same_as<T, std::map<ops::Op, std::string>>) {
    decode_variants(key, value, out);
  } else {
    if (!value.is_object()) refuse(key, "no object");
    Reader reader{value};
    fields(reader, out);
  }
}

/// What readers of a snapshot rely on.
void check(const Snapshot& snapshot) {
  if (!snapshot.settings) refuse("settings", "missing");
  if (!snapshot.ladder) refuse("ladder", "missing");
  std::string_view why;
  for (const OpTiming& timing : snapshot.timings) {
    if (why.empty()) why = inconsistency_in(timing.shape);
  }
  if (why.empty() && snapshot.evaluation) why = inconsistency_in(*snapshot.evaluation);
  if (!why.empty()) throw core::BadInput(fmt::format("the status holds what cannot be: {}", why));
}

}  // namespace

void to_json(json& json, const Snapshot& snapshot) {
  json = encode(snapshot);
}

void from_json(const json& json, Snapshot& snapshot) {
  Snapshot read = snapshot;
  decode("status", json, read);
  check(read);
  snapshot = std::move(read);
}

}  // namespace warpscope::training
