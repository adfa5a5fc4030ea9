// warpscope kernel: kernels of one's own, from a file to start from to proof and time.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/table.h"
#include "app/user_kernels.h"
#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"
#include "gpu/files/paths.h"
#include "gpu/files/sha256.h"
#include "gpu/files/streams.h"
#include "gpu/files/text.h"
#include "gpu/models/model.h"
#include "gpu/profiling/bench.h"
#include "gpu/user_kernels/examples.h"
#include "gpu/user_kernels/gpu_build.h"
#include "gpu/user_kernels/templates.h"
#include "gpu/verify/op_shapes.h"

namespace warpscope::app {
namespace {

struct KernelCommand {
  std::vector<std::string> named;  ///< of "new": the operation and the file, or with an example only the file
  std::string example;
  std::string file;
  std::vector<std::string> includes;
  std::string device = "auto";
  bool time = true;
  bool races = false;
};

/// What "new" is to write: the text, and a sentence about it.
std::pair<std::string, std::string> new_text(const KernelCommand& arguments, const std::string& file) {
  const user_kernels::Language language = user_kernels::language_of(file);
  if (!arguments.example.empty()) {
    const user_kernels::Example example = user_kernels::find_example(arguments.example, language);
    return {std::string(example.text), fmt::format("the example {} of {}", example.name, example.of)};
  }
  const user_kernels::Task task = user_kernels::parse_offered_task(arguments.named.front());
  return {user_kernels::template_of(task, language, std::filesystem::path(file).filename().string()),
          fmt::format("the simplest kernel of {}, right and slow", to_string(task))};
}

int write_new(const KernelCommand& arguments) {
  files::answer_is_in_files();
  const std::size_t wanted = arguments.example.empty() ? 2 : 1;
  if (arguments.named.size() != wanted)
    throw core::BadInput(wanted == 2 ? "an operation and a file are needed: warpscope kernel new OP FILE"
                                     : "only a file is needed beside --example");
  const std::string& name = arguments.named.back();
  const auto [text, what] = new_text(arguments, name);
  const std::filesystem::path file = name;
  if (std::error_code error; !std::filesystem::exists(file, error)) check_folder_of("FILE", file);
  user_kernels::write_new(file, text);
  files::print("{} is {}; warpscope kernel check {} proves and times it\n", name, what, name);
  return 0;
}

int list_examples() {
  Table table({{"name", Align::left}, {"of", Align::left}, {"what it adds", Align::left}});
  for (const user_kernels::Example& each : user_kernels::examples())
    table.add({std::string(each.file), std::string(each.of), std::string(each.adds)});
  files::put(table.text());
  return 0;
}

double work_of(ops::Op op, const ops::OpShape& shape) {
  double work = ops::contract(op).flops(shape);
  for (const ops::Operand& each : ops::contract(op).operands)
    work += static_cast<double>(each.elements(shape));
  return work;
}

/// The call that costs the most, as far as every variant is done with it soon: of the first built-in network that has
/// one, with as large a batch as goes, else of the op's tests.
ops::OpShape shape_to_time(const user_kernels::Task& task, const ops::Context& context) {
  const double most = context.device->kind() == core::DeviceKind::cuda ? 3e10 : 3e8;
  const auto costs_less = [&](const auto& a, const auto& b) {
    return work_of(task.op, a.shape) < work_of(task.op, b.shape);
  };
  const ops::OpSet covered = task.call_of({}).covered;
  for (const std::string& network : models::model_names()) {
    for (const int batch : {128, 32, 8, 2, 1}) {
      auto cases = profiling::cases_of(models::find_model(network), batch, core::Precision::fp32, context);
      std::erase_if(cases,
                    [&](const auto& each) { return each.op != task.op || !(each.shape.covered == covered); });
      if (cases.empty()) break;
      const auto largest = std::ranges::max_element(cases, costs_less);
      if (work_of(task.op, largest->shape) <= most) return largest->shape;
    }
  }
  std::vector<ops::OpShape> shapes = verify::calls_of(task.form(), verify::shapes_of(task.op), {});
  std::erase_if(shapes, [&](const ops::OpShape& shape) { return work_of(task.op, shape) > most; });
  return *std::ranges::max_element(shapes, {},
                                   [&](const ops::OpShape& shape) { return work_of(task.op, shape); });
}

/// The kernel beside the other variants in FP32, the fastest first; its own time in microseconds, 0 where it has none.
double print_comparison(const user_kernels::Kernel& kernel, const std::string& device) {
  const bool cpu = kernel.source.language == user_kernels::Language::cpp;
  const ops::Context context(core::open_device(cpu ? "cpu" : device),
                             ops::with_variant(*ops::built_in_variants(), user_kernels::loaded(kernel)));
  const profiling::BenchCase what{kernel.source.op, "", shape_to_time(kernel.source.task(), context)};
  profiling::BenchOptions options;
  options.precisions = {core::Precision::fp32};
  const std::atomic<bool>& stop_asked = catch_interrupts();
  std::vector<profiling::BenchRow> rows = profiling::bench(
      context, {what}, {}, options, [&](int, int, const std::string&) { return !stop_asked.load(); });
  std::erase_if(rows, [](const profiling::BenchRow& row) { return row.rank == 0; });
  std::ranges::sort(rows, {}, &profiling::BenchRow::median);
  Table table({{"variant", Align::left}, {"us"}, {"p10"}, {"p90"}, {"times yours"}});
  const auto own = std::ranges::find(rows, kernel.source.variant, &profiling::BenchRow::variant);
  for (const profiling::BenchRow& row : rows) {
    table.add({row.variant, figure(row.median), figure(row.p10), figure(row.p90),
               own == rows.end() ? "-" : figure(row.median / own->median)});
  }
  files::print("time      fp32, {}\n", ops::describe(what.op, what.shape));
  files::put(table.text());
  return own == rows.end() ? 0 : own->median;
}

/// What a GPU's build takes and is made of, a line each.
std::vector<std::string> build_lines(const user_kernels::Kernel& kernel, const std::string& device) {
  std::vector<std::string> lines;
  if (kernel.source.language != user_kernels::Language::cuda) return lines;
  const std::shared_ptr<core::Device> gpu = core::open_device(device);
  const std::unique_ptr<core::Stream> stream = gpu->make_stream();  // now there is a context
  lines.push_back("built     " + to_string(user_kernels::facts_of(kernel.compiled.fast)));
  if (const auto mix = user_kernels::mix_of(kernel.compiled.fast))
    lines.push_back("made of   " + user_kernels::to_string(*mix));
  return lines;
}

/// What the check before has told of a file, for comparison.
class Before {
 public:
  explicit Before(const user_kernels::Source& source)
      : note_(user_kernels::kernel_cache() /
              ("checked-" + sum_of(files::absolute_path(source.file).string()))),
        version_(sum_of(source.text)) {
    std::istringstream lines(files::read_small_file(note_, kMostBytes).value_or(""));
    std::string version;
    std::getline(lines, version);
    if (version == version_) return;
    for (std::string line; std::getline(lines, line);) before_.push_back(files::sayable(line));
  }

