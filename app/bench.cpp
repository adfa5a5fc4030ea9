// warpscope bench: every variant, in every precision, on the shapes of the model, and whole training steps.

#include "gpu/profiling/bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/bench_chart.h"
#include "app/bench_report.h"
#include "app/bench_shapes.h"
#include "app/choices.h"
#include "app/commands.h"
#include "app/interrupt.h"
#include "app/table.h"
#include "gpu/core/error.h"
#include "gpu/files/streams.h"
#include "gpu/models/model_file.h"
#include "gpu/plan/standard_batch.h"
#include "gpu/profiling/samples.h"
#include "gpu/settings/optimizer_settings.h"

namespace warpscope::app {
namespace {

struct BenchArguments {
  ChoiceArguments choices;
  std::string model = "autoencoder";  ///< a name or a file
  int batch = 0;                      ///< 0: as a training's
  std::string optimizer = "adam";     ///< rule of the whole steps
  std::string select;                 ///< against which whole steps of other choices are held; "": automatic
  std::optional<int> samples;         ///< launches of each variant and steps of each selection, at most
  bool variants = true;               ///< time them by themselves
  std::vector<std::string> shapes;    ///< instead of the model's
  std::optional<bool> steps;          ///< unset: unless ops, variants or shapes are chosen
  std::string json;                   ///< file, "-" for standard output instead of the tables, "" for none
  std::string csv;                    ///< file, "-" for standard output instead of the tables, "" for none
  std::string against;                ///< an earlier --json file, "" for none
};

using core::Precision;
using profiling::BenchCase;

void check(const BenchArguments& arguments) {
  if (arguments.batch < 0) throw core::BadInput("--batch: at least one image a step is needed");
  if (arguments.samples && *arguments.samples < 1) throw core::BadInput("--samples: at least one is needed");
  const bool chosen =
      !arguments.choices.ops.empty() || !arguments.choices.variant.empty() || !arguments.shapes.empty();
  if (!arguments.variants && (chosen || !arguments.steps.value_or(true))) {
    throw core::BadInput(
        "--no-variants leaves whole steps only: without --op, --variant, --shape and --no-steps");
  }
  check_output_file("--json", arguments.json);
  check_output_file("--csv", arguments.csv);
  if (arguments.json == "-" && arguments.csv == "-") {
    throw core::BadInput("--json and --csv cannot both go to standard output; name a file");
  }
}

/// The precisions that were asked for, else all in which the device can train.
std::vector<Precision> precisions_of(const Choices& chosen) {
  return chosen.precisions.empty() ? plan::training_precisions(chosen.device->info()) : chosen.precisions;
}

/// The model has no linear layer; the one that would follow its encoder in a classifier stands for them.
void add_linear_cases(const Choices& chosen, int batch, std::vector<BenchCase>& cases) {
  for (BenchCase& linear : cases_of_shape(fmt::format("{}x8192:128", batch), {})) {
    const bool wanted =
        chosen.ops.empty() || std::find(chosen.ops.begin(), chosen.ops.end(), linear.op) != chosen.ops.end();
    const bool there =
        std::any_of(cases.begin(), cases.end(), [&](const BenchCase& what) { return what.op == linear.op; });
    linear.layer = "classifier";
    if (wanted && !there) cases.push_back(std::move(linear));
  }
}

/// Of a step with augmentation: it gathers its images another way.
void add_augmented_cases(const Choices& chosen, const std::vector<BenchCase>& of_step,
                         std::vector<BenchCase>& cases) {
  const auto& ops = chosen.ops;
  if (!ops.empty() && std::find(ops.begin(), ops.end(), ops::Op::batch_augment) == ops.end()) return;
  for (BenchCase what : of_step) {
    if (what.op != ops::Op::batch_gather || !what.shape.covered.empty()) continue;
    what.op = ops::Op::batch_augment;
    const bool known = std::any_of(cases.begin(), cases.end(), [&](const BenchCase& other) {
      return other.op == what.op && other.shape == what.shape;
    });
    if (!known) cases.push_back(std::move(what));
  }
}

std::vector<BenchCase> cases_of(const BenchArguments& arguments, const Choices& chosen,
                                const models::Model& model, int batch,
                                const std::vector<Precision>& precisions) {
  std::vector<BenchCase> cases;
  for (const std::string& shape : arguments.shapes) {
    const auto more = cases_of_shape(shape, chosen.ops);
    cases.insert(cases.end(), more.begin(), more.end());
  }
  if (!arguments.shapes.empty()) return cases;
  for (const Precision precision : precisions) {
    const auto of_step = profiling::cases_of(model, batch, precision, chosen.device->info());
    for (const BenchCase& what : of_step) {
      const auto& ops = chosen.ops;
      if (!ops.empty() && std::find(ops.begin(), ops.end(), what.op) == ops.end()) continue;
      const bool known = std::any_of(cases.begin(), cases.end(), [&](const BenchCase& other) {
        return other.op == what.op && other.shape == what.shape;
      });
      if (!known) cases.push_back(what);
    }
    add_augmented_cases(chosen, of_step, cases);
  }
  add_linear_cases(chosen, batch, cases);
  std::stable_sort(cases.begin(), cases.end(),
                   [](const BenchCase& a, const BenchCase& b) { return a.op < b.op; });
  return cases;
}

/// Some operations are not part of a step in every precision.
void check_cases(const std::vector<BenchCase>& cases, const BenchArguments& arguments,
                 const models::Model& model) {
  if (!cases.empty() || arguments.choices.ops.empty()) return;
  throw core::BadInput(
      fmt::format("a step of {} has none of the operations {} in these precisions; choose others", model.name,
                  fmt::join(arguments.choices.ops, ", ")));
}

/// Whole steps say little about one op or shape, so they are then left out unless asked for.
bool wants_steps(const BenchArguments& arguments) {
  if (arguments.steps.has_value()) return *arguments.steps;
  return arguments.choices.ops.empty() && arguments.choices.variant.empty() && arguments.shapes.empty();
}

/// For each precision: whether something is faster than what is chosen now.
std::vector<profiling::Advice> advice_of(const Choices& chosen, const models::Model& model,
                                         const profiling::StepSetup& setup, const BenchReport& report,
                                         const BenchArguments& arguments,
                                         const profiling::Progress& progress) {
  profiling::ContestOptions options;
  options.turns = std::min(options.turns, arguments.samples.value_or(options.turns));
  std::vector<profiling::Advice> all;
  for (const Precision precision : precisions_of(chosen)) {
    const std::string text = fmt::format("whole steps in turns, {}", core::to_string(precision));
    const auto go_on = [&] { return progress(0, 1, text); };
    plan::Selection present{precision, {}};
    plan::apply(present, arguments.select, report.device);
    if (!go_on()) break;
    auto advice = profiling::advise(chosen.device, model, setup, present, report.steps, options, go_on);
    if (!advice) break;
    all.push_back(std::move(*advice));
  }
  return all;
}

void print(const BenchReport& report) {
  files::put(rows_text(report));
  files::put(steps_text(report));
  files::put(advice_text(report));
  files::put(missing_text(report));
  if (!report.complete) files::print("interrupted: the rest was not measured\n");
}

int measure(const BenchArguments& arguments) {
  check(arguments);
  const Choices chosen = choices(arguments.choices);
  const models::Model model = models::model_of(arguments.model);
  const int batch =
      arguments.batch > 0 ? arguments.batch : plan::standard_batch(chosen.device->info(), model);
  const auto precisions = precisions_of(chosen);
  plan::Selection present;
  plan::apply(present, arguments.select, chosen.device->info());  // refused before anything is measured
  std::vector<BenchCase> cases;
  if (arguments.variants) {
    cases = cases_of(arguments, chosen, model, batch, precisions);
    check_cases(cases, arguments, model);
  }
  const profiling::StepSetup setup{
      .batch = batch, .optimizer = training::defaults_of(ops::parse_update_rule(arguments.optimizer))};
  BenchReport before;
  if (!arguments.against.empty()) before = read_bench_report(arguments.against);
  const bool quiet = arguments.json == "-" || arguments.csv == "-";

  const std::atomic<bool>& interrupted = catch_interrupts();
  ProgressLine line;
  const auto progress = [&](int done, int total, const std::string& text) {
    line.show(done, total, text);
    return !interrupted;
  };
  BenchReport report;
  report.device = chosen.device->info();
  report.batch = batch;
  report.optimizer = arguments.optimizer;
  if (arguments.variants) {
    report.missing = missing_variants(chosen);
    report.missing_reason = core::cuda_unavailable_reason();
    report.peaks = profiling::measure_peaks(chosen.device);
    if (!quiet) files::put(peaks_text(report.device, report.peaks) + "\n");
    profiling::BenchOptions options;
    options.precisions = precisions;
    options.only = chosen.variant;
    options.samples = arguments.samples.value_or(options.samples);
    report.rows = profiling::bench(chosen.device, cases, report.peaks, options, progress);
  }
  if (wants_steps(arguments) && !interrupted) {
    report.in_step = calls_of_step(report.rows, model, batch, report.device);
    profiling::StepOptions steps;
    steps.precisions = precisions;
    steps.samples = arguments.samples.value_or(steps.samples);
    steps.energy = steps.samples >= profiling::kLeastSamples;
    report.steps = profiling::bench_steps(chosen.device, model, setup, report.rows, steps, progress);
    report.advice = advice_of(chosen, model, setup, report, arguments, progress);
  }
  line.clear();
  report.complete = !interrupted;
  if (!quiet) print(report);
  if (!quiet && !arguments.against.empty()) {
    files::put(changes_text(before, report, arguments.against));
  }
  write_output(arguments.json, to_json(report));
  write_output(arguments.csv, to_csv(report));
  return report.complete ? 0 : 1;
}

}  // namespace

Run bench(CLI::App& app) {
  const auto a = std::make_shared<BenchArguments>();
  add_choice_options(app, a->choices);
  app.add_option("--model", a->model, "A network's name, or a file that ends in .toml")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  app.add_option("--batch", a->batch, "Images a step (default: as train's)")->type_name("N");
  app.add_option("--optimizer", a->optimizer, "Rule by which whole steps change the weights")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--select", a->select,
                 "The choice of variants that whole steps of the others are timed against, as train takes it "
                 "(default: automatic)")
      ->type_name("OP=VARIANT,...");
  app.add_option("--samples", a->samples,
                 "Launches timed of each variant (default: 30) and steps of each selection (200), at most")
      ->type_name("N");
  app.add_option(
         "--shape", a->shapes,
         "Instead of the model's: NxHxWxC:KxRxS (convolutions; behind it :stride2, :dilationD, :valid), "
         "NxHxWxC:RxS (pooling), NxC:K (linear), NxHxWx1:C (one-hot), NxHxWx1:VxD (embeddings, V above 3), "
         "NxHxWxC (others)")
      ->type_name("SHAPE");
  // Read by hand: a flag bound to the option would turn "not given" into "no".
  app.add_flag_callback(
      "--steps", [a] { a->steps = true; },
      "Time whole training steps too (default: if no op, variant or shape is chosen)");
  app.add_flag_callback(
      "--no-steps", [a] { a->steps = false; }, "Do not");
  app.add_flag("!--no-variants", a->variants, "Time whole training steps only");
  app.add_option("--json", a->json, "Write the result as JSON; - for standard output")->type_name("FILE");
  app.add_option("--csv", a->csv, "Write the result as CSV; - for standard output")->type_name("FILE");
  app.add_option("--against", a->against, "Compare with an earlier --json file")->type_name("FILE");
  return [a] { return measure(*a); };
}

}  // namespace warpscope::app
