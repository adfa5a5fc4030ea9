#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <type_traits>

#include <fmt/format.h>

#include "app/bench_report.h"
#include "app/choices.h"
#include "gpu/core/error.h"
#include "gpu/files/format.h"
#include "gpu/files/read_json.h"
#include "gpu/ops/shape_sizes.h"

namespace warpscope::app {
namespace {

using nlohmann::ordered_json;
using profiling::BenchRow;
using profiling::StepRow;

std::vector<std::string_view> names_of(const ops::OpSet& ops) {
  std::vector<std::string_view> names;
  for (const ops::OpContract& contract : ops::contracts()) {
    if (ops.has(contract.op)) names.emplace_back(contract.name);
  }
  return names;
}

/// What a row has that was timed, in the order of the file's columns.
template <class Row, class Visit>
void visit_figures(Row& row, const Visit& visit) {
  visit("rank", row.rank);
  visit("samples", row.samples);
  visit("median_us", row.median);
  visit("p10_us", row.p10);
  visit("p90_us", row.p90);
  visit("floor_us", row.floor);
  visit("flops", row.flops);
  visit("least_flops", row.least_flops);
  visit("bytes", row.bytes);
  visit("launches", row.launches);
  visit("workspace_bytes", row.workspace);
  visit("registers", row.resources.registers);
  visit("shared_bytes", row.resources.shared_bytes);
  visit("occupancy", row.resources.occupancy);
}

auto writer_to(ordered_json& json) {
  return [&json](const char* key, const auto& value) { json[key] = value; };
}

auto reader_of(const ordered_json& json) {
  return [&json](const char* key, auto& value) { json.at(key).get_to(value); };
}

ordered_json shape_json(const ops::OpShape& s) {
  ordered_json json;
  ops::visit_sizes(s, writer_to(json));
  json["covered"] = names_of(s.covered);
  ops::visit_parameters(s, [&](ops::Parameter parameter, const auto& value, auto) {
    if constexpr (std::is_same_v<const ops::UpdateRule&, decltype(value)>) {
      json[ops::row_of(parameter).name] = ops::to_string(value);
    } else {
      json[ops::row_of(parameter).name] = value;
    }
  });
  return json;
}

void read(const ordered_json& json, const ops::ParameterRow& /*row*/, ops::UpdateRule& rule) {
  rule = ops::parse_update_rule(json.get<std::string>());
}

template <class T>
void read(const ordered_json& json, const ops::ParameterRow& row, T& value) {
  const double number = std::is_same_v<T, bool> ? json.get<bool>() : json.get<double>();
  if (!(number >= row.least && number <= row.most)) {
    throw core::BadInput(
        fmt::format("{} is {}, but it is from {} to {}", row.name, number, row.least, row.most));
  }
  value = static_cast<T>(number);
}

ops::OpShape shape_from(const ordered_json& json) {
  ops::OpShape s;
  ops::visit_sizes(s, reader_of(json));
  for (const std::string name : json.at("covered")) s.covered.add(ops::parse_op(name));
  ops::visit_parameters(s, [&](ops::Parameter parameter, auto& value, auto) {
    const ops::ParameterRow& row = ops::row_of(parameter);
    read(json.at(std::string(row.name)), row, value);
  });
  return s;
}

profiling::BenchCase case_from(const ordered_json& json) {
  return {ops::parse_op(json.at("op").get<std::string>()), json.at("layer"), shape_from(json.at("shape"))};
}

ordered_json row_json(const BenchRow& row) {
  ordered_json json{{"op", ops::to_string(row.what.op)},
                    {"layer", row.what.layer},
                    {"shape", shape_json(row.what.shape)},
                    {"precision", core::to_string(row.precision)},
                    {"variant", row.variant},
                    {"library", row.library}};
  if (row.sum) json["sum"] = true;
  if (!row.skipped.empty()) {
    json["skipped"] = row.skipped;
    return json;
  }
  visit_figures(row, writer_to(json));
  return json;
}

BenchRow row_from(const ordered_json& json) {
  BenchRow row;
  row.what = case_from(json);
  row.precision = core::parse_precision(json.at("precision").get<std::string>());
  row.variant = json.at("variant");
  row.library = json.at("library");
  row.sum = json.value("sum", false);
  row.skipped = json.value("skipped", "");
  if (!row.skipped.empty()) return row;
  visit_figures(row, reader_of(json));
  return row;
}

ordered_json step_json(const StepRow& row) {
  ordered_json json{{"name", row.name},
                    {"precision", core::to_string(row.selection.precision)},
                    {"batch", row.batch},
                    {"optimizer", ops::to_string(row.rule)}};
  if (!row.skipped.empty()) {
    json["skipped"] = row.skipped;
    return json;
  }
  json["selection"] = plan::to_string(row.selection);
  json["median_us"] = row.median;
  json["p10_us"] = row.p10;
  json["p90_us"] = row.p90;
  json["images_per_second"] = row.images_per_second;
  json["plan_bytes"] = row.peak_bytes;
  json["joules"] = row.joules < 0 ? ordered_json() : ordered_json(row.joules);
  return json;
}

StepRow step_from(const ordered_json& json) {
  StepRow row;
  row.name = json.at("name");
  row.selection.precision = core::parse_precision(json.at("precision").get<std::string>());
  row.batch = json.at("batch");
  row.rule = ops::parse_update_rule(json.at("optimizer").get<std::string>());
  row.skipped = json.value("skipped", "");
  if (!row.skipped.empty()) return row;
  row.median = json.at("median_us");
  row.p10 = json.at("p10_us");
  row.p90 = json.at("p90_us");
  row.images_per_second = json.at("images_per_second");
  row.peak_bytes = json.at("plan_bytes");
  row.joules = json.at("joules").is_null() ? -1.0 : json.at("joules").get<double>();
  return row;
}

const char* to_string(profiling::Outcome outcome) {
  constexpr std::array kNames{"faster", "no faster", "disturbed"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

ordered_json advice_json(const profiling::Advice& advice) {
  ordered_json json{{"precision", core::to_string(advice.present.precision)},
                    {"present", plan::to_string(advice.present)}};
  if (!advice.failure.empty()) {
    json["failure"] = advice.failure;
    return json;
  }
  const auto spread = [](const profiling::Spread& times) {
    return ordered_json{
        {"median_us", times.median}, {"p10_us", times.p10}, {"p90_us", times.p90}, {"turns", times.samples}};
  };
  json["other"] = {{"name", advice.name}, {"selection", plan::to_string(advice.best)}};
  json["outcome"] = to_string(advice.contest.outcome);
  json["present_step"] = spread(advice.contest.present);
  json["other_step"] = spread(advice.contest.other);
  json["ratio"] = advice.contest.ratio;
  json["waited_cores"] = advice.contest.waited;
  return json;
}

BenchReport report_from(const ordered_json& json) {
  BenchReport report;
  report.device.name = json.at("device").at("name");
  const auto id = json.at("device").at("id").get<std::string>();
  report.device.kind = id.starts_with("cuda") ? core::DeviceKind::cuda : core::DeviceKind::cpu;
  report.batch = json.at("batch");
  for (const ordered_json& row : json.at("rows")) {
    report.rows.push_back(row_from(row));
    report.in_step.push_back(row.value("in_step", std::vector<std::string>{}));
  }
  for (const ordered_json& row : json.at("steps")) report.steps.push_back(step_from(row));
  return report;
}

}  // namespace

std::string to_json(const BenchReport& report) {
  ordered_json json;
  json[files::kFormat] = files::kBenchFormat.number;
  describe_device(report.device, json);
  json["batch"] = report.batch;
  json["complete"] = report.complete;
  const profiling::Peaks& peaks = report.peaks;
  json["peaks"] = {{"fp32_flops", peaks.fp32},
                   {"tf32_flops", peaks.tf32},
                   {"fp16_flops", peaks.fp16},
                   {"bf16_flops", peaks.bf16},
                   {"bytes_per_second", peaks.bytes}};
  json["rows"] = ordered_json::array();
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    ordered_json& row = json["rows"].emplace_back(row_json(report.rows[i]));
    if (i < report.in_step.size() && !report.in_step[i].empty()) row["in_step"] = report.in_step[i];
  }
  json["steps"] = ordered_json::array();
  for (const StepRow& row : report.steps) json["steps"].push_back(step_json(row));
  json["in_turns"] = ordered_json::array();
  for (const profiling::Advice& advice : report.advice) json["in_turns"].push_back(advice_json(advice));
  describe_missing(report.missing, report.missing_reason, json);
  return json.dump(2) + "\n";
}

BenchReport read_bench_report(const std::string& file) {
  std::ifstream stream(file);
  if (!stream)
    throw core::BadInput(fmt::format("{} cannot be read; give a file that bench --json wrote", file));
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  try {
    const ordered_json json = ordered_json::parse(files::is_deep_json(text) ? "" : text);
    const auto number = json.at(files::kFormat).get<std::uint64_t>();
    const std::string why = files::refusal_of_number(number, files::kBenchFormat);
    if (!why.empty()) throw core::BadInput("it " + why);
    return report_from(json);
  } catch (const nlohmann::json::exception&) {
    throw core::BadInput(
        fmt::format("{} is not a file that this version's bench --json wrote; measure again", file));
  } catch (const core::BadInput& error) {
    throw core::BadInput(fmt::format("{}: {}", file, error.what()));
  }
}

std::string to_csv(const BenchReport& report) {
  std::string text = "op,layer,shape,precision,variant";
  const BenchRow none;
  visit_figures(none, [&](const char* key, const auto&) { text += fmt::format(",{}", key); });
  text += '\n';
  for (const BenchRow& row : report.rows) {
    if (!row.skipped.empty()) continue;
    text +=
        fmt::format("{},{},\"{}\",{},{}", ops::to_string(row.what.op), row.what.layer,
                    ops::describe(row.what.op, row.what.shape), core::to_string(row.precision), row.variant);
    visit_figures(row, [&](const char*, const auto& value) { text += fmt::format(",{}", value); });
    text += '\n';
  }
  for (const StepRow& row : report.steps) {
    if (!row.skipped.empty()) continue;
    fmt::format_to(std::back_inserter(text), "step,,\"batch {}\",{},{},,,{},{},{},,,,,,{},,,\n", row.batch,
                   core::to_string(row.selection.precision), row.name, row.median, row.p10, row.p90,
                   row.peak_bytes);
  }
  return text;
}

}  // namespace warpscope::app