  /// What was told of another version, as it was.
  void print() const {
    if (before_.empty()) return;
    files::put("the version before:\n");
    for (const std::string& line : before_) files::print("  {}\n", line);
  }
  void note(const std::vector<std::string>& lines) const {
    files::write_file_atomically(note_, fmt::format("{}\n{}\n", version_, fmt::join(lines, "\n")));
  }

 private:
  static constexpr std::size_t kMostBytes = 4096;
  static std::string sum_of(const std::string& text) {
    files::Sha256 sum;
    sum.update(text.data(), text.size());
    return sum.finish().substr(0, 32);
  }

  std::filesystem::path note_;
  std::string version_;
  std::vector<std::string> before_;
};

user_kernels::Races races_in_kernel(const user_kernels::Kernel& kernel, const std::string& device) {
  user_kernels::TrialOptions trial;
  trial.device = core::open_device(device)->info().id();
  const std::atomic<bool>& stopped = catch_interrupts();
  trial.go_on = [&stopped] { return !stopped; };
  return user_kernels::racecheck(kernel.source, kernel.compiled, trial);
}

int check_kernel(const KernelCommand& arguments) {
  if (arguments.races && user_kernels::language_of(arguments.file) == user_kernels::Language::cpp)
    throw core::BadInput("--races: a kernel for the CPU has no shared memory");
  if (const std::string why = user_kernels::no_racecheck(); arguments.races && !why.empty())
    throw core::BadInput(fmt::format("--races: {}", why));
  const user_kernels::Kernel kernel = tried_kernel(arguments.file, arguments.includes, arguments.device);
  const user_kernels::Compilation& compiled = kernel.compiled;
  if (!compiled.errors.empty()) {
    for (const user_kernels::Diagnostic& each : compiled.errors)
      files::put(toned(user_kernels::to_string(each), Tone::bad) + "\n");
    files::warn(user_kernels::refusal(kernel));
    return 1;
  }
  files::print("compiled  {:.0f} ms{}\n", compiled.milliseconds, compiled.cached ? ", kept from before" : "");
  std::vector<std::string> told = build_lines(kernel, arguments.device);
  for (const std::string& line : told) files::print("{}\n", line);
  if (!kernel.verdict.proved) {
    files::warn(kernel.verdict.sentence);
    return 1;
  }
  files::print("proved    {:.0f} ms: {}\n", kernel.verdict.milliseconds, kernel.verdict.sentence);
  if (arguments.races) {
    const user_kernels::Races races = races_in_kernel(kernel, arguments.device);
    if (races.found) {
      files::warn(races.sentence);
      return 1;
    }
    files::print("races     {}\n", races.sentence);
  }
  if (!arguments.time) return 0;
  const Before before(kernel.source);
  const double microseconds = print_comparison(kernel, arguments.device);
  before.print();
  told.push_back(fmt::format("time      {} us", figure(microseconds)));
  before.note(told);
  return 0;
}

}  // namespace

Run kernel(CLI::App& app) {
  const auto a = std::make_shared<KernelCommand>();
  app.require_subcommand(1);
  CLI::App& make =
      *app.add_subcommand("new", "Write a file that compiles: the simplest kernel of an operation");
  std::vector<std::string> names;
  for (const user_kernels::Task& task : user_kernels::offered_tasks()) names.push_back(to_string(task));
  make.add_option("names", a->named,
                  fmt::format("Operation: {}; then the file to write, .cpp for the CPU, .cu for CUDA",
                              fmt::join(names, ", ")))
      ->type_name("OP FILE")
      ->expected(1, 2)
      ->required();
  make.add_option("--example", a->example,
                  "Instead of an operation: an example, as kernel examples lists them")
      ->type_name("NAME");
  CLI::App& list = *app.add_subcommand("examples", "List kernels that come along: a lesson in rising order");
  CLI::App& check =
      *app.add_subcommand("check", "Compile a file, prove it in a process of its own, and time it");
  check.add_option("file", a->file, "File of the kernel")->type_name("FILE")->required();
  check.add_option("--include", a->includes, "Folders of headers that it includes")->type_name("DIR");
  check.add_option("--device", a->device, "auto or cuda:N: the GPU that a .cu is for")->capture_default_str();
  check.add_flag("!--no-time", a->time, "Do not time it");
  check.add_flag("--races", a->races, "Look for races in shared memory too, by compute-sanitizer");
  return [a, &make, &list] { return make ? write_new(*a) : list ? list_examples() : check_kernel(*a); };
}

}  // namespace warpscope::app
