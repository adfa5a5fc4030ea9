// warpscope bench: every variant, in every precision, on the shapes of the model, and whole training steps.

#include "gpu/profiling/bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/bench_chart.h"
#include "app/bench_report.h"
#include "app/choices.h"
#include "app/commands.h"
#include "app/interrupt.h"
#include "app/table.h"
#include "gpu/core/error.h"
#include "gpu/files/streams.h"
#include "gpu/models/layer.h"
#include "gpu/models/model_file.h"
#include "gpu/ops/symbols.h"
#include "gpu/plan/model_figures.h"
#include "gpu/profiling/samples.h"
#include "gpu/settings/optimizer_settings.h"

namespace warpscope::app {
namespace {

using core::Precision;
using ops::Op;
using profiling::BenchCase;

// Shapes that a person types.

constexpr std::int64_t kMostElements = std::int64_t{1} << 34;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw core::BadInput(
      fmt::format("--shape '{}': {}; valid: NxHxWxC:KxRxS (convolutions; behind it :stride2, :dilationD, "
                  ":valid), NxHxWxC:RxS "
                  "(pooling), NxC:K (linear layers), NxHxWx1:C (one-hot characters), NxHxWx1:VxD (embeddings "
                  "of more than 3 rows), "
                  "NxHxWxC (others; pooling: 2x2)",
                  text, why));
}

/// "64x16x3": positive numbers; nothing for "".
std::vector<int> numbers_of(const std::string& part, const std::string& text) {
  std::vector<int> numbers;
  const char* at = part.data();
  const char* const end = at + part.size();
  while (at != end) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 1) refuse(text, "not a list of positive numbers");
    numbers.push_back(number);
    at = next;
    if (at == end) break;
    if (*at != 'x' || ++at == end) refuse(text, "numbers are separated by x");
  }
  return numbers;
}

/// The parts between colons.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', begin)) {
    parts.push_back(text.substr(begin, colon - begin));
    begin = colon + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// The largest that layers may have.
int most_of(std::string_view field) {
  for (const models::LayerField& each : models::row_of(models::LayerKind::conv2d).fields) {
    if (each.key == field) return static_cast<int>(each.most);
  }
  throw std::logic_error("convolutions have no such field");
}

/// "stride2", "dilation3" and "valid" behind a convolution's kernel.
void read_convolution_word(const std::string& word, ops::OpShape& shape, const std::string& text) {
  if (word == "valid") {
    shape.valid = true;
    return;
  }
  for (const auto& [name, field] : {std::pair{std::string_view("stride"), &ops::OpShape::stride},
                                    std::pair{std::string_view("dilation"), &ops::OpShape::dilation}}) {
    if (!word.starts_with(name)) continue;
    const std::vector<int> numbers = numbers_of(word.substr(name.size()), text);
    const int most = most_of(name);
    if (numbers.size() != 1 || numbers[0] > most) {
      refuse(text, fmt::format("{} is a number from 1 to {}", name, most));
    }
    shape.*field = numbers[0];
    return;
  }
  refuse(text, fmt::format("'{}' says nothing of a convolution", word));
}

/// A shape as typed and as contracts describe it.
struct TypedShape {
  ops::OpShape shape;
  std::string described;
};

TypedShape parse(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text);
  const auto input = numbers_of(parts[0], text);
  const auto weights = numbers_of(parts.size() == 1 ? std::string() : parts[1], text);
  if (parts.size() > 2 && weights.size() != 3) refuse(text, "nothing more is said of what is no convolution");
  ops::OpShape shape;
  if (input.size() == 2 && weights.size() == 1) {
    shape.batch = input[0];
    shape.in_channels = input[1];
    shape.out_channels = weights[0];
    return {shape, fmt::format("{} -> {}", fmt::join(input, "x"), weights[0])};
  }
  if (input.size() != 4) refuse(text, "an image has four extents");
  shape.batch = input[0];
  shape.height = input[1];
  shape.width = input[2];
  shape.in_channels = shape.out_channels = input[3];
  if (weights.size() == 3) {
    shape.out_channels = weights[0];
    shape.kernel_height = weights[1];
    shape.kernel_width = weights[2];
    if (shape.kernel_height % 2 == 0 || shape.kernel_width % 2 == 0) refuse(text, "kernels have odd extents");
    for (std::size_t i = 2; i < parts.size(); ++i) read_convolution_word(parts[i], shape, text);
    return {shape, fmt::format("{} -> {}, {}x{}", fmt::join(input, "x"), weights[0], weights[1], weights[2])};
  }
  if (weights.size() == 1 && input[3] == 1) {
    shape.out_channels = weights[0];
    if (weights[0] > ops::kMostSymbols) refuse(text, "a byte tells at most 255 characters apart");
    return {shape, fmt::format("{} -> {}", fmt::join(input, "x"), weights[0])};
  }
  if (weights.size() == 2 && input[3] == 1 && weights[0] > 3) {
    shape.count = weights[0];
    shape.out_channels = weights[1];
    if (weights[0] > ops::kMostSymbols + 1) refuse(text, "an embedding of bytes has at most 256 rows");
    return {shape, fmt::format("{}, {}x{}", fmt::join(input, "x"), weights[0], weights[1])};
  }
  if (weights.size() == 2) {
    shape.kernel_height = weights[0];
    shape.kernel_width = weights[1];
    if (std::max(weights[0], weights[1]) > 3) refuse(text, "windows of pooling have extents of 1 to 3");
    if (weights[0] * weights[1] == 1) refuse(text, "a window of one pixel pools nothing");
    if (weights[0] == 2 && weights[1] == 2) refuse(text, "a window of 2x2 is what pooling has without :RxS");
    return {shape, fmt::format("{}, {}x{}", fmt::join(input, "x"), weights[0], weights[1])};
  }
  if (parts.size() > 1) refuse(text, "a kernel has three extents, a window two");
  return {shape, fmt::format("{}", fmt::join(input, "x"))};
}

