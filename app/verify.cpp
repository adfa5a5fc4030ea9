// warpscope verify: every variant, in every precision, against the double-precision reference.

#include "gpu/verify/verify.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/choices.h"
#include "app/commands.h"
#include "app/interrupt.h"
#include "app/options.h"
#include "app/table.h"
#include "gpu/core/error.h"
#include "gpu/core/phases.h"
#include "gpu/files/file.h"
#include "gpu/files/format.h"
#include "gpu/files/streams.h"
#include "gpu/files/text.h"
#include "gpu/plan/selection.h"

namespace warpscope::app {
namespace {

using nlohmann::ordered_json;
using verify::VerifyRow;

// What `warpscope verify` found, as JSON.

struct VerifyReport {
  core::DeviceInfo device;
  verify::VerifyOptions options;
  std::vector<verify::VerifyRow> rows;
  std::vector<const ops::Variant*> missing;  ///< variants for which there is no device
  std::string missing_reason;
  double seconds = 0;
  bool complete = true;  ///< not interrupted

  int failed() const {
    return static_cast<int>(
        std::ranges::count_if(rows, [](const auto& row) { return !row.failure.empty(); }));
  }
};

ordered_json row_json(const verify::VerifyRow& row) {
  ordered_json json;
  json["op"] = row.network ? "network" : std::string(ops::to_string(row.op));
  json["variant"] = row.variant;
  json["precision"] = core::to_string(row.precision);
  if (!row.skipped.empty()) {
    json["skipped"] = row.skipped;
    return json;
  }
  if (row.sets > 0) {
    json["covers"] = row.covers;
    json["sets"] = row.sets;
  }
  json["checked"] = row.checked;
  json["refused"] = row.refused;
  json["worst_error"] = row.worst_error;
  json["tolerance"] = row.tolerance;
  json["terms"] = row.terms;
  json["derivation"] = row.derivation;
  json["declared_deterministic"] = row.declared_deterministic;
  json["same_bits"] = row.same_bits;
  json["workspace_bytes"] = row.workspace;
  json["failure"] = row.failure;
  return json;
}

/// One object: device, seed, rows, and the variants without a device. Ends with a newline.
std::string to_json(const VerifyReport& report) {
  ordered_json json;
  json[files::kFormat] = files::kVerifyFormat.number;
  describe_device(report.device, json);
  json["seed"] = report.options.seed;
  json["random_shapes"] = report.options.shapes;
  json["seconds"] = report.seconds;
  json["complete"] = report.complete;
  json["failed"] = report.failed();
  json["rows"] = ordered_json::array();
  for (const verify::VerifyRow& row : report.rows) json["rows"].push_back(row_json(row));
  describe_missing(report.missing, report.missing_reason, json);
  return json.dump(2) + "\n";
}

struct VerifyArguments {
  ChoiceArguments choices;
  int shapes = 8;
  std::uint64_t seed = 1;
  bool libraries = true;
  std::string json;  ///< file, "-" for standard output instead of the table, "" for none
};

std::string deterministic_text(const VerifyRow& row) {
  if (row.variant == verify::kFiniteDifferences) return "-";
  if (row.declared_deterministic) return row.same_bits ? "yes" : "yes, but other bits";
  return row.same_bits ? "no; same bits here" : "no";
}

void add_row(Table& table, const VerifyRow& row) {
  const std::string op = row.network ? "whole network" : std::string(ops::to_string(row.op));
  const std::string precision(core::to_string(row.precision));
  if (!row.skipped.empty()) {
    table.add({op, row.variant, precision, row.skipped}, Tone::dim);
    return;
  }
  const bool failed = !row.failure.empty();
  table.add({op, verify::variant_text(row), precision, fmt::format("{}", row.checked),
             fmt::format("{}", row.refused), fmt::format("{:.2e}", row.worst_error),
             fmt::format("{:.2e}", row.tolerance), row.derivation, deterministic_text(row),
             bytes_text(static_cast<double>(row.workspace)), failed ? "FAILED" : "ok"},
            failed ? Tone::bad : Tone::plain);
}

Table table_of(const VerifyReport& report) {
  Table table({{"operation", Align::left},
               {"variant", Align::left},
               {"precision", Align::left},
               {"shapes"},
               {"refused"},
               {"worst error"},
               {"tolerance"},
               {"of", Align::left},
               {"deterministic", Align::left},
               {"workspace"},
               {"verdict", Align::left}});
  for (const VerifyRow& row : report.rows) add_row(table, row);
  for (const ops::Variant* variant : report.missing) {
    table.add({std::string(ops::to_string(variant->op)), variant->name, precision_names(*variant),
               report.missing_reason},
              Tone::dim);
  }
  return table;
}

std::string summary_of(const VerifyReport& report) {
  int checked = 0;
  int skipped = static_cast<int>(report.missing.size());
  int shapes = 0;
  for (const VerifyRow& row : report.rows) {
    row.skipped.empty() ? ++checked : ++skipped;
    shapes += row.checked;
  }
  return fmt::format("{}: {} checked on {}, {} failed, {} not run here, in {:.1f} s{}", report.device.name,
                     checked, files::counted(shapes, "shape"), report.failed(), skipped, report.seconds,
                     report.complete ? "" : "; interrupted");
}

void print(const VerifyReport& report) {
  files::put(table_of(report).text() + "\n");
  files::print(
      "Error and tolerance: ||out - ref|| / ||ref|| of the worst shape; n is the length of the sum, u = "
      "2^-24 the unit "
      "roundoff of FP32,\nv that of the precision: 2^-11 for tf32 and fp16, 2^-8 for bf16.\n\n");
  for (const VerifyRow& row : report.rows) {
    if (!row.failure.empty()) files::put(toned(files::sayable(row.failure), Tone::bad) + "\n");
  }
  files::print("{}\n", summary_of(report));
}

int prove(const VerifyArguments& arguments) {
  if (arguments.shapes < 0) throw core::BadInput("--shapes: the number of shapes is negative");
  check_output_file("--json", arguments.json);
  const Choices chosen =
      choices(arguments.choices, {verify::kFiniteDifferences, std::string(plan::kAutomatic)});
  verify::VerifyOptions options;
  options.seed = arguments.seed;
  options.shapes = arguments.shapes;
  options.precisions = chosen.precisions;
  options.ops = chosen.ops;
  options.only = chosen.variant;
  options.libraries = arguments.libraries;

  VerifyReport report;
  report.device = chosen.device->info();
  report.options = options;
  report.missing = missing_variants(chosen);
  report.missing_reason = core::cuda_unavailable_reason();
  const auto start = core::Clock::now();
  const std::atomic<bool>& interrupted = catch_interrupts();
  {
    ProgressLine line;
    report.rows =
        verify::verify(chosen.context(), options, [&](int done, int total, const std::string& text) {
          line.show(done, total, text);
          return !interrupted;
        });
  }
  report.complete = !interrupted;
  report.seconds = core::seconds_since(start);
  if (arguments.json != "-") print(report);
  write_output(arguments.json, to_json(report));
  if (report.failed() > 0) {
    files::warn(fmt::format("{} of {} failed", report.failed(),
                            files::counted(static_cast<std::int64_t>(report.rows.size()), "check")));
  }
  return report.failed() > 0 || !report.complete ? 1 : 0;
}

}  // namespace

Run verify(CLI::App& app) {
  const auto a = std::make_shared<VerifyArguments>();
  add_choice_options(app, a->choices);
  app.add_option("--shapes", a->shapes, "Random shapes beside the chosen ones")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seed", a->seed, "Seed of shapes and numbers")
      ->capture_default_str()
      ->check(refuse_negative);
  app.add_flag("!--no-libraries", a->libraries, "Leave out cuDNN and cuBLASLt");
  app.add_option("--json", a->json, "Write the result as JSON; - for standard output")->type_name("FILE");
  return [a] { return prove(*a); };
}

}  // namespace warpscope::app