/// The shape if it can be of this op: it belongs to a layer, and its contract describes shapes as typed. A window that
/// was not typed is one of 2x2.
std::optional<ops::OpShape> shape_for(const ops::OpContract& contract, const TypedShape& typed) {
  if (contract.scope != ops::Scope::layer) return std::nullopt;
  ops::OpShape shape = typed.shape;
  if (contract.describe(shape) == typed.described) return shape;
  shape.kernel_height = shape.kernel_width = 2;
  if (contract.describe(shape) == typed.described) return shape;
  return std::nullopt;
}

void check_size(const std::string& text, const ops::OpContract& contract, const ops::OpShape& shape) {
  for (const ops::Operand& operand : contract.operands) {
    const std::int64_t elements = operand.elements(shape);
    if (elements > kMostElements) refuse(text, "an operand would have more than 2^34 elements");
    if (elements < 1)
      refuse(text, fmt::format("{} would have nothing to do on so few pixels", contract.name));
  }
}

/// The cases of "64x16x16x256:128x3x3" (the ops of a convolution), "64x8192:128" (those of a linear layer) or
/// "64x16x16x256" (the ops that work on images): of all ops whose contracts describe shapes so, or of those
/// in `ops` if it is not empty.
/// Throws core::BadInput.
std::vector<profiling::BenchCase> cases_of_shape(const std::string& text, const std::vector<Op>& ops) {
  const TypedShape typed = parse(text);
  std::vector<profiling::BenchCase> cases;
  for (const ops::OpContract& contract : ops::contracts()) {
    const std::optional<ops::OpShape> shape = shape_for(contract, typed);
    if (!shape) continue;
    if (!ops.empty() && std::ranges::find(ops, contract.op) == ops.end()) continue;
    check_size(text, contract, *shape);
    cases.push_back({contract.op, "", *shape});
  }
  if (cases.empty()) refuse(text, "none of the operations of --op takes a shape of this form");
  return cases;
}

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
  bool measure = false;               ///< which variants make whole steps faster, as train --measure does
  std::string json;                   ///< file, "-" for standard output instead of the tables, "" for none
  std::string csv;                    ///< file, "-" for standard output instead of the tables, "" for none
  std::string against;                ///< an earlier --json file, "" for none
};

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
  return chosen.precisions.empty() ? plan::training_precisions(chosen.context()) : chosen.precisions;
}

/// The model has no linear layer; the one that would follow its encoder in a classifier stands for them.
void add_linear_cases(const Choices& chosen, int batch, std::vector<BenchCase>& cases) {
  for (BenchCase& linear : cases_of_shape(fmt::format("{}x8192:128", batch), {})) {
    const bool wanted = chosen.ops.empty() || std::ranges::find(chosen.ops, linear.op) != chosen.ops.end();
    const bool there =
        std::ranges::any_of(cases, [&](const BenchCase& what) { return what.op == linear.op; });
    linear.layer = "classifier";
    if (wanted && !there) cases.push_back(std::move(linear));
  }
}

/// A step with augmentation gathers its images another way.
void add_augmented_cases(const Choices& chosen, const std::vector<BenchCase>& of_step,
                         std::vector<BenchCase>& cases) {
  const auto& ops = chosen.ops;
  if (!ops.empty() && std::ranges::find(ops, ops::Op::batch_augment) == ops.end()) return;
  for (BenchCase what : of_step) {
    if (what.op != ops::Op::batch_gather || !what.shape.covered.empty()) continue;
    what.op = ops::Op::batch_augment;
    const bool known = std::ranges::any_of(
        cases, [&](const BenchCase& other) { return other.op == what.op && other.shape == what.shape; });
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
    const auto of_step = profiling::cases_of(model, batch, precision, chosen.context());
    for (const BenchCase& what : of_step) {
      const auto& ops = chosen.ops;
      if (!ops.empty() && std::ranges::find(ops, what.op) == ops.end()) continue;
      const bool known = std::ranges::any_of(
          cases, [&](const BenchCase& other) { return other.op == what.op && other.shape == what.shape; });
      if (!known) cases.push_back(what);
    }
    add_augmented_cases(chosen, of_step, cases);
  }
  add_linear_cases(chosen, batch, cases);
  std::ranges::stable_sort(cases, [](const BenchCase& a, const BenchCase& b) { return a.op < b.op; });
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
    plan::apply(present, arguments.select, chosen.context());
    if (!go_on()) break;
    auto advice = profiling::advise(chosen.context(), model, setup, present, report.steps, options, go_on);
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

/// What is measured, once nothing of the arguments can be refused any more.
struct Measurement {
  const BenchArguments& arguments;
  const Choices& chosen;
  const models::Model& model;
  profiling::StepSetup setup;
  std::vector<Precision> precisions;
};

void time_variants(const Measurement& what, const std::vector<BenchCase>& cases,
                   const profiling::Progress& progress, bool quiet, BenchReport& report) {
  report.missing = missing_variants(what.chosen);
  report.missing_reason = core::cuda_unavailable_reason();
  report.peaks = profiling::measure_peaks(what.chosen.device);
  if (!quiet) files::put(peaks_text(report.device, report.peaks) + "\n");
  profiling::BenchOptions options;
  options.precisions = what.precisions;
  options.only = what.chosen.variant;
  options.samples = what.arguments.samples.value_or(options.samples);
  report.rows = profiling::bench(what.chosen.context(), cases, report.peaks, options, progress);
}

void time_steps(const Measurement& what, const profiling::Progress& progress, BenchReport& report) {
  report.in_step = calls_of_step(report.rows, what.model, report.batch, report.device);
  profiling::StepOptions steps;
  steps.precisions = what.precisions;
  steps.samples = what.arguments.samples.value_or(steps.samples);
  steps.energy = steps.samples >= profiling::kLeastSamples;
  report.steps =
      profiling::bench_steps(what.chosen.context(), what.model, what.setup, report.rows, steps, progress);
  report.advice = advice_of(what.chosen, what.model, what.setup, report, what.arguments, progress);
}

int measure(const BenchArguments& arguments) {
  check(arguments);
  const Choices chosen = choices(arguments.choices);
  const models::Model model = models::model_of(arguments.model);
  const int batch =
      arguments.batch > 0 ? arguments.batch : plan::standard_batch(chosen.device->info(), model);
  const Measurement what{
      arguments,
      chosen,
      model,
      {.batch = batch, .optimizer = training::defaults_of(ops::parse_update_rule(arguments.optimizer))},
      precisions_of(chosen)};
  plan::Selection present;
  plan::apply(present, arguments.select, chosen.context());  // refused before anything is measured
  std::vector<BenchCase> cases;
  if (arguments.variants) {
    cases = cases_of(arguments, chosen, model, batch, what.precisions);
    check_cases(cases, arguments, model);
  }
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
  if (arguments.variants) time_variants(what, cases, progress, quiet, report);
  if (wants_steps(arguments) && !interrupted) time_steps(what, progress, report);
  std::string measured;
  if (wants_steps(arguments) && !interrupted)
    measured = measured_text(chosen.context(), model, what.setup, what.precisions, arguments.measure);
  line.clear();
  report.complete = !interrupted;
  if (!quiet) {
    print(report);
    files::put(measured);
    if (!arguments.against.empty()) files::put(changes_text(before, report, arguments.against));
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
  app.add_flag(
      "--measure", a->measure,
      "With whole steps: measure as train --measure does which variants make them faster, and keep it");
  app.add_option("--json", a->json, "Write the result as JSON; - for standard output")->type_name("FILE");
  app.add_option("--csv", a->csv, "Write the result as CSV; - for standard output")->type_name("FILE");
  app.add_option("--against", a->against, "Compare with an earlier --json file")->type_name("FILE");
  return [a] { return measure(*a); };
}

}  // namespace warpscope::app
